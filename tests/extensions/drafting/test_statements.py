"""True and False in balance: both readings of the paper, and what an alteration must be."""

from __future__ import annotations

import pytest

from lmod_train.extensions.drafting.caption_steps import Item, altered, original, share_true, surplus, to_alter, without
from tests.extensions.drafting.example import open_question, statement
from tests.tabled import tabled


def planted(true: int, false: int) -> list[Item]:
    return [open_question(), *(statement(n, f"Finding {n}", f"表现{n}", true=n < true) for n in range(true + false))]


@pytest.mark.parametrize(
    ("reading", "count", "share"),
    [("points_of_all", 212, 0.5), ("share_of_true", 151, 0.561)],  # 71.2 % True, as in the paper
)
def test_both_readings_of_the_paper_reach_the_shares_that_follow_from_them(reading, count: int, share: float):
    items = planted(712, 288)
    chosen = to_alter(items, reading, seed=3)
    assert len(chosen) == count
    replies = {item.id: f"Question: {item.pair.en.question} not. 问：非{item.pair.zh.question}" for item in chosen}
    after, left = altered(items, replies)
    assert not left
    assert share_true(after) == pytest.approx(share, abs=5e-4)
    assert [item.id for item in after] == [item.id for item in items]
    assert {item.id for item in after if item.altered} == {item.id for item in chosen}
    assert to_alter(items[::-1], reading, seed=3) == chosen != to_alter(items, reading, seed=4)


def test_nothing_is_altered_where_half_or_more_are_false():
    assert to_alter(planted(3, 3), "points_of_all") == to_alter(planted(1, 5), "points_of_all") == []
    assert len(to_alter(planted(4, 3), "points_of_all")) == 0
    assert len(to_alter(planted(5, 3), "points_of_all")) == 1
    assert to_alter([], "share_of_true") == []
    assert share_true([open_question()]) is None


@tabled(
    "reply",
    [
        "",
        "I cannot do that.",
        "Question: The optic disc is PALE. 问：视盘粉红",  # English as before
        "Question: The optic disc is pink. 问：视盘苍白。",  # Chinese as before
        "Question: The optic disc is pink.",
        "问：视盘粉红 问：视盘红",
        "Question: The optic disc is pink. 问：The optic disc is pink.",
    ],
)
def test_an_alteration_that_leaves_a_half_as_it_was_is_left_out(reply: str):
    item = statement()
    after, left = altered([item], {item.id: reply})
    assert (after, [one.reason for one in left]) == ([], ["not_altered"])


def test_a_reply_in_the_form_that_was_sent_is_read():
    item = statement()
    ((after,), _) = altered([item], {item.id: original(item.pair).replace("pale", "pink").replace("苍白", "粉红")})
    assert (after.pair.en.question, after.pair.zh.question) == ("The optic disc is pink", "视盘粉红")
    assert (after.pair.en.answer, after.pair.zh.answer, after.altered) == ("False", "错", True)


@tabled(("true", "false"), [(7, 4), (4, 7), (3, 3), (5, 0)])
def test_the_surplus_leaves_equal_numbers(true: int, false: int):
    items = planted(true, false)
    left = surplus(items)
    assert len(left) == abs(true - false)
    assert share_true(without(items, left)) in (0.5, None)
