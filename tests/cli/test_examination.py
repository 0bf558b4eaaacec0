"""`fit` examines before its first step: what fails refuses it, and the report is kept either way."""

import json
import os

import pytest
import torch

from lmod_train.cli import experiment
from lmod_train.cli.examination import cause_of, every_core, identity
from lmod_train.core.errors import BadArgument
from lmod_train.core.shipped import configs_folder
from lmod_train.training.doctor.check_result import Refused

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


def test_a_run_that_is_continued_is_not_examined_again_unless_something_has_changed(curated, tiny, tmp_path, capsys):
    fit(curated, tiny, tmp_path)
    assert "doctor: " in capsys.readouterr().out
    fit(curated, tiny, tmp_path)
    assert "unchanged since it passed" in capsys.readouterr().out
    records = next((curated / "records").glob("*.parquet"))
    os.utime(records, (0, 0))
    fit(curated, tiny, tmp_path)
    assert "unchanged since" not in capsys.readouterr().out


def resolved(folder, **more):
    model = {"class_path": "C", "init_args": {"checkpoint": str(folder / "weights"), "lora": {"rank": 8}}}
    return {"model": model, "data": {"curated": str(folder / "curated")}, "trainer": {"devices": 1}, **more}


def test_what_was_examined_is_told_by_configuration_weights_records_and_launcher(tmp_path):
    for name in ("weights", "curated/records"):
        (tmp_path / name).mkdir(parents=True)
    first = identity(resolved(tmp_path), {})
    same = [
        identity(resolved(tmp_path, run="elsewhere", ckpt_path="last.ckpt"), {"HOME": "/"}),
        identity(resolved(tmp_path, trainer={"devices": 1, "default_root_dir": "x", "logger": False}), {}),
    ]
    assert set(same) == {first}
    others = [
        identity(resolved(tmp_path, trainer={"devices": 2}), {}),
        identity(resolved(tmp_path, model={"init_args": {"lora": {"rank": 9}}}), {}),
        identity(resolved(tmp_path), {"WORLD_SIZE": "8"}),
    ]
    (tmp_path / "weights" / "model.safetensors").write_bytes(b"new")
    others.append(identity(resolved(tmp_path), {}))
    (tmp_path / "curated" / "records" / "glaucoma.parquet").write_bytes(b"new")
    others.append(identity(resolved(tmp_path), {}))
    assert len({first, *others}) == 6


def test_a_launcher_that_left_one_core_gets_all_of_them_while_one_process_examines(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(7)), raising=False)
    before = torch.get_num_threads()
    with every_core({"WORLD_SIZE": "8"}):
        assert torch.get_num_threads() == 7
    assert torch.get_num_threads() == before
    with every_core({}):
        assert torch.get_num_threads() == before, "without a launcher it is the user's word"


def test_a_rank_of_zero_is_refused_in_our_words(curated, tiny, tmp_path):
    with pytest.raises((BadArgument, SystemExit)) as refused:
        fit(curated, tiny, tmp_path, "--model.init_args.lora.rank", "0")
    assert "lora.rank=0" in str(refused.value)
