"""Check of languages: declared language against the script of the words, and training against evaluation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from lmod_train.core.languages import other_script, written_in
from lmod_train.core.types import Record
from lmod_train.training.doctor.check_result import CheckResult, Level
from lmod_train.training.doctor.prompt_text import prompt_text
from lmod_train.training.doctor.subject import Subject

WARN_SHARE, FAIL_SHARE = 0.01, 0.1
"""Shares of records in another language: from the first a warning, from the second a failure."""
CHECKED = 2000
"""Number of records, about, whose script is read; taken at even distances."""


def language(subject: Subject) -> Iterator[CheckResult]:
    """Compare the declared language of records with the script of prompt and answer, and training with evaluation."""
    if subject.data is None:
        yield CheckResult("language", "skip", "the data could not be built")
        return
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
    cure = "correct the language or the words of the samples (data source or task), and curate again"
    for wrong, problem, why in (
        (declared, "are not written in their declared language", "the parser applies the rules of the declared one"),
        (answered, "have an answer in another script than their question", "replies would come in the wrong language"),
    ):
        if len(wrong) >= WARN_SHARE * max(len(learnt), 1) and wrong:
            level: Level = "fail" if len(wrong) >= FAIL_SHARE * len(learnt) else "warn"
            what = f"{len(wrong)} of {len(learnt)} records {problem} ({wrong[0].language}), e.g. {wrong[0].id}"
            yield CheckResult("language", level, what, why, cure)


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
        why = "replies come in the language of the training, and the parser expects the language of the question"
        yield CheckResult("language", "warn", what, why, "curate the task in one language, or in both for every split")
