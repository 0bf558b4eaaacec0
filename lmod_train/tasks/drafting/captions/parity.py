"""Check that both halves of a question say the same, as far as numbers, sides and answers show it."""

from __future__ import annotations

import re

from lmod_train.tasks.captioned.pair import OPEN, Half, Pair
from lmod_train.tasks.parsing.normalise import normalise

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SIDES = {
    "en": {"left": r"(?<![a-z])(?:left|os)(?![a-z])", "right": r"(?<![a-z])(?:right|od)(?![a-z])",
           "both": r"(?<![a-z])(?:both eyes|bilateral(?:ly)?|ou)(?![a-z])"},
    "zh": {"left": r"左|(?<![a-z])os(?![a-z])", "right": r"右|(?<![a-z])od(?![a-z])",
           "both": r"双眼|双侧|两眼|(?<![a-z])ou(?![a-z])"},
}  # fmt: skip


def differences(pair: Pair) -> list[str]:
    """Return what differs between the halves: the answer, and numbers and sides where both name some.

    A wrong translation without numbers or sides is not found here, but by the people who review both halves.

    Example:
        >>> from lmod_train.tasks.captioned.pair import TRUE_FALSE
        >>> en, zh = (Half(text, TRUE_FALSE[of], TRUE_FALSE[of][0])
        ...     for of, text in (("en", "The left disc is pale."), ("zh", "右眼视盘苍白。")))
        >>> differences(Pair("binary_question", en, zh))
        ['side: left and right']
    """
    found = []
    if pair.kind != OPEN and pair.en.right != pair.zh.right:
        found.append(f"answer: {pair.en.answer} and {pair.zh.answer}"[:80])
    places = zip(_places(pair.en), _places(pair.zh), strict=False)
    for en, zh in places:
        for name, ours, theirs in (
            ("number", _numbers(en), _numbers(zh)),
            ("side", _sides(en, "en"), _sides(zh, "zh")),
        ):
            if ours and theirs and ours != theirs:
                found.append(f"{name}: {', '.join(sorted(ours))} and {', '.join(sorted(theirs))}")
    return found


def _places(half: Half) -> tuple[str, ...]:
    """Return the texts that are translations of each other: question, and options or the open answer."""
    return (half.question, *(half.options or (half.answer,)))


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(normalise(text)))


def _sides(text: str, language: str) -> set[str]:
    plain = normalise(text).casefold()
    return {side for side, pattern in _SIDES[language].items() if re.search(pattern, plain)}
