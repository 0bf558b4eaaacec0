"""Check of languages: declared language against the script of the words, and training against evaluation."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

from lmod_train.doctor.check_result import CheckResult, Level
from lmod_train.doctor.prompt_text import prompt_text
from lmod_train.doctor.subject import Subject
from lmod_train.types import Record

SCRIPTS = {
    "zh": {"CJK"},
    "ja": {"CJK", "HIRAGANA", "KATAKANA"},
    "ko": {"HANGUL"},
    "ru": {"CYRILLIC"},
    "uk": {"CYRILLIC"},
    "ar": {"ARABIC"},
    "fa": {"ARABIC"},
    "ur": {"ARABIC"},
    "hi": {"DEVANAGARI"},
    "el": {"GREEK"},
    "he": {"HEBREW"},
    "th": {"THAI"},
}
"""Scripts by ISO 639-1 code; LATIN for every other language."""
MIN_SHARE, MIN_SHARE_LATIN = 0.2, 0.8
"""Least share of a question's letters in the script of its language; a Chinese question may list English choices."""
KANA = ("HIRAGANA", "KATAKANA")
MIN_LETTERS = 4
"""Answers with fewer letters belong to any script: A, OCT, 4."""
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


def written_in(text: str, language: str) -> bool:
    """Return whether enough letters of a text belong to a language's script; True for a text without letters.

    Example:
        >>> written_in("Is this GLAUCOMA?", "en"), written_in("Is this GLAUCOMA?", "zh"), written_in("4 / 7", "zh")
        (True, False, True)
    """
    counted = scripts(text)
    own = sum(counted[script] for script in SCRIPTS.get(language, {"LATIN"}))
    kana = sum(counted[script] for script in KANA) if language == "zh" else 0
    least = MIN_SHARE if language in SCRIPTS else MIN_SHARE_LATIN
    return own >= least * counted.total() and kana < MIN_SHARE * max(counted.total(), 1)


def other_script(answer: str, question: str) -> bool:
    """Return whether an answer and its question have no script in common; False for an answer of fewer than 4 letters.

    Example:
        >>> other_script("青光眼患者", "Is this glaucoma?"), other_script("GLAUCOMA", "Is this glaucoma?")
        (True, False)
    """
    own, asked = scripts(answer), scripts(question)
    return own.total() >= MIN_LETTERS and bool(asked) and not own.keys() & asked.keys()


def scripts(text: str) -> Counter[str]:
    """Return the number of letters of a text by script."""
    counted: Counter[str] = Counter()
    for letter, n in Counter(text).items():
        if letter.isalpha():
            counted[_script(letter)] += n
    return counted


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "OTHER").partition(" ")[0]
