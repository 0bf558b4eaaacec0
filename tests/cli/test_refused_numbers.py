"""Numbers and names that no training can have are refused before the first step; a training without a step is none."""

import pytest

from lmod_train.cli import main
from lmod_train.core.errors import BadArgument
from lmod_train.models.modules.classifier import Classifier
from lmod_train.models.modules.fine_tuning import LayerDecay
from lmod_train.models.modules.optimisation import Optimisation
from tests.cli.conftest import QUIET

SMALL = [
    "--config",
    "cnn_glaucoma",
    *QUIET,
    "--model.init_args.side",
    "16",
    "--trainer.max_steps",
    "2",
    "--run",
    "here",
]
NUMBERS = {
    "data.batch_size": ["-4", "0", "99999999999999999999", "nan", "1.5", "word"],
    "data.workers": ["-1", "1000000"],
    "data.seed": ["-1"],
    "data.share": ["0", "-0.5", "nan", "2"],
    "data.replay": ["nan", "1", "-1"],
    "seed_everything": ["-1", "99999999999"],
    "trainer.accumulate_grad_batches": ["0", "-1", "99999999999999999999"],
    "trainer.check_val_every_n_epoch": ["0", "-1"],
    "trainer.gradient_clip_val": ["-1", "nan"],
    "trainer.log_every_n_steps": ["-1"],
    "tripwires.every": ["-1"],
    "read_back.at_most": ["-1", "nan"],
    "model.init_args.lr": ["-1", "nan", "inf", "1e30"],
    "trainer.max_epochs": ["0"],
    "trainer.max_steps": ["0"],
    "trainer.limit_train_batches": ["0"],
}


def ended(curated, tmp_path, monkeypatch, *options):
    """Return the status of a `fit`."""
    monkeypatch.chdir(tmp_path)
    try:
        return main(["fit", *SMALL, "--data.curated", str(curated), *options])
    except SystemExit as left:  # the parser's own
        return left.code


@pytest.mark.parametrize(("option", "value"), [(name, value) for name, values in NUMBERS.items() for value in values])
def test_a_number_that_no_training_can_have_ends_with_2_and_trains_nothing(
    curated, tmp_path, monkeypatch, capsys, option, value
):
    assert ended(curated, tmp_path, monkeypatch, f"--{option}={value}") == 2
    assert "error: " in capsys.readouterr().err and not list(tmp_path.rglob("*.ckpt"))


@pytest.mark.parametrize("kind", ["EarlyStopping", "ModelCheckpoint"])
@pytest.mark.parametrize("monitor", ["val_loss", "val/anatomy/accuracy_strict", "val/glaucoma/nothing"])
def test_a_metric_that_nobody_logs_is_refused_with_those_that_are(
    curated, tmp_path, monkeypatch, capsys, kind, monitor
):
    callback = f'[{{"class_path": "lightning.pytorch.callbacks.{kind}", "init_args": {{"monitor": "{monitor}"}}}}]'
    assert ended(curated, tmp_path, monkeypatch, "--trainer.callbacks", callback) == 2
    told = capsys.readouterr().err
    assert f"trainer.callbacks.monitor={monitor!r}: expected a logged metric (" in told and "train/" in told


def test_a_complete_training_says_so_and_one_without_a_step_saves_nothing(
    curated, tmp_path, monkeypatch, caplog, capsys
):
    assert ended(curated, tmp_path, monkeypatch, "--trainer.max_epochs", "0", "--run", "none") == 2
    assert "no optimiser step was made: trainer.max_epochs=0" in capsys.readouterr().err
    assert not (tmp_path / "none" / "checkpoints").exists()
    for _ in range(2):
        assert ended(curated, tmp_path, monkeypatch) == 0
    assert "here: the training is complete, with 2 steps" in caplog.text


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["lr", "projector_lr", "weight_decay", "warmup", "base_lr", "min_lr", "warmup_epochs"])
def test_rates_and_shares_of_every_optimiser_are_finite_and_not_negative(name, value):
    known = [kind for kind in (Optimisation, LayerDecay) if name in kind.__dataclass_fields__]
    for make in [*known, *([lambda lr: Classifier(("a", "b"), lr)] if name == "lr" else [])]:
        with pytest.raises(BadArgument, match=rf"{name}={value}"):
            make(**{name: value})
