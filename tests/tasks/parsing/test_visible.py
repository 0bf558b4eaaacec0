"""The part of a reply that is read has a limit."""

from __future__ import annotations

import random

from lmod_train.core.types import Reply
from lmod_train.tasks.parsing.confidence import parse_confidence
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.visible import LONGEST, visible_text
from tests.growth import growth
from tests.tabled import stored

FOUR = ("optic disc", "macula", "superior arcade", "periphery")


def prose(size: int) -> str:
    """Return so many characters of words in no order, which are no loop."""
    chance = random.Random(size)
    words = stored(__file__, "visible.prose")
    return " ".join(chance.choices(words, k=size // 5))


def test_a_short_reply_is_read_whole() -> None:
    assert visible_text(prose(LONGEST // 2)).text.count("\n...") == 0


def test_the_opening_and_the_final_answer_of_a_long_reply_count() -> None:
    words = prose(300_000)
    for text in (f"Answer: B\n{words}", f"{words}\nFinal answer: B; Confidence: 80%", f"A\n{words}\nFinal answer: B"):
        assert read(Reply("a", text), parse_option, FOUR) == "macula"
    assert parse_confidence(f"{words}\nFinal answer: B; Confidence: 80%") == 0.8
    assert read(Reply("a", f"<think>{words}</think>B"), parse_option, FOUR) == "macula"


def test_time_does_not_grow_with_long_replies() -> None:
    texts = {size: prose(size) for size in (50_000, 400_000)}
    assert growth(lambda size: read(Reply("a", texts[size]), parse_option, FOUR), 50_000, 8) < 1
