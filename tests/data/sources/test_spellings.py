"""Names of tables in the spellings of others."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.data.sources.spellings import shown, spellings


def test_a_spelling_of_the_user_takes_precedence_and_must_stand_for_a_known_name():
    known = {"question": ("题目",), "answer": ("答案",)}
    assert spellings(known, "columns", {"题 目": "answer"}) == {
        "question": "question",
        "题目": "answer",
        "answer": "answer",
        "答案": "answer",
    }
    with pytest.raises(BadArgument, match=r"columns='answers'.*question, answer"):
        spellings(known, "columns", {"A": "answers"})


def test_shown_values_are_short_and_plain():
    for value in ("x" * 10**6, "\x00\ud800<b>", [[]] * 99, {"a": {}}, float("nan"), 10**400, None, b"\xff"):
        assert len(shown(value)) < 300
        assert shown(value).isascii() and shown(value).isprintable()
