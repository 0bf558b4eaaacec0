"""Ids and tags of ways of asking, and which records are compared."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.scoring.ways import FACTORS, PLAIN, asked_id, compared, question_of, values_of

ways = st.fixed_dictionaries(
    {}, optional={factor: st.from_regex("[A-Za-z0-9-]{1,4}", fullmatch=True) for factor in FACTORS}
)


@given(ways, ways)
def test_an_id_gives_its_question_back_and_differs_where_the_ways_differ(one, other):
    assert question_of(asked_id("glaucoma/refuge/a", one), one) == "glaucoma/refuge/a"
    same = {**PLAIN, **one} == {**PLAIN, **other}
    assert (asked_id("a", one) == asked_id("a", other)) == same


def test_the_curated_way_keeps_the_id():
    assert asked_id("a/b", PLAIN) == "a/b" == question_of("a/b", PLAIN)


def test_values_are_in_order_of_their_numbers_with_the_plain_one_first():
    items = [("x", {"wording": value, "system": name}) for value, name in (("10", "a"), ("2", "none"), ("0", "b"))]
    assert values_of(items, "wording") == ["0", "2", "10"]
    assert values_of(items, "system") == ["none", "a", "b"]


def crossed(question, wordings, orders):
    pairs = [{"wording": w, "order": o} for w in wordings for o in orders]
    return [(asked_id(question, way), way) for way in pairs]


def test_questions_are_compared_within_the_ways_of_the_other_factors():
    items = [*crossed("a", "012", "01"), *crossed("b", "012", "0")]
    assert compared(items, "wording") == [
        ["a", "a/wording-1", "a/wording-2"],
        ["a/order-1", "a/wording-1_order-1", "a/wording-2_order-1"],
        ["b", "b/wording-1", "b/wording-2"],
    ]
    assert compared(items, "order") == [[asked_id("a", {"wording": w}), asked_id("a", {"wording": w, "order": "1"})]
                                        for w in "012"]  # fmt: skip


def test_a_question_without_a_reply_in_one_way_is_left_out_of_that_comparison_only():
    items = [item for item in crossed("a", "01", "01") if item[0] != "a/wording-1_order-1"]
    assert compared(items, "wording") == [["a", "a/wording-1"]]
    assert compared(items, "order") == [["a", "a/order-1"]]


def test_nothing_is_compared_where_nothing_varies():
    assert compared([("a", {"shots": "2"}), ("b", {})], "shots") == []
    assert compared([], "wording") == []
