"""Is the language of a record the one that it names, that its answer is in, and that will be asked?"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

from lmod_train.doctor.finding import Finding, Level
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
LEAST_SHARE, LEAST_LATIN = 0.2, 0.8
"""Share of a question's letters in the script of its language; a Chinese one may list English choices."""
KANA = ("HIRAGANA", "KATAKANA")
LETTERS = 4
"""Letters below which an answer has no script: A, OCT, 4."""
SOME, MANY = 0.01, 0.1
"""Shares of records in another language from which it is told, and refused."""
LOOKED_AT = 2000


def language(subject: Subject) -> Iterator[Finding]:
    """Compare the language that records name with the script of their words and answers, and training with asking."""
    if subject.data is None:
        yield Finding("language", "skip", "the data could not be made")
        return
    learnt, asked = subject.records(), subject.asked()
    step = len(learnt) // LOOKED_AT + 1
    found = [*_in_another_script(learnt[::step]), *_asked_in_another(learnt, asked)]
    yield from found
    if not found:
        counted = Counter(r.language for r in learnt)
        yield Finding("language", "ok", ", ".join(f"{n} records in {name}" for name, n in counted.most_common()))


def _in_another_script(learnt: Sequence[Record]) -> Iterator[Finding]:
    declared = [r for r in learnt if not written_in(_words(r), r.language)]
    strange = {r.id for r in declared}
    answered = [r for r in learnt if r.id not in strange and other_script(r.answer, _words(r))]
    cure = "mend the language or the words where the records are made, and curate again"
    for wrong, said, why in (
        (declared, "are not written in the language they name", "they are read and scored by that language's rules"),
        (answered, "have an answer in another script than their question", "replies would come in the wrong language"),
    ):
        if len(wrong) >= SOME * max(len(learnt), 1) and wrong:
            level: Level = "fail" if len(wrong) >= MANY * len(learnt) else "warn"
            what = f"{len(wrong)} of {len(learnt)} records {said} ({wrong[0].language}), e.g. {wrong[0].id}"
            yield Finding("language", level, what, why, cure)


def _asked_in_another(learnt: Sequence[Record], asked: Sequence[Record]) -> Iterator[Finding]:
    """A task that is asked in a language it was not learnt in."""
    known: dict[str, set[str]] = defaultdict(set)
    for record in learnt:
        known[record.task].add(record.language)
    strange = {(r.task, r.language) for r in asked if known[r.task] and r.language not in known[r.task]}
    if strange:
        what = "; ".join(f"{task} is asked in {name} and learnt in {', '.join(known[task])}" for task, name in strange)
        why = "replies come in the language that was learnt, and the parser reads the one that was asked"
        yield Finding("language", "warn", what, why, "curate the task in one language, or in both for every split")


def written_in(words: str, language: str) -> bool:
    """Return whether enough letters of a text belong to a language's script; a text without letters is any language's.

    Example:
        >>> written_in("Is this GLAUCOMA?", "en"), written_in("Is this GLAUCOMA?", "zh"), written_in("4 / 7", "zh")
        (True, False, True)
    """
    counted = scripts(words)
    own = sum(counted[script] for script in SCRIPTS.get(language, {"LATIN"}))
    kana = sum(counted[script] for script in KANA) if language == "zh" else 0
    least = LEAST_SHARE if language in SCRIPTS else LEAST_LATIN
    return own >= least * counted.total() and kana < LEAST_SHARE * max(counted.total(), 1)


def other_script(answer: str, words: str) -> bool:
    """Return whether no letter of an answer is of a script that its question uses.

    Example:
        >>> other_script("青光眼患者", "Is this glaucoma?"), other_script("GLAUCOMA", "Is this glaucoma?")
        (True, False)
    """
    said, asked = scripts(answer), scripts(words)
    return said.total() >= LETTERS and bool(asked) and not said.keys() & asked.keys()


def scripts(text: str) -> Counter[str]:
    """Return how many letters of each script a text holds."""
    counted: Counter[str] = Counter()
    for letter, n in Counter(text).items():
        if letter.isalpha():
            counted[_script(letter)] += n
    return counted


@cache
def _script(letter: str) -> str:
    return unicodedata.name(letter, "OTHER").partition(" ")[0]


def _words(record: Record) -> str:
    return " ".join(part.text for message in record.messages for part in message.parts)
