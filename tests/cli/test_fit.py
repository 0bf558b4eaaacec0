"""A training goes on from the last checkpoint that can be read, and only a model with a training step is trained."""

import shutil
import signal
import subprocess
from dataclasses import replace

import pytest
import torch

from lmod_train.cli import experiment
from lmod_train.cli import experiment as fit
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import TrainedImage, read_training_set, write_training_set
from lmod_train.core.errors import ArtifactError, BadArgument, RunConflict
from lmod_train.core.shipped import configs_folder
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.extensions.weights.merging import merge
from lmod_train.models.modules.base import LmodModule
from tests.cli.conftest import QUIET

CONFIGS = configs_folder()


def test_a_run_that_was_stopped_and_moved_goes_on_in_the_one_file_it_is_continued_from(command, tmp_path, monkeypatch):
    small = ["--model.init_args.side", "16", "--data.batch_size", "4", "--checkpoint.every_n_train_steps", "1"]

    def stop(self, batch, batch_idx):
        if self.global_step == 1:
            raise RuntimeError("the machine is gone")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="gone"):
        patched.setattr(LmodModule, "on_train_batch_start", stop)
        command("fit", "cnn_glaucoma.yaml", *small, "--run", "here")
    (tmp_path / "here").rename(tmp_path / "there")
    command("fit", "cnn_glaucoma.yaml", *small, "--run", "there")
    kept = {f.name for f in (tmp_path / "there" / "checkpoints").iterdir()}
    assert kept == {"best.ckpt", "best.json", "last.ckpt", "last.ckpt.before"}


def test_ctrl_c_in_training_is_an_interruption_and_the_same_command_goes_on(command, tmp_path, monkeypatch):
    small = ["--model.init_args.side", "16", "--data.batch_size", "4", "--checkpoint.every_n_train_steps", "1"]

    def press(self, batch, batch_idx):
        if self.global_step == 1:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    try:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(LmodModule, "on_train_batch_start", press)
            command("fit", "cnn_glaucoma.yaml", *small, "--run", "here")
    finally:
        signal.signal(signal.SIGINT, before)  # Lightning ignores it while it ends
    stopped = torch.load(tmp_path / "here" / "checkpoints" / "last.ckpt", weights_only=True)
    command("fit", "cnn_glaucoma.yaml", *small, "--run", "here")
    ended = torch.load(tmp_path / "here" / "checkpoints" / "last.ckpt", weights_only=True)
    assert stopped["global_step"] == 1 < ended["global_step"]


def test_a_last_checkpoint_that_cannot_be_read_gives_way_to_the_one_before_and_is_kept_to_look_at(tmp_path):
    last = tmp_path / "last.ckpt"
    assert fit.continued(last) is None
    torch.save({"global_step": 1}, tmp_path / "last.ckpt.before")
    assert fit.continued(last) == tmp_path / "last.ckpt.before", "a kill between two renamings"
    torch.save({"global_step": 2}, last)
    assert fit.continued(last) == last
    last.write_bytes(last.read_bytes()[:-40])
    with pytest.warns(
        UserWarning, match=r"last\.ckpt cannot be read \(truncated.*continuing from the previous checkpoint"
    ):
        assert fit.continued(last) == tmp_path / "last.ckpt.before"
    assert {f.name for f in tmp_path.iterdir()} == {"last.ckpt.before", "last.ckpt.damaged"}
    (tmp_path / "last.ckpt.before").write_bytes(b"")
    with pytest.raises(ArtifactError, match="no other checkpoint of this run can"):
        fit.continued(last)


FOUR_STEPS = ["--model.init_args.side", "16", "--data.batch_size", "2", "--checkpoint.every_n_train_steps", "1"]
FOUR_STEPS += ["--trainer.max_steps", "4", "--trainer.max_epochs", "9"]


@pytest.fixture(scope="module")
def stopped(curated, tmp_path_factory):
    """The folders `whole` of a complete training, and `here` of one that was stopped before its last step."""
    folder = tmp_path_factory.mktemp("stopped")

    def stop(self, batch, batch_idx):
        if self.global_step == 3:
            raise RuntimeError("the machine is gone")

    chosen = ["--config", str(CONFIGS / "cnn_glaucoma.yaml"), "--data.curated", str(curated), *QUIET, *FOUR_STEPS]
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        experiment.run(["fit", *chosen, "--run", "whole"])
        patched.setattr(LmodModule, "on_train_batch_start", stop)
        with pytest.raises(RuntimeError, match="gone"):
            experiment.run(["fit", *chosen, "--run", "here"])
    return folder


@pytest.mark.parametrize(
    "fault", ["truncated", pytest.param("missing", marks=pytest.mark.slow), "killed between two renames"]
)
def test_a_training_goes_on_from_the_checkpoint_before_the_last_as_if_nothing_had_happened(
    command, stopped, tmp_path, fault
):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    kept = tmp_path / "here" / "checkpoints"
    last, before = kept / "last.ckpt", kept / "last.ckpt.before"
    if fault == "truncated":
        last.write_bytes(last.read_bytes()[:-60])
    elif fault == "missing":
        last.unlink()
    else:  # the new one is complete, and the last one has been renamed
        before.unlink()
        shutil.copy(last, kept / "last.ckpt.partial")
        last.rename(before)
    command("fit", "cnn_glaucoma.yaml", *FOUR_STEPS, "--run", "here")
    ended, whole = (torch.load(tmp_path / run / "checkpoints" / "last.ckpt") for run in ("here", "whole"))
    assert ended["global_step"] == whole["global_step"] == 4
    assert all(torch.equal(ended["state_dict"][name], tensor) for name, tensor in whole["state_dict"].items())


@pytest.mark.parametrize("name", ["fit", "validate", "test", "predict", "merge"])
def test_another_runs_checkpoint_in_the_place_of_this_runs_is_refused_and_its_command_goes_on(
    command, stopped, tmp_path, name
):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    last = tmp_path / "here" / "checkpoints" / "last.ckpt"
    shutil.copy(tmp_path / "whole" / "checkpoints" / "last.ckpt", last)
    with pytest.raises(ArtifactError, match=r"last\.ckpt: is a checkpoint of another run \(id \w{32}\)") as refused:
        if name == "fit":
            command("fit", "cnn_glaucoma.yaml", *FOUR_STEPS, "--run", "here")
        elif name == "merge":
            merge(last, tmp_path / "merged")
        else:
            side = FOUR_STEPS[:2]
            command(name, "cnn_glaucoma.yaml", *side, "--run", "there", "--ckpt_path", last)
    assert "global_step" in torch.load(last)
    subprocess.run(str(refused.value).split("`")[1], shell=True, check=True, cwd=tmp_path)
    command("fit", "cnn_glaucoma.yaml", *FOUR_STEPS, "--run", "here")
    assert torch.load(last)["global_step"] == 4


@pytest.mark.parametrize("what", ["training records", "data.batch_size"])
def test_a_run_is_not_continued_with_other_records_or_settings_than_its_checkpoint_has(
    command, stopped, tmp_path, what, monkeypatch
):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    last, steps = tmp_path / "here" / "checkpoints" / "last.ckpt", [*FOUR_STEPS]
    if what == "training records":  # curated again, with other answers
        read = RecordsDataModule._read
        monkeypatch.setattr(RecordsDataModule, "_read", lambda self: [replace(r, answer="x") for r in read(self)])
    else:  # the file that the settings are compared with was edited
        config = tmp_path / "here" / "config.yaml"
        config.write_text(config.read_text().replace("batch_size: 2\n", "batch_size: 4\n", 1))
        steps[3] = "4"
    before = last.read_bytes()
    with pytest.raises(RunConflict, match=rf"{what}: .* -> "):
        command("fit", "cnn_glaucoma.yaml", *steps, "--run", "here")
    assert last.read_bytes() == before


def test_a_training_started_from_another_runs_checkpoint_says_what_differs_and_keeps_what_that_was_trained_on(
    command, stopped, tmp_path, caplog
):
    shutil.copytree(stopped, tmp_path, dirs_exist_ok=True)
    elsewhere = TrainedImage("train", "another", "family", "f" * 64)
    own = read_training_set(tmp_path / "whole")
    write_training_set(tmp_path / "whole", [*own, elsewhere])
    six = ["6" if word == "4" else word for word in FOUR_STEPS]
    chosen = ["--run", "new", "--ckpt_path", "whole/checkpoints/last.ckpt"]
    for _ in range(2):  # the second continues the first
        command("fit", "cnn_glaucoma.yaml", *six, *chosen)
        assert read_training_set(tmp_path / "new") == sorted([*own, elsewhere])
        (tmp_path / "new" / "checkpoints" / "last.ckpt").unlink()
    told = caplog.text
    assert "differ:\n  trainer.max_steps: 4 -> 6\n" in told and "training records" not in told
    assert Run(tmp_path / "new").read_config()["provenance"]["trained_on"]["sources"]["another"] == 1


def test_a_model_without_a_training_step_is_refused_before_a_folder_is_made(command, tmp_path):
    with pytest.raises(BadArgument, match=r"--model='.*Frozen'.*\nNext: .*`--model small_base_lora`"):
        command("fit", "scripted.yaml", "--run", "here")
    assert not (tmp_path / "here").exists()


SHORT = ["--model.init_args.side", "16", "--data.batch_size", "4", "--trainer.check_val_every_n_epoch", "1"]


def test_a_training_that_ended_early_is_complete_when_it_is_typed_again(command, tmp_path, caplog):
    typed = ["fit", "cnn_glaucoma.yaml", *SHORT, "--trainer.max_epochs", "9", "--best.patience", "1", "--run", "here"]
    typed += ["--model.init_args.lr", "0"]  # nothing improves
    command(*typed)
    steps = Run(tmp_path / "here").read_config()["provenance"]["steps"]
    caplog.set_level("INFO")
    command(*typed)
    assert Run(tmp_path / "here").read_config()["provenance"]["steps"] == steps
    assert "the training is complete" in caplog.text


def test_a_search_is_not_repeated_where_a_run_goes_on(command, tmp_path, monkeypatch):
    found = "lightning.pytorch.callbacks.LearningRateFinder"
    typed = ["fit", "cnn_glaucoma.yaml", *SHORT, "--trainer.max_epochs", "3", "--run", "here"]
    typed += ["--checkpoint.every_n_train_steps", "1", f"--trainer.callbacks+={found}"]
    typed += ["--trainer.callbacks.num_training_steps", "2"]
    stopped, usual = [], LmodModule.on_train_batch_start

    def stop(module, batch, batch_idx):
        usual(module, batch, batch_idx)
        if module.trainer.current_epoch == 1 and not stopped:
            stopped.append(module.trainer.optimizers[0].param_groups[0]["lr"])
            raise RuntimeError("the machine is gone")

    monkeypatch.setattr(LmodModule, "on_train_batch_start", stop)
    with pytest.raises(RuntimeError, match="gone"):
        command(*typed)
    rates, begun = [], []
    monkeypatch.setattr(LmodModule, "on_train_batch_start", lambda module, *rest: (
        rates.append(module.trainer.optimizers[0].param_groups[0]["lr"]), begun.append(module.trainer.global_step),
        usual(module, *rest))[0])  # fmt: skip
    command(*typed)
    assert set(rates) == set(stopped) and begun[0] > 0 and begun == sorted(begun)


def test_a_start_that_cannot_be_is_refused_with_its_cure(command, tmp_path):
    command("fit", "cnn_glaucoma.yaml", *SHORT, "--trainer.max_epochs", "2", "--run", "here")
    again = ["fit", "cnn_glaucoma.yaml", *SHORT, "--run", "there", "--trainer.max_epochs"]
    with pytest.raises(BadArgument, match=r"(?s)best.ckpt'.*optimiser's state.*name last.ckpt"):
        command(*again, "3", "--ckpt_path", "here/checkpoints/best.ckpt")
    with pytest.raises(BadArgument, match=r"(?s)trainer.max_epochs=2.*more than the 2 epochs.*max_epochs to 4"):
        command(*again, "2", "--ckpt_path", "here/checkpoints/last.ckpt")
