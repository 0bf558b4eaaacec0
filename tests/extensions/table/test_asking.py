"""Which option a cell names, and which rows are copies: both polarities, in every spelling."""

from __future__ import annotations

import pytest

from lmod_train.data.cells.options import answer_in

OPTIONS = {"A": "disc", "B": "cup", "C": "B cells", "D": "all of A"}
SPELLINGS = ("{}", "{}.", "({})", "[{}]", "{})", "{}:", " {} ", "（{}）", "{}. {text}", "({}) {text}", "{}: {text}")


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("change", [str, str.lower])
def test_a_letter_is_its_option_and_no_other(spelling, change):
    for letter, text in OPTIONS.items():
        assert answer_in(spelling.format(change(letter), text=text), OPTIONS) == (text, "")
        if "{text}" in spelling:
            other = next(option for option in OPTIONS.values() if option != text)
            assert not answer_in(spelling.format(letter, text=other), OPTIONS)[0], "letter and text contradict"
        missing = spelling.format(change("E"), text="edema")
        assert answer_in(missing, OPTIONS)[1].endswith("is none of the options A, B, C, D"), missing


def test_a_text_is_its_option_in_any_case_and_a_part_of_it_is_none():
    for text in OPTIONS.values():
        assert answer_in(f" {text.upper()} ", OPTIONS) == (text, "")
    for text in ("dis", "disc and cup", "cells", "A and B", "A, B", "AB", "not disc", "?"):
        assert not answer_in(text, OPTIONS)[0], text


def test_what_can_be_read_in_two_ways_is_no_answer():
    numbers = {"A": "1", "B": "2", "C": "3"}
    for cell in "0123":
        assert "from 0 or from 1" in answer_in(cell, OPTIONS if cell == "0" else numbers)[1]
    assert answer_in("20", {"A": "10", "B": "20"}) == ("20", "")
    crossed = {"A": "B", "B": "A"}
    assert "may be the letter" in answer_in("A", crossed)[1]
    assert answer_in("A", {"A": "A", "B": "B"}) == ("A", "")
    assert answer_in("A", {"A": "cup", "B": "Cup"})[1] == "two options are the same"
    assert answer_in("", OPTIONS)[1] == "the answer is empty" and answer_in("x", {}) == ("x", "")
