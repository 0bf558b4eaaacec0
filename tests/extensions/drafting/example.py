"""Small written questions for the tests of the steps."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.extensions.drafting.caption_steps import Item
from lmod_train.extensions.drafting.captions import BINARY, OPEN, SINGLE_CHOICE, TRUE_FALSE, BilingualQuestion, Half


def statement(
    number: int = 1, en: str = "The optic disc is pale", zh: str = "视盘苍白", *, true: bool = True, caption: str = "1"
) -> Item:
    """Return a statement in both languages."""
    halves = (Half(text, TRUE_FALSE[of], TRUE_FALSE[of][not true]) for of, text in (("en", en), ("zh", zh)))
    return Item(caption, f"{caption}.jpg", number, BilingualQuestion(BINARY, *halves))


def single_choice(
    number: int = 1,
    en: Sequence[str] = ("drusen", "macular hole", "retinal tear", "hemorrhage"),
    zh: Sequence[str] = ("玻璃膜疣", "黄斑裂孔", "视网膜裂孔", "出血"),
    *,
    right: int = 0,
    caption: str = "1",
) -> Item:
    """Return a single-choice question in both languages."""
    pair = BilingualQuestion(
        SINGLE_CHOICE, Half("Which finding?", tuple(en), en[right]), Half("哪种表现？", tuple(zh), zh[right])
    )
    return Item(caption, f"{caption}.jpg", number, pair)


def open_question(number: int = 1, en: str = "drusen", zh: str = "玻璃膜疣", *, caption: str = "1") -> Item:
    """Return an open question in both languages."""
    pair = BilingualQuestion(OPEN, Half("What is seen at the macula?", (), en), Half("黄斑处可见什么？", (), zh))
    return Item(caption, f"{caption}.jpg", number, pair)
