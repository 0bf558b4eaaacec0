"""Scores are derived without any extension, which adds its own to them."""

from pathlib import Path

import pytest

from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.extension import extensions
from lmod_train.tasks import verdicts
from lmod_train.tasks.rescore import rescore
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
