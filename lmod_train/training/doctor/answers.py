"""Checks of the reference answers: a task with one answer only, and prompts that contain their own answer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from lmod_train.core.types import Record
from lmod_train.training.doctor.check_result import CheckResult, Level
from lmod_train.training.doctor.prompt_text import prompt_text
from lmod_train.training.doctor.subject import Subject

WARN_SHARE, FAIL_SHARE = 0.05, 0.5
"""Shares of a task's records whose prompt contains the answer: from the first a warning, from the second a failure."""
USUAL_SHARE = 0.5
"""An answer named by this share of the prompts of other answers is part of the question."""
COMPARED = 64
"""Number of prompts with other answers, and of distinct answers, that a prompt is compared with."""
MIN_LETTERS = 2
"""Answers with fewer letters are not searched for: a single letter occurs in every prompt."""


def answers(subject: Subject) -> Iterator[CheckResult]:
    """Check the answers of every task."""
    if subject.data is None:
        yield CheckResult("answers", "skip", "the data could not be built")
        return
    by_task: dict[str, list[Record]] = defaultdict(list)
    for record in subject.records():
        by_task[record.task].append(record)
    problems = [*one_answer(by_task), *(p for task, asked in by_task.items() for p in answer_in_prompt(task, asked))]
    yield from problems
    if not problems:
        distinct = (f"{task} {len({r.answer for r in asked})}" for task, asked in sorted(by_task.items()))
        yield CheckResult("answers", "ok", f"distinct answers: {', '.join(distinct)}; no prompt contains its answer")


def one_answer(by_task: Mapping[str, Sequence[Record]]) -> Iterator[CheckResult]:
    """Yield a result for the tasks whose records all have the same answer."""
    constant = [t for t, asked in by_task.items() if len(asked) > 1 and len({r.answer.strip() for r in asked}) == 1]
    if constant:
        level: Level = "fail" if len(constant) == len(by_task) else "warn"
        what = "; ".join(
            f"{task}: all {len(by_task[task])} answers are {_short(by_task[task][0])}" for task in constant
        )
        why = "the model learns to give this answer without looking at the image"
        cure = "curate with samples of every class, or remove the task from data.tasks"
        yield CheckResult("answers", level, what, why, cure)


def _short(record: Record) -> str:
    return repr(record.answer.strip()[:60])


def answer_in_prompt(task: str, asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result where prompts of a task contain their own answer.

    A prompt that lists its choices also contains the right one, but as often as every other choice; it does not count.
    """
    if leaks := leaking(asked):
        share = len(leaks) / len(asked)
        if share < WARN_SHARE:
            return
        level: Level = "fail" if share >= FAIL_SHARE else "warn"
        what = (
            f"{task}: the prompts of {len(leaks)} of {len(asked)} records contain their own answer, e.g. {leaks[0].id}"
        )
        why = "the model can copy the answer from the question without looking at the image"
        yield CheckResult("answers", level, what, why, "remove the answer from the prompts, and curate again")


def leaking(asked: Sequence[Record]) -> list[Record]:
    """Return the records whose prompt names the reference answer more often than any other answer.

    An answer that most prompts of other answers name in this way is part of the question and does not count.
    """
    common = [answer for answer, _ in Counter(r.answer.strip() for r in asked).most_common(COMPARED)]
    named = [r for r in asked if _names(r, r.answer, common)]
    usual = {answer: _usual(answer, asked, common) for answer in {r.answer for r in named}} if len(common) > 1 else {}
    return [r for r in named if usual.get(r.answer, 1.0) < USUAL_SHARE]


def _names(record: Record, answer: str, common: Sequence[str]) -> bool:
    """Return whether a record's prompt names an answer more often than any other answer."""
    text = prompt_text(record)
    own = _count(answer, text)
    others = {*common, *record.choices} - {answer.strip()}
    return own > 0 and own > max((_count(other, text) for other in others), default=0)


def _usual(answer: str, asked: Sequence[Record], common: Sequence[str]) -> float:
    """Return the share of prompts of other answers that name this answer more often than any other."""
    others = list(islice((r for r in asked if r.answer != answer), COMPARED))
    return sum(_names(r, answer, common) for r in others) / len(others)


def _count(answer: str, text: str) -> int:
    """Return how often an answer occurs in a text as whole words; 0 for an answer of one letter or none.

    Example:
        >>> _count("GLAUCOMA", "GLAUCOMA or NON-GLAUCOMA?"), _count("A", "A or B?")
        (1, 0)
    """
    answer = answer.strip()
    if sum(c.isalnum() for c in answer) < MIN_LETTERS or answer.lower() not in text.lower():
        return 0
    return len(re.findall(rf"(?<![\w-]){re.escape(answer)}(?![\w-])", text, re.IGNORECASE))
