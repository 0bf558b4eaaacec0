"""Fields of a reply: which marks count, and what numbers they state."""

from __future__ import annotations

from lmod_train.extensions.drafting.captions import fields_of


def test_marks_of_one_letter_count_behind_punctuation_and_never_where_they_are_options():
    reply = "Q2: Is vitamin A: low?, A: no"
    assert [(f.role, f.text, f.number) for f in fields_of(reply, False)] == [
        ("question", "Is vitamin A: low?", 2),
        ("answer", "no", 0),
    ]
    assert [f.role for f in fields_of(reply, True)] == ["question"]


def test_numbers_of_blocks_belong_to_the_question_behind_them():
    reply = "1) 问：甲？答：左。2、问：乙？答：3.\n3. 问：丙？答：右"
    assert [(f.text, f.number) for f in fields_of(reply, False)] == [
        ("甲？", 1), ("左。", 0), ("乙？", 2), ("3.", 0), ("丙？", 3), ("右", 0),
    ]  # fmt: skip
