"""The table at the end of `validate`, recomputed by hand from planted answers."""

from math import prod

import pytest

from lmod_train.extensions.xpcr.scores import chain_rows, chain_tables
from tests.report.chained import MISSING, chain_run, planted
from tests.report.scored import scored

ROWS = [
    [(True, 0.9)] * 6,
    [(True, 0.9), (True, 0.9), (False, 0.9), (True, 0.9), (False, 0.4), (False, 0.4)],
    [(True, 0.6), (False, 0.6), (True, 0.6), (MISSING, None), (True, 0.6), (True, 0.6)],
    [(True, 1.0), (True, 1.0), None, (True, 1.0), (True, 1.0), (True, 1.0)],
]


def test_one_row_a_stage_then_chains_levels_uas_and_calibration():
    run, _ = chain_run("one", planted(ROWS))
    rows = {row[0]: row[1:] for row in chain_rows(run, "chain")}
    swa = [(4, 4), (4, 3), (3, 2), (4, 3), (4, 3), (4, 3)]
    titles = ("image quality", "localisation", "lesion", "diagnosis", "severity", "decision")
    for (n, right), stage, title in zip(swa, ("IQA", "AL", "LC", "DD", "SG", "CD"), titles, strict=True):
        cells = rows[f"SWA {stage}, {title}"]
        assert cells[:2] == [n, right / n] and cells[3:] == [0.25, 1.0, 0.25 if stage == "DD" else 0.0]
        assert cells[2][0] < cells[1] <= cells[2][1]
    assert rows["SWA, mean of the stages"][1] == pytest.approx(sum(r / n for n, r in swa) / 6)
    assert rows["CCR, complete chains"][:2] == [3, pytest.approx(1 / 3)]
    assert rows["CCR, incomplete chains wrong"][:2] == [4, 0.25]
    complete = [(3, 3), (3, 2), (3, 2), (3, 2), (3, 2), (3, 2)]
    assert rows["product of SWA, complete chains"][1] == pytest.approx(prod(r / n for n, r in complete))
    assert rows["ESA resident"][:2] == [8, 7 / 8] and rows["ESA specialist"][:2] == [8, 6 / 8]
    weights = {"R": 0.6 + 1.2, "A": 1.2 + 1.2, "S": 1.8 + 1.2}
    points = [(weights["RAS"[i // 2]], _points(*held)) for row in ROWS for i, held in enumerate(row) if held]
    known = [(w, s) for w, s in points if s is not None]
    assert rows["UAS, points"][:2] == [22, pytest.approx(100 * sum(w * s for w, s in known) / sum(w for w, _ in known))]
    bins = {(0.25, 0.5): (0.4, 2, 0), (0.5, 0.75): (0.6, 5, 4), (0.75, 1): ((10 * 0.9 + 5) / 15, 15, 14)}
    error = sum(n / 22 * abs(right / n - mean) for mean, n, right in bins.values())
    assert rows["ECE, 4 bins"][:3] == [22, pytest.approx(error), (None, None)]
    assert "CCR, every question right" not in rows and "AUROC of likelihood" not in rows


def _points(answer, confidence):
    if confidence is None:
        return None
    if answer is True:
        return 1.0 if confidence >= 0.7 else 0.7
    return -0.5 if confidence >= 0.5 else 0.3


def test_an_interval_with_a_negative_end_has_no_hyphen_between():
    run, _ = chain_run("one", planted([[(False, 0.9)] * 6] * 2 + [[(True, 0.9)] * 3 + [(False, 0.2)] * 3] * 2))
    (low,) = [row[3] for row in chain_rows(run, "chain") if row[0] == "UAS, equal weights, points"]
    assert isinstance(low, str) and low.startswith("-") and " to " in low


def test_several_questions_a_stage_have_the_other_rates_too():
    once = planted([[True] * 6, [False] * 6])
    more = planted([[True, None, None, None, None, None]])
    for p in more:
        object.__setattr__(p.record, "id", f"{p.record.id}/second")
    run, _ = chain_run("one", [*once, *more])
    rows = {row[0]: row[1] for row in chain_rows(run, "chain")}
    assert (rows["CCR, complete chains"], rows["CCR, every question right"]) == (1, 2)


def test_other_tasks_have_no_table():
    run, _ = chain_run("one", planted(ROWS))
    (table,) = chain_tables([run, scored({}).runs[0]])
    assert (table.name, len(table.columns)) == ("chains-chain", 7)
