"""Lettered lists are written in one way, and read back from the user's last turn."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import both_or_neither, lettered, options_in
from lmod_train.core.types import Message, Part


def asked(*texts: str) -> list[Message]:
    return [Message("user", (Part("image"), *(Part("text", text) for text in texts)))]


_WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs")), min_size=1, max_size=12)


@settings(max_examples=25)
@given(options=st.lists(_WORDS, min_size=2, max_size=26, unique=True))
@example(options=[f"option {n}" for n in range(26)])
def test_what_is_written_is_read_back(options: list[str]) -> None:
    text = f"Which is it?\n{lettered(options)}\nAnswer with the letter of one option."
    assert list(options_in(asked(text)).values()) == options
    assert "".join(options_in(asked(text))) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(options)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("A. rim\nB. cup", {"A": "rim", "B": "cup"}),
        ("A. rim\nB. cup\nor\nA. hole\nB. cyst\nC. tear", {"A": "hole", "B": "cyst", "C": "tear"}),
        ("A. rim\nB. cup\nA. Smith", {"A": "rim", "B": "cup"}),
        ("A. rim\nC. cup", {}),
        ("B. rim\nC. cup", {}),
        ("A. rim\n\nB. cup", {}),
        ("A. rim", {}),
        ("A rim\nB cup", {}),
        ("A. rim B. cup", {}),
        ("Grade A. rim\nB. cup", {}),
        ("A. rim\nB. cup\nC. \nD. edge", {"A": "rim", "B": "cup"}),
        ("", {}),
    ],
)
def test_lists_in_a_prompt(text: str, read: dict[str, str]) -> None:
    assert options_in(asked(text)) == read


@pytest.mark.parametrize(("one", "other"), [("a", "bb"), ("a long name of a finding", "b")])
def test_the_options_of_a_pair_have_one_length(one: str, other: str) -> None:
    assert len({len(option) for option in both_or_neither(one, other)}) == 1
    assert len(set(both_or_neither(one, other))) == 4


def test_only_the_last_user_turn_counts() -> None:
    first, answer = asked("A. rim\nB. cup"), Message("assistant", (Part("text", "A. hole\nB. cyst"),))
    assert options_in([*first, answer]) == {"A": "rim", "B": "cup"}
    assert options_in([*first, answer, *asked("Why?")]) == {}
    assert options_in(asked("Which?", "A. rim\nB. cup")) == {"A": "rim", "B": "cup"}
    assert options_in([]) == {}


@pytest.mark.parametrize(
    "options", [[], ["rim"], ["rim", "rim"], ["rim", ""], ["rim", " cup"], ["rim", "cup\nedge"], ["rim", "a\u2028b"],
                [str(i) for i in range(27)]],
)  # fmt: skip
def test_options_that_no_list_can_hold_are_an_error(options: list[str]) -> None:
    with pytest.raises(BadArgument, match="2 to 26 different texts"):
        lettered(options)
