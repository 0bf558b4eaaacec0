"""The upper end of a limit, the second element of a loop and the last of a list, in tasks and their readers."""

import re
from dataclasses import replace

import pytest

from lmod_train.scoring.ways import compared_ids
from lmod_train.tasks.cascade import needed
from lmod_train.tasks.parsing.answer_spans import LONGEST, taken
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.forms import pattern_of
from lmod_train.tasks.parsing.own_choice import parse_several
from tests.tiny import record

WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


@pytest.mark.parametrize(("length", "expected"), [(LONGEST, [(0, 8)]), (LONGEST + 1, [])])
def test_spans_are_marked_up_to_the_longest_reply(length, expected):
    text = "GLAUCOMA".ljust(length)
    found = taken(text, "GLAUCOMA", WORDS, lambda part: parse_choice(part, WORDS))
    assert [tuple(span) for span in found] == expected


def test_every_choice_that_is_stated_is_in_the_answer():
    assert parse_several("drusen, haemorrhage, cup", ("drusen", "haemorrhage", "cup")) == "drusen; haemorrhage; cup"


@pytest.mark.parametrize(("form", "text", "is_found"), [("rim", "rims", False), ("disc", "discs", True)])
def test_a_plural_is_read_of_words_of_four_letters(form, text, is_found):
    assert bool(re.fullmatch(pattern_of([form]), text)) == is_found


def test_questions_are_compared_by_their_own_id():
    assert compared_ids([("a/shots-2", {"shots": "2"})]) == {"a/shots-2": "a"}


def test_an_answer_that_no_record_holds_is_not_sought():
    asked = replace(record("a", text="It is {answer 1}. Why?"), needs=("b", "gone"))
    assert [r.id for r in needed([asked], {"b": record("b")})] == ["a", "b"]
