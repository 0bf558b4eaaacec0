"""The run of requests in text: every request is asked once, and its folder names the command's option in errors."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import FolderConflict
from lmod_train.extensions.drafting.captions import Caption, CaptionRewriting
from lmod_train.extensions.drafting.model_runs import start_requests

QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]


def model(text: str) -> list[str]:
    backend = {"class_path": "lmod_train.models.backends.scripted.Scripted", "init_args": {"text": text}}
    config = {"class_path": "lmod_train.models.modules.frozen.Frozen", "init_args": {"backend": backend}}
    Path("model.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return ["--model", "model.yaml", *QUIET]


def test_requests_are_answered_without_images_and_another_model_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = CaptionRewriting()
    records = [task.record(Caption(str(n), f"{n}.jpg", "x"), "binary_question/1/false", "Alter it.") for n in range(3)]
    write_records(Path("rewriting.parquet"), records)
    assert start_requests(Path("rewriting.parquet"), Path("run"), records[0].task_class, model("Question: a. 问：甲"))
    found = list(read_predictions(Run(Path("run")).predictions))
    assert [p.answer for p in found] == ["Question: a. 问：甲"] * 3
    with pytest.raises(FolderConflict, match="out"):
        start_requests(Path("rewriting.parquet"), Path("run"), records[0].task_class, model("Question: b. 问：乙"))
