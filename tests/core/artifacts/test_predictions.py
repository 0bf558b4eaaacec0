"""Predictions come back as they went: from disk, and from the bytes that ranks gather."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lmod_train.core.artifacts.predictions import (
    answer_json,
    answer_of,
    prediction_line,
    prediction_of_line,
    read_predictions,
    write_predictions,
)
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.types import (
    Answer,
    Prediction,
    Unparsed,
)
from tests.core.artifacts.make import ANSWERS, FULL, REPLY
from tests.tabled import tabled


@tabled("answer", ANSWERS)
def test_answers_of_every_kind_come_back_with_their_type(answer: Answer | Unparsed):
    text = answer_json(answer)
    assert answer_of(text) == answer and type(answer_of(text)) is type(answer)
    assert isinstance(json.loads(text), dict) and "\\u" not in text


def test_a_reason_that_no_one_knows_is_refused():
    with pytest.raises(ValueError, match="bored"):
        answer_of('{"unparsed": "bored", "detail": ""}')


def test_predictions_come_back_as_they_went(tmp_path: Path):
    file = tmp_path / "predictions.parquet"
    told = [Prediction(replace(FULL, id=str(i)), replace(REPLY, id=str(i)), a) for i, a in enumerate(ANSWERS)]
    assert write_predictions(file, iter(told)) == len(ANSWERS)
    assert read_predictions(file) == told
    columns = pq.read_table(file).to_pydict()
    assert columns["status"] == [p.status for p in told]
    assert columns["reason"] == [a.reason if isinstance(a, Unparsed) else "" for a in ANSWERS]
    assert columns["chain_step"][0] == FULL.chain_step and columns["reply_step"][0] == REPLY.step, (
        "two steps, two columns"
    )
    assert write_predictions(file, []) == 0
    assert read_predictions(file) == []


def test_predictions_of_another_schema_are_refused_with_the_way_to_make_them(tmp_path: Path):
    (tmp_path / "replies").mkdir()
    write_records(tmp_path / "predictions.parquet", [FULL])
    with pytest.raises(ArtifactError, match="rescore"):
        read_predictions(tmp_path / "predictions.parquet")


def test_the_folder_of_a_run_is_refused_with_its_file(tmp_path: Path):
    write_predictions(tmp_path / "predictions.parquet", [])
    with pytest.raises(BadArgument, match=r"(?s)path=.*not its folder.*Next: name .*predictions.parquet"):
        read_predictions(tmp_path)


LINES = ["视盘 \n\u2028 \x00", 2.0, {3: "optic disc", -1: "cup"}, {}, Unparsed("ambiguous", "yes and no")]


@tabled("answer", LINES)
def test_a_prediction_comes_back_from_its_line(answer: Answer | Unparsed):
    made = Prediction(FULL, replace(REPLY, rendered=""), answer)
    line = prediction_line(made)
    assert prediction_of_line(line) == made
    assert type(prediction_of_line(line).answer) is type(answer)
    assert line.count(b"\n") == 1 and len(line.splitlines()) == 1


def test_what_the_model_was_sent_is_not_gathered():
    sent = Prediction(FULL, replace(REPLY, rendered="<image>" * 576), "yes")
    assert prediction_of_line(prediction_line(sent)) == replace(sent, reply=replace(sent.reply, rendered=""))


def test_a_stated_confidence_comes_back(tmp_path: Path):
    made = [Prediction(FULL, replace(REPLY, rendered=""), "x", confidence) for confidence in (None, 0.0, 0.8)]
    write_predictions(tmp_path / "new.parquet", made)
    assert read_predictions(tmp_path / "new.parquet") == made
    assert [prediction_of_line(prediction_line(p)) for p in made] == made
