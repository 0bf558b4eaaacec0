"""Written questions with their place."""

from __future__ import annotations

from lmod_train.extensions.drafting.caption_steps import Left, without
from tests.extensions.drafting.example import statement


def test_an_item_is_named_by_caption_kind_and_number_and_left_out_by_that_name():
    items = [statement(1), statement(2)]
    assert items[1].id == "1/binary_question/2"
    assert without(items, [Left(items[0].id, "check", "marks")]) == items[1:]
    assert items[0].texts == ("The optic disc is pale", "True", "False", "True", "视盘苍白", "对", "错", "对")
