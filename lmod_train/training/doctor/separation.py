"""Check for duplicates and contradictions among the training records, and for overlap with val and test."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from lmod_train.core.types import Record
from lmod_train.training.doctor.check_result import CheckResult, Level
from lmod_train.training.doctor.prompt_text import prompt_text
from lmod_train.training.doctor.subject import Subject

MANY = 0.01
"""Share of duplicate training records above which the check warns; share of overlap from which it fails."""


def separation(subject: Subject) -> Iterator[CheckResult]:
    """Compare the training records with one another and with those of the splits val and test."""
    if subject.data is None:
        yield CheckResult("separation", "skip", "the data could not be built")
        return
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
        why = "duplicates count twice, and if they existed before the split, copies are in training and test"
        yield CheckResult("separation", "warn", what, why, "remove the copies and curate again")


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
        why = "one of the answers is wrong, or the question is ambiguous"
        yield CheckResult("separation", "warn", what, why, "inspect these records, and remove the wrong ones")


def shared(learnt: Sequence[Record], asked: Sequence[Record]) -> Iterator[CheckResult]:
    """Yield a result for records of val and test that are training records too: same id, or same images and prompt."""
    ids, known = {r.id for r in learnt}, {model_input(r) for r in learnt}
    both = [r for r in asked if r.id in ids or model_input(r) in known]
    if both:
        level: Level = "fail" if len(both) >= MANY * len(asked) else "warn"
        what = f"{len(both)} of {len(asked)} records of val and test are training records too, e.g. {both[0].id}"
        why = "the score would measure memory of the training records"
        yield CheckResult("separation", level, what, why, "curate again: it keeps copies of an image in one split")
