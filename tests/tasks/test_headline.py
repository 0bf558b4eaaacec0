import csv
from pathlib import Path

import pytest

from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.tables import markdown
from lmod_train.core.types import Score
from lmod_train.scoring.completeness import share_failed, share_not_asked
from lmod_train.tasks.headline import headline, headline_rows, headline_table
from lmod_train.tasks.run_scores import RunScores
from tests.report.make import run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs on the same records."""
    root = tmp_path_factory.mktemp("runs")
    return [
        run(root / "untuned", 0.3, seed=1),
        run(root / "tuned", 0.95, seed=2),
        run(root / "cnn", 0.8, model="cnn", seed=3),
    ]


def test_every_number_is_the_one_in_scores_csv(runs):
    rows = headline(runs)
    assert [(r.task, r.run) for r in rows] == [(t, r.name) for t in ("four_way", "glaucoma", "anatomy") for r in runs]
    for row, path in zip(rows, runs * 3, strict=True):
        with (path / "scores.csv").open(newline="", encoding="utf-8-sig") as file:
            cells = {(c["task"], c["metric"]): c for c in csv.DictReader(file) if c["subset"] == "all"}
        own = cells[row.task, row.metric]
        assert row.metric == ("f1_lmod_plus" if row.task == "anatomy" else "accuracy_strict")
        assert (row.n, row.value, row.low, row.high) == (
            int(own["n"]),
            *(float(own[k]) for k in ("value", "low", "high")),
        )
        for name, value in (("chance", row.chance), ("majority", row.majority), ("share_unparsed", row.unparsed)):
            assert value == float(cells[row.task, name]["value"])


def test_the_table_is_aligned_and_complete(runs):
    lines = markdown(headline_table(headline(runs))).splitlines()
    assert len(lines) == 2 + 9 and len({len(line) for line in lines}) == 1
    assert "| chance | majority | unparsed |" in lines[0]


def test_no_run_twice_named_and_missing_scores(tmp_path, runs):
    with pytest.raises(BadArgument, match="one or more different run folders"):
        headline([])
    with pytest.raises(BadArgument, match="name each run once"):
        headline([runs[0], runs[0]])
    with pytest.raises(ArtifactError, match="name the folder of a run"):
        headline([tmp_path])


def test_a_model_that_is_a_folder_is_called_by_its_last_part():
    scores = (Score("glaucoma", "all", "accuracy_strict", 2, 0.5),)
    runs = [
        RunScores(Path("a"), "tuned", "/somewhere/long/merged", scores),
        RunScores(Path("b"), "zero", "small_base", scores),
    ]
    assert [(r.model, r.run) for r in headline_rows(runs)] == [("merged", "tuned"), ("small_base", "zero")]


def test_what_failed_or_was_not_asked_stands_beside_the_score_where_there_is_any():
    whole = (Score("g", "all", "accuracy_strict", 9, 0.5), share_failed("g", 0, 9))
    part = (
        Score("g", "all", "accuracy_strict", 5, 1.0), share_failed("g", 3, 8), share_not_asked("g", 2, 10),
        Score("h", "all", "accuracy_strict", 0, None), share_failed("h", 4, 4),
    )  # fmt: skip
    older = (Score("g", "all", "accuracy_strict", 9, 0.5),)
    runs = [RunScores(Path(k), k, k, scores) for k, scores in (("whole", whole), ("part", part), ("older", older))]
    printed = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in markdown(headline_table(headline_rows(runs))).splitlines()
    ]
    assert printed[0][-3:] == ["replied", "failed", "not asked"]
    counts = {(line[0], line[2]): line[-3:] for line in printed[2:]}
    assert counts[("g", "whole")] == ["9", "0", "0"] and counts[("g", "part")] == ["5", "3", "2"]
    assert counts[("h", "part")] == ["0", "4", "0"]
    assert not {"replied", "failed"} & {c.head for c in headline_table(headline_rows([runs[0], runs[2]])).columns}
    assert [run.complete() for run in runs] == [True, False, True]


@pytest.mark.parametrize("status", ["truncated", "refused"])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.06, 1.0])
def test_answers_that_were_lost_in_another_way_than_unparsed_have_a_column_where_they_are_many(status, share):
    scores = (
        Score("g", "all", "accuracy_strict", 100, 0.0), Score("g", "all", "share_unparsed", 100, 0.0),
        Score("g", "all", f"share_{status}", 100, share),
    )  # fmt: skip
    runs = [RunScores(Path("a"), "a", "a", scores), RunScores(Path("b"), "b", "b", scores[:2])]
    head, _, *lines = markdown(headline_table(headline_rows(runs))).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in (head, *lines)]
    assert (status in cells[0]) == (share > 0.05)
    if status in cells[0]:
        at = cells[0].index(status)
        assert cells[1][at] == f"{100 * share:.1f} %" and cells[2][at] == "-", "of an older run it is not known"
