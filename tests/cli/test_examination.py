"""`fit` examines before its first step: what fails refuses it, and the report is kept either way."""

import json

import pytest

from lmod_train.cli import experiment
from lmod_train.cli.examination import cause_of
from lmod_train.cli.listing import configs_folder
from lmod_train.doctor.finding import Refused
from lmod_train.errors import BadArgument

QUICK = [
    "--trainer.logger", "false", "--trainer.enable_progress_bar", "false", "--trainer.max_steps", "1",
    "--tripwires.every", "0", "--trainer.limit_val_batches", "0",
]  # fmt: skip


def fit(curated, tiny, folder, *options):
    config = configs_folder() / "quickstart.yaml"
    part = ["--data.curated", str(curated), "--model.init_args.checkpoint", str(tiny), "--run", str(folder)]
    experiment.run(["fit", "--config", str(config), *part, *QUICK, *options])


def test_a_training_that_could_learn_nothing_is_refused_before_its_first_step(curated, tiny, tmp_path):
    with pytest.raises(Refused, match=r"labels: .* are longer than 40 tokens"):
        fit(curated, tiny, tmp_path, "--model.init_args.max_tokens", "40")
    report = json.loads((tmp_path / "doctor.json").read_text())
    assert report["passed"] is False
    assert not (tmp_path / "checkpoints").exists(), "nothing was trained"


def test_it_trains_regardless_where_that_is_said(curated, tiny, tmp_path, capsys):
    fit(curated, tiny, tmp_path, "--model.init_args.max_tokens", "40", "--doctor.refuse", "false")
    assert (tmp_path / "checkpoints" / "last.ckpt").exists()
    assert json.loads((tmp_path / "doctor.json").read_text())["passed"] is False
    assert "FAIL  labels" in capsys.readouterr().out


def test_an_error_of_ours_is_found_below_a_parsers():
    ours = BadArgument("max_tokens", 1, "at least 2", "use 2048")
    try:
        try:
            raise ours
        except BadArgument as error:
            raise ValueError("parser") from error
    except ValueError as wrapped:
        assert cause_of(wrapped) is ours
    alone = ValueError("theirs")
    assert cause_of(alone) is alone
