"""Heads of table columns are labels; the cells below are the answers."""

from __future__ import annotations

import pytest

from lmod_train.parsing.table import flatten_tables
from lmod_train.types import Unparsed
from tests.parsing.asked import parse

RULE = "|---|---|"


@pytest.mark.parametrize("head", ["| Condition | Present |", "| Finding | Detected |", "| 疾病 | 存在 |"])
@pytest.mark.parametrize(("cell", "wanted"), [("Yes", "TRUE"), ("No", "FALSE"), ("TRUE", "TRUE"), ("absent", "FALSE")])
def test_a_column_head_is_no_answer(cell: str, wanted: str, head: str) -> None:
    assert parse("conditions drusen", f"{head}\n{RULE}\n| Drusen | {cell} |") == wanted


@pytest.mark.parametrize(
    ("ask", "label", "cell", "wanted"),
    [
        ("icdr", "Stage", "2", "2"),
        ("macular_hole_stage", "Stage", "4", "4"),
        ("sex", "Sex", "F", "FEMALE"),
        ("four_way", "Disease", "Glaucoma", "glaucoma"),
        ("age_group", "Age Group", "3", "30–39"),
    ],
)
@pytest.mark.parametrize("beside", ["Explanation", "Reasoning", "Key findings"])
def test_one_column_beside_explanations_is_read(ask: str, label: str, cell: str, wanted: str, beside: str) -> None:
    table = f"| {label} | {beside} |\n{RULE}\n| {cell} | as seen |"
    assert parse(ask, table) == wanted
    assert isinstance(parse(ask, f"| {label} | {beside} |\n{RULE}"), Unparsed)


def test_two_rows_with_different_answers_are_unparsed() -> None:
    assert isinstance(parse("icdr", f"| Stage | Eye |\n{RULE}\n| 2 | right |\n| 3 | left |"), Unparsed)


@pytest.mark.parametrize("text", [f"| Region ID | Type |\n{RULE}\n| 1 | iris |", "| a | b |\n| c | d |"])
def test_other_tables_are_unchanged(text: str) -> None:
    assert flatten_tables(text) == text


@pytest.mark.parametrize("question", ["Condition", "Finding", "疾病"])
@pytest.mark.parametrize("unknown", ["Severity", "Zone", "Type"])
def test_a_head_is_dropped_only_where_every_column_beside_the_question_is_an_answer(
    question: str, unknown: str
) -> None:
    def table(*columns: str) -> str:
        return "\n".join(
            f"| {' | '.join(cells)} |" for cells in ((question, *columns), ["---"] * (1 + len(columns)), row)
        )

    row = ("Drusen", "No", "2", "x")
    rows = "| Drusen | No | 2 | x |"
    for known in (("Present", "Notes", "Eye"), ("Notes", "Detected", "Why"), ("Present", "Result", "Comments")):
        assert flatten_tables(table(*known)) == rows
    for mixed in (("Present", unknown, "Notes"), (unknown, "Present", "Notes"), ("Detected", "Result", unknown)):
        assert flatten_tables(table(*mixed)) == table(*mixed)
