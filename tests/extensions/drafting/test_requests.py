"""Requests in text as the records of an evaluation."""

from __future__ import annotations

from pathlib import Path

from lmod_train.core.artifacts.records import write_records
from lmod_train.extensions.drafting.captions import Caption, CaptionQuestions
from lmod_train.extensions.drafting.model_runs import RequestData


def test_every_request_of_the_file_is_asked_in_id_order(tmp_path: Path):
    task = CaptionQuestions()
    records = task.records([Caption(str(n), f"{n}.jpg", "Drusen.") for n in range(4)])
    write_records(tmp_path / "requests.parquet", records[::-1])
    data = RequestData(tmp_path / "requests.parquet", [task])
    data.setup("validate")
    assert data.asked("validate") == records
