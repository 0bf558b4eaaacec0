"""Error types of a sample of wrong replies: whose they are, from the sheet to LMOD+'s Table 9."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.tables import Estimate, Table
from lmod_train.core.vocabulary.error_types import LMOD_PLUS_TYPES
from lmod_train.extensions.drafting.commands import add_verdicts, read_verdicts
from lmod_train.extensions.drafting.judgement import Judgement
from lmod_train.extensions.papers.sections import ERRORS, HERE, PaperTables
from lmod_train.report.results import read_results
from lmod_train.tasks.verdicts import given
from tests.report.make import run as made

KINDS = [kind.name for kind in LMOD_PLUS_TYPES]


def wrong_in_order(run: Run) -> list[str]:
    """Ids of the wrong replies about glaucoma, those of the least hash first."""
    found = [
        p for p in read_predictions(run.predictions) if p.record.task == "glaucoma" and p.answer != p.record.answer
    ]
    return sorted((p.record.id for p in found), key=lambda id: hashlib.sha256(id.encode()).hexdigest())


def rows(folder: Path) -> list[tuple]:
    (found, *_) = [p for p in PaperTables(["lmod_plus_table_9"]).parts(read_results([folder])) if isinstance(p, Table)]
    return [row for row in found.rows if row[-1] == HERE]


@pytest.mark.parametrize(("seed", "skill"), [(0, 0.2), (1, 0.6), (2, 0.0)])
@pytest.mark.parametrize("wrong", [3, 100])
def test_the_sheet_has_the_wrong_replies_and_table_9_their_types(tmp_path, monkeypatch, seed, skill, wrong):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lmod_train.extensions.papers.sections.ERRORS", wrong)
    run = Run(made(Path("run"), skill, seed=seed, n=40))
    asked = ["judge", "run", "--tasks", "glaucoma", "--prompt", "error_types"]
    assert cli.main([*asked, "--sheet", "sheet.csv", "--wrong", str(wrong)]) == 0
    lines = list(csv.DictReader(Path("sheet.csv").read_text(encoding="utf-8-sig").splitlines()))
    known = {p.record.id: p for p in read_predictions(run.predictions)}
    chosen = wrong_in_order(run)[:wrong]
    assert {line["id"] for line in lines} == {id for id in chosen if given(known[id]) is not None}
    assert rows(Path("run")) == [], "not yet sorted"
    for place, line in enumerate(lines):
        line["verdict"] = KINDS[place % len(KINDS)]
    with Path("filled.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    task = Judgement(wording="error_types")
    add_verdicts(run, list(known.values()), task, read_verdicts(Path("filled.csv"), task), "people")
    counts, shares = rows(Path("run"))
    assert counts[0] == f"base, {len(chosen)} wrong replies" and sum(counts[2:-1]) == len(chosen)
    for count, share in zip(counts[2:-1], shares[2:-1], strict=True):
        assert isinstance(share, Estimate) and share.n == len(chosen)
        assert share.value == pytest.approx(100 * count / len(chosen))
    if skill == 0.0:
        assert Counter(counts[2:-1])[0] < len(KINDS), "people and rules sort into several types"
    assert ERRORS == 100


def test_a_run_without_a_wrong_reply_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made(Path("run"), 1.0, n=6)
    assert cli.main(["judge", "run", "--tasks", "glaucoma", "--sheet", "sheet.csv", "--wrong", "5"]) == 2
    assert "--wrong" in capsys.readouterr().err and not Path("sheet.csv").exists()
