"""Checks of one written question: both languages agree, and nothing in it steers a model or a program."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.tasks.captioned.pair import OPEN, Pair
from lmod_train.tasks.captioned.reading import compared, language_of
from lmod_train.tasks.drafting.captions.item import Item, Left
from lmod_train.tasks.drafting.captions.parity import differences
from lmod_train.tasks.drafting.marks import steers

STEP = "check"


def faults_of(pair: Pair) -> list[tuple[str, str]]:
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
