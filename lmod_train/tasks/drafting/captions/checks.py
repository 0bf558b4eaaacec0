"""Checks of one written question: both languages agree, and nothing in it steers a model or a program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lmod_train.tasks.captioned.pair import OPEN, BilingualQuestion, Half
from lmod_train.tasks.captioned.reading import compared, language_of
from lmod_train.tasks.drafting.captions.item import Item, Left
from lmod_train.tasks.drafting.marks import steers
from lmod_train.tasks.parsing.normalise import normalise

STEP = "check"


def faults_of(pair: BilingualQuestion) -> list[tuple[str, str]]:
    """Return reason and detail of everything that the checks find in a question.

    ``marks``: tokens of chat templates, places of images, HTML, links, invisible characters; ``languages_differ``:
    see `parity.differences`; ``other_language``: a half, or its open answer, in the other language; ``answer_named``:
    an open question that contains its answer.
    """
    texts = (*pair.en.texts, *pair.zh.texts)
    found = [("marks", text[:80]) for text in texts if steers(text)]
    found += [("languages_differ", detail) for detail in differences(pair)]
    for language, half in pair.halves.items():
        if language_of(half.question) != language:
            found.append(("other_language", half.question[:80]))
        if pair.kind == OPEN and compared(half.answer) and compared(half.answer) in compared(half.question):
            found.append(("answer_named", half.question[:80]))
    return found


def faulty(items: Sequence[Item]) -> list[Left]:
    """Return the items in which a check finds something, with what it finds first."""
    found = {item.id: faults_of(item.pair) for item in items}
    return [Left(id, STEP, faults[0][0], faults[0][1]) for id, faults in found.items() if faults]


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SIDES = {
    "en": {"left": r"(?<![a-z])(?:left|os)(?![a-z])", "right": r"(?<![a-z])(?:right|od)(?![a-z])",
           "both": r"(?<![a-z])(?:both eyes|bilateral(?:ly)?|ou)(?![a-z])"},
    "zh": {"left": r"左|(?<![a-z])os(?![a-z])", "right": r"右|(?<![a-z])od(?![a-z])",
           "both": r"双眼|双侧|两眼|(?<![a-z])ou(?![a-z])"},
}  # fmt: skip


def differences(pair: BilingualQuestion) -> list[str]:
    """Return what differs between the halves: the answer, and numbers and sides where both name some.

    A wrong translation without numbers or sides is not found here, but by the people who review both halves.

    Example:
        >>> from lmod_train.tasks.captioned.pair import TRUE_FALSE
        >>> en, zh = (Half(text, TRUE_FALSE[of], TRUE_FALSE[of][0])
        ...     for of, text in (("en", "The left disc is pale."), ("zh", "右眼视盘苍白。")))
        >>> differences(BilingualQuestion("binary_question", en, zh))
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
