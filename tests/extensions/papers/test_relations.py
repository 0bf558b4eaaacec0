"""Each relation to a printed number, from numbers whose relation is known."""

from dataclasses import replace

import pytest

from lmod_train.extensions.papers.ledger import Measured, Protocol, compare
from lmod_train.extensions.papers.printed import Printed
from tests.tabled import stored

CELL = Printed("lmod_plus", "Table 3", "LLaVA-1.5-7B", "anatomical_recognition", metric="f1", value="0.4630")
HOW = Protocol("anatomy", "f1_lmod_plus", "all", "all", ("lmod_plus", "mine"), {}, {}, 100, "all", False, "", "")
HERE = Measured(0.4630, 0.40, 0.52, 100, "all", False, "lmod_plus")


@pytest.mark.parametrize(
    ("value", "low", "high", "relation"),
    stored(__file__, "relations.numbers"),
)
def test_numbers(value, low, high, relation):
    found = compare(CELL, HOW, replace(HERE, value=value, low=low, high=high))
    assert found.relation == relation and bool(found.why) == (relation == "cannot be told")


@pytest.mark.parametrize(
    ("printed", "here", "why"),
    [
        ({}, {"n": 99}, "n (100 in the paper, 99 here)"),
        ({"n": 3859}, {}, "n (3,859 in the paper, 100 here)"),
        ({}, {"split": "test"}, "split (all in the paper, test here)"),
        ({"balanced": True}, {}, "balance (balanced in the paper, not balanced here)"),
        ({}, {"balanced": True}, "balance (not balanced in the paper, balanced here)"),
        ({}, {"protocol": "lmod_v1"}, "protocol (lmod_plus in the paper, lmod_v1 here)"),
        ({}, {"changed": "weights (trained here for 9 steps)"}, "weights (trained here for 9 steps)"),
        ({"words": dict.fromkeys("ab", "")}, {"words": frozenset("bc")}, "words (asked in other words)"),
        ({"words": {"a": ""}}, {"words": frozenset([""])}, "words (asked in other words)"),
        (
            {"sources": {"idrid": 60, "cau001": 40}},
            {"n": 1116, "sources": {"idrid": 1080, "cau001": 33, "own": 3}},
            "n (100 in the paper, 1,116 here: idrid 1,020 more, cau001 7 fewer, own 3 more)",
        ),
        (  # 100 here as there, but of others
            {"sources": {"idrid": 60, "cau001": 40}},
            {"sources": {"idrid": 61, "cau001": 39}},
            "n (100 in the paper, 100 here: idrid 1 more, cau001 1 fewer)",
        ),
        ({}, {"n": 99, "split": "test"}, "n (100 in the paper, 99 here); split (all in the paper, test here)"),
    ],
)
def test_refused_with_all_that_differs(printed, here, why):
    found = compare(CELL, replace(HOW, **printed), replace(HERE, **here))
    assert (found.relation, found.why) == ("refused", why)


@pytest.mark.parametrize(
    ("printed", "here"),
    [
        ({}, {"protocol": "mine"}),  # asks the same questions
        ({"words": dict.fromkeys("ab", "")}, {"words": frozenset("a")}),
        ({}, {"words": frozenset([""])}),  # the paper prints none
        ({"sources": {"idrid": 100}}, {"sources": {"idrid": 100}}),
    ],
)
def test_what_does_not_differ(printed, here):
    assert compare(CELL, replace(HOW, **printed), replace(HERE, **here)).relation == "same"


@pytest.mark.parametrize(
    ("printed", "here", "why"),
    stored(__file__, "relations.what_cannot_be_told_even_of_equal_numbers"),
)
def test_what_cannot_be_told_even_of_equal_numbers(printed, here, why):
    found = compare(CELL, replace(HOW, **printed), replace(HERE, **here))
    assert found.relation == "cannot be told" and why in found.why


def test_another_definition_is_refused_before_all_else():
    cell = Printed(
        "lmod_plus", "Table 7", "CNN", "supervised_baseline", "glaucoma_diagnosis", metric="accuracy", value="0.8269"
    )
    found = compare(cell, HOW, replace(HERE, value=0.8269))
    assert found.relation == "refused" and found.why.startswith(
        "definition (the table names a CNN and the text RETFound"
    )


@pytest.mark.parametrize("value", [0.4630, 0.47, 0.9, None])
def test_a_suspect_cell_has_its_remark_whatever_the_relation(value):
    cell = replace(CELL, note="SUSPECT: equals another cell")
    found = compare(cell, HOW, replace(HERE, value=value))
    assert found.remark == "the printed cell is inconsistent in its source: equals another cell"


def test_percent_is_compared_in_the_printed_digits():
    cell = replace(CELL, value="30.26", unit="percent")
    assert compare(cell, HOW, replace(HERE, value=23 / 76, low=None, high=None)).relation == "same"
    assert compare(cell, HOW, replace(HERE, value=24 / 76, low=0.21, high=0.43)).relation == "different within interval"
