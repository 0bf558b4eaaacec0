"""Checks of the reference answers: variety, language, leaks from the prompt, and separation of the classes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import islice

from lmod_train.core.languages import other_script, written_in
from lmod_train.core.types import Record
from lmod_train.training.doctor.check_result import CheckResult, problem
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
        what = "; ".join(
            f"{task}: all {len(by_task[task])} answers are {_short(by_task[task][0])}" for task in constant
        )
        yield problem("answers.one_answer", len(constant) == len(by_task), what)


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
        what = (
            f"{task}: the prompts of {len(leaks)} of {len(asked)} records contain their own answer, e.g. {leaks[0].id}"
        )
        yield problem("answers.in_prompt", share >= FAIL_SHARE, what)


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


# Check of languages: declared language against the script of the words, and training against evaluation.
WARN_SHARE_LANGUAGE, FAIL_SHARE_LANGUAGE = 0.01, 0.1
"""Shares of records in another language: from the first a warning, from the second a failure."""

CHECKED = 2000
"""Number of records, about, whose script is read; taken at even distances."""


def language(subject: Subject) -> Iterator[CheckResult]:
    """Compare the declared language of records with the script of prompt and answer, and training with evaluation."""
    learnt, asked = subject.records(), subject.asked()
    stride = len(learnt) // CHECKED + 1
    problems = [*_in_another_script(learnt[::stride]), *_asked_in_another(learnt, asked)]
    yield from problems
    if not problems:
        counted = Counter(r.language for r in learnt)
        yield CheckResult("language", "ok", ", ".join(f"{n} records in {name}" for name, n in counted.most_common()))


def _in_another_script(learnt: Sequence[Record]) -> Iterator[CheckResult]:
    declared = [r for r in learnt if not written_in(prompt_text(r), r.language)]
    strange = {r.id for r in declared}
    answered = [r for r in learnt if r.id not in strange and other_script(r.answer, prompt_text(r))]
    for name, wrong, how in (
        ("undeclared", declared, "are not written in their declared language"),
        ("answered", answered, "have an answer in another script than their question"),
    ):
        if len(wrong) >= WARN_SHARE_LANGUAGE * max(len(learnt), 1) and wrong:
            what = f"{len(wrong)} of {len(learnt)} records {how} ({wrong[0].language}), e.g. {wrong[0].id}"
            yield problem(f"language.{name}", len(wrong) >= FAIL_SHARE_LANGUAGE * len(learnt), what)


def _asked_in_another(learnt: Sequence[Record], asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a warning for tasks that are evaluated in a language they were not trained in."""
    known: dict[str, set[str]] = defaultdict(set)
    for record in learnt:
        known[record.task].add(record.language)
    strange = {(r.task, r.language) for r in asked if known[r.task] and r.language not in known[r.task]}
    if strange:
        what = "; ".join(
            f"{task} is evaluated in {name} and trained in {', '.join(known[task])}" for task, name in strange
        )
        yield problem("language.another", "warn", what)


# Check for duplicates and contradictions among the training records, and for overlap with val and test.
MANY = 0.01
"""Share of duplicate training records above which the check warns; share of overlap from which it fails."""


def separation(subject: Subject) -> Iterator[CheckResult]:
    """Compare the training records with one another and with those of the splits val and test."""
    learnt, asked = subject.records(), subject.asked()
    problems = [*duplicated(learnt), *contradicted(learnt), *shared(learnt, asked)]
    yield from problems
    if not problems:
        counted = f"{len(learnt)} training records, {len(asked)} of val and test"
        yield CheckResult("separation", "ok", f"{counted}; no record in both, no duplicates")


def model_input(record: Record) -> Hashable:
    """Return what the model gets of a record, for comparison: SHA-256 of the images, and the prompt in lower case."""
    return record.image_sha256, " ".join(prompt_text(record).lower().split())


def duplicated(learnt: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for duplicates among the training records: same id, or same images, prompt and answer."""
    ids = Counter(r.id for r in learnt)
    same = Counter((model_input(r), r.answer) for r in learnt)
    again = max(len(learnt) - len(ids), len(learnt) - len(same))
    if again > MANY * len(learnt):
        example = next((name for name, n in ids.items() if n > 1), "") or _first_duplicate(learnt)
        what = f"{again} of {len(learnt)} training records are duplicates (same image and words), e.g. {example}"
        yield problem("separation.duplicates", "warn", what)


def _first_duplicate(learnt: Sequence[Record]) -> str:
    seen: set[Hashable] = set()
    for record in learnt:
        key = (model_input(record), record.answer)
        if key in seen:
            return record.id
        seen.add(key)
    return ""


def contradicted(learnt: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for questions about the same image that have different answers."""
    answers: dict[Hashable, set[str]] = defaultdict(set)
    for record in learnt:
        answers[model_input(record)].add(" ".join(record.answer.lower().split()))
    several = [key for key, given in answers.items() if len(given) > 1]
    if several:
        example = next(r.id for r in learnt if model_input(r) == several[0])
        what = f"{len(several)} questions about the same image have several answers, e.g. {example}"
        yield problem("separation.contradicted", "warn", what)


def shared(learnt: Sequence[Record], asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for records of val and test that are training records too: same id, or same images and prompt."""
    ids, known = {r.id for r in learnt}, {model_input(r) for r in learnt}
    both = [r for r in asked if r.id in ids or model_input(r) in known]
    if both:
        what = f"{len(both)} of {len(asked)} records of val and test are training records too, e.g. {both[0].id}"
        yield problem("separation.shared", len(both) >= MANY * len(asked), what)


# The text of a record's prompt, as several checks compare it.


def prompt_text(record: Record) -> str:
    """Return the text parts of all messages of a record, joined by spaces."""
    return " ".join(part.text for message in record.messages for part in message.parts)
