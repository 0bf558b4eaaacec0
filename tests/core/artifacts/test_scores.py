"""Figures come back from their table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmod_train.core.artifacts.scores import read_scores, write_scores
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.types import (
    Score,
)


def test_scores_come_back_and_what_is_not_there_is_an_empty_cell(tmp_path: Path):
    scores = [
        Score("anatomy", "all", "f1", 9, 1 / 3, 0.25, 0.5),
        Score("anatomy", "sex=F;age=60, over", "chance", 9, 0.5),
        Score("four_way", "all", "accuracy_strict", 0, None),
        Score("four_way", "all", "numpy", 2, np.float64(0.5)),
    ]
    write_scores(tmp_path / "scores.csv", 'runs/"a", b', "模型", scores)
    assert read_scores(tmp_path / "scores.csv") == [
        ('runs/"a", b', "模型", replace(s, value=None if s.value is None else round(float(s.value), 6))) for s in scores
    ]
    lines = (tmp_path / "scores.csv").read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "run,model,task,subset,metric,n,value,low,high"
    assert lines[3].endswith(",four_way,all,accuracy_strict,0,,,") and lines[4].endswith(",numpy,2,0.5,,")


def test_settings_are_a_column_if_a_score_has_any(tmp_path: Path):
    scores = [
        Score("open_question", "all", "exact_match", 9, 0.5, 0.25, 0.75),
        Score("open_question", "all", "bleu1_corpus", 9, 0.5, settings="zh: sacrebleu nrefs:1|ngram:1"),
        Score("open_question", "all", "bertscore_f1", 9, 0.5, settings="=cmd, of a folder"),
    ]
    write_scores(tmp_path / "scores.csv", "r", "m", scores)
    assert [s for *_, s in read_scores(tmp_path / "scores.csv")] == scores
    head, *rows = (tmp_path / "scores.csv").read_text(encoding="utf-8-sig").splitlines()
    assert head.endswith(",low,high,settings") and rows[0].endswith(",0.25,0.75,")


def test_no_scores_are_a_heading(tmp_path: Path):
    write_scores(tmp_path / "scores.csv", "r", "m", [])
    assert read_scores(tmp_path / "scores.csv") == []


@pytest.mark.parametrize("content", [None, "run,model,task\n", ""])
def test_scores_that_are_missing_or_others_are_refused(content: str | None, tmp_path: Path):
    (tmp_path / "replies").mkdir()
    if content is not None:
        (tmp_path / "scores.csv").write_text(content)
    with pytest.raises(ArtifactError, match="rescore"):
        read_scores(tmp_path / "scores.csv")


def test_the_folder_of_a_run_is_refused_with_its_file(tmp_path: Path):
    (tmp_path / "scores.csv").write_text("")
    with pytest.raises(BadArgument, match=r"(?s)path=.*not its folder.*Next: name .*scores.csv"):
        read_scores(tmp_path)
