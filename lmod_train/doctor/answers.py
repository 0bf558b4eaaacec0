"""Do the answers follow from what is shown? Not where there is one answer, and not where the prompt gives it away."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from lmod_train.doctor.finding import Finding, Level
from lmod_train.doctor.subject import Subject
from lmod_train.types import Record

SOME, MANY = 0.05, 0.5
"""Shares of a task's records whose prompt gives the answer away from which it is told, and refused."""
COMPARED = 64
"""Prompts of other answers that a word is looked for in."""
LEAST = 2
"""Letters that an answer must have to be looked for: one letter stands in every prompt."""


def answers(subject: Subject) -> Iterator[Finding]:
    """Look at the answers of every task."""
    if subject.data is None:
        yield Finding("answers", "skip", "the data could not be made")
        return
    by_task: dict[str, list[Record]] = defaultdict(list)
    for record in subject.records():
        by_task[record.task].append(record)
    found = [*one_answer(by_task), *(f for task, asked in by_task.items() for f in given_away(task, asked))]
    yield from found
    if not found:
        said = (f"{task} {len({r.answer for r in asked})}" for task, asked in sorted(by_task.items()))
        yield Finding("answers", "ok", f"distinct answers: {', '.join(said)}; none stands in its own prompt alone")


def one_answer(by_task: Mapping[str, Sequence[Record]]) -> Iterator[Finding]:
    """Find tasks all of whose records have the same answer."""
    constant = [t for t, asked in by_task.items() if len(asked) > 1 and len({r.answer.strip() for r in asked}) == 1]
    if constant:
        level: Level = "fail" if len(constant) == len(by_task) else "warn"
        what = "; ".join(
            f"{task}: all {len(by_task[task])} answers are {_short(by_task[task][0])}" for task in constant
        )
        why = "nothing has to be seen to say the same always, and that is what is learnt"
        cure = "curate with samples of every class, or take the task out of data.tasks"
        yield Finding("answers", level, what, why, cure)


def _short(record: Record) -> str:
    return repr(record.answer.strip()[:60])


def given_away(task: str, asked: Sequence[Record]) -> Iterator[Finding]:
    """Find prompts that hold their own answer where prompts of other answers do not.

    A prompt that lists its choices names the right one too; it names every other one as often, whatever is right.
    """
    if leaks := leaking(asked):
        share = len(leaks) / len(asked)
        if share < SOME:
            return
        level: Level = "fail" if share >= MANY else "warn"
        what = f"{task}: the prompts of {len(leaks)} of {len(asked)} records hold their own answer, e.g. {leaks[0].id}"
        why = "the answer can be copied from the question, and nothing has to be seen"
        yield Finding("answers", level, what, why, "take the answer out of the words, and curate again")


def leaking(asked: Sequence[Record]) -> list[Record]:
    """Return the records whose words name their answer and no other as often.

    Where most prompts of other answers name it so too, it is part of the question.
    """
    common = [answer for answer, _ in Counter(r.answer.strip() for r in asked).most_common(COMPARED)]
    named = [r for r in asked if _names(r, r.answer, common)]
    usual = {answer: _usual(answer, asked, common) for answer in {r.answer for r in named}} if len(common) > 1 else {}
    return [r for r in named if usual.get(r.answer, 1.0) < MANY]


def _names(record: Record, answer: str, common: Sequence[str]) -> bool:
    """Return whether a record's words name an answer more often than any other one."""
    words = _words(record)
    own = _count(answer, words)
    others = {*common, *record.choices} - {answer.strip()}
    return own > 0 and own > max((_count(other, words) for other in others), default=0)


def _usual(answer: str, asked: Sequence[Record], common: Sequence[str]) -> float:
    """Return the share of prompts of other answers that name this one more often than any other."""
    others = list(islice((r for r in asked if r.answer != answer), COMPARED))
    return sum(_names(r, answer, common) for r in others) / len(others)


def _words(record: Record) -> str:
    return " ".join(part.text for message in record.messages for part in message.parts)


def _count(answer: str, words: str) -> int:
    """Return how often an answer stands in a text as words of its own; 0 for one letter or none.

    Example:
        >>> _count("GLAUCOMA", "GLAUCOMA or NON-GLAUCOMA?"), _count("A", "A or B?")
        (1, 0)
    """
    answer = answer.strip()
    if sum(c.isalnum() for c in answer) < LEAST or answer.lower() not in words.lower():
        return 0
    return len(re.findall(rf"(?<![\w-]){re.escape(answer)}(?![\w-])", words, re.IGNORECASE))
