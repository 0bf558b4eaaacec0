"""Scores are derived without any extension, which adds its own to them."""

from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_run_column, read_run_records, write_records
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument
from lmod_train.core.extension import extensions
from lmod_train.core.types import Fact
from lmod_train.tasks import verdicts
from lmod_train.tasks.rescore import replace_facts, rescore
from tests.judged import make_attacks, make_judge, make_run, records


def test_without_extensions_all_but_the_judges_scores_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run = make_run(tmp_path, ["Pale disc 0.", "No idea", None, "Pale disc 3."])
    make_judge(run, "strict", {record.id: "TRUE" for record in records(4)[:2]})
    make_attacks(run, "strict", lambda record: "FALSE")
    lines = rescore(run.folder)
    judged = read_scores(run.scores)
    assert "drafting" in {one.name for one in extensions()}
    monkeypatch.setattr(verdicts, "joined", lambda part: [])
    alone = rescore(run.folder)
    kept = [line for line in lines if "strict" not in line]
    assert alone == kept and len(kept) == len(lines) - 2
    assert read_scores(run.scores) == [row for row in judged if ":strict" not in row[2].metric]
    assert any(row[2].metric == "accuracy_judged:strict" for row in judged)


def test_facts_are_taken_by_question_and_image_and_change_nothing_that_was_asked(tmp_path: Path):
    run = make_run(tmp_path, ["Pale disc 0.", "No idea", "Pale disc 2."])
    first, second, third = read_run_records(run.records)
    asked, scores = read_run_column(run.records, "asked"), (rescore(run.folder), read_scores(run.scores))[1]
    facts = (Fact("vcdr", 0.625, "ratio", 0.07, "outlines"), Fact("rim.thinnest", "inferior"))
    other = replace(second, image_sha256=("0" * 64,))
    curated = tmp_path / "curated" / "records"
    write_records(curated / "own.parquet", [replace(r, facts=facts) for r in (first, other)])
    line = replace_facts(run.folder, curated.parent)
    assert "facts of 1 of 3 records" in line and "2 are not in it" in line
    rescore(run.folder)
    assert [r.facts for r in read_run_records(run.records)] == [facts, second.facts, third.facts]
    assert read_run_column(run.records, "asked") == asked
    assert read_scores(run.scores) == scores
    assert read_predictions(run.predictions)[0].record.facts == facts
    write_records(curated / "own.parquet", [other])
    with pytest.raises(BadArgument, match="curate"):
        replace_facts(run.folder, curated.parent)
