"""The measured figures that the report shows."""

from lmod_train.tasks.failures.measured import read_measured
from lmod_train.tasks.failures.rules import RULES


def test_every_rule_has_a_row_for_each_half():
    rows = read_measured()
    assert [(row.half, row.rule) for row in rows] == [(h, r) for h in ("develop", "held_out") for r in RULES]
    assert all(row.precision_low <= row.precision <= row.precision_high for row in rows)


def test_a_line_has_both_shares_with_their_intervals():
    line = read_measured()[0].line()
    assert "empty" in line and line.count("[") == 2
