"""Is every question there once, and is what is learnt apart from what will be asked?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from lmod_train.doctor.finding import Finding, Level
from lmod_train.doctor.subject import Subject
from lmod_train.types import Record

MANY = 0.01
"""Share of doubled or shared questions from which it is told, or refused."""


def separation(subject: Subject) -> Iterator[Finding]:
    """Compare the training records with one another and with those of the splits val and test."""
    if subject.data is None:
        yield Finding("separation", "skip", "the data could not be made")
        return
    learnt, asked = subject.records(), subject.asked()
    found = [*doubled(learnt), *contradicted(learnt), *shared(learnt, asked)]
    yield from found
    if not found:
        said = f"{len(learnt)} questions to learn from, {len(asked)} others to ask; none in both, none twice"
        yield Finding("separation", "ok", said)


def told(record: Record) -> Hashable:
    """Return what a model is shown of a record: the content of its pictures and its words."""
    words = " ".join(part.text for message in record.messages for part in message.parts)
    return record.image_sha256, " ".join(words.lower().split())


def doubled(learnt: Sequence[Record]) -> Iterator[Finding]:
    """Find records that come again, by their id or by pictures, words and answer."""
    ids = Counter(r.id for r in learnt)
    same = Counter((told(r), r.answer) for r in learnt)
    again = max(len(learnt) - len(ids), len(learnt) - len(same))
    if again > MANY * len(learnt):
        example = next((name for name, n in ids.items() if n > 1), "") or _first_again(learnt)
        what = f"{again} of {len(learnt)} training records come again with the same picture and words, e.g. {example}"
        why = "they weigh twice, and a split made after doubling holds copies on both sides"
        yield Finding("separation", "warn", what, why, "take the copies out and curate again")


def _first_again(learnt: Sequence[Record]) -> str:
    seen: set[Hashable] = set()
    for record in learnt:
        key = (told(record), record.answer)
        if key in seen:
            return record.id
        seen.add(key)
    return ""


def contradicted(learnt: Sequence[Record]) -> Iterator[Finding]:
    """Find questions that are answered in two ways."""
    answers: dict[Hashable, set[str]] = defaultdict(set)
    for record in learnt:
        answers[told(record)].add(" ".join(record.answer.lower().split()))
    both = [key for key, said in answers.items() if len(said) > 1]
    if both:
        example = next(r.id for r in learnt if told(r) == both[0])
        what = f"{len(both)} questions about the same picture have several answers, e.g. {example}"
        why = "one of them is wrong, or the words do not say what is asked"
        yield Finding("separation", "warn", what, why, "look at these records, and leave the wrong ones out")


def shared(learnt: Sequence[Record], asked: Sequence[Record]) -> Iterator[Finding]:
    """Find records that are learnt from and asked: by id, or by pictures and words."""
    ids, known = {r.id for r in learnt}, {told(r) for r in learnt}
    both = [r for r in asked if r.id in ids or told(r) in known]
    if both:
        level: Level = "fail" if len(both) >= MANY * len(asked) else "warn"
        what = f"{len(both)} of {len(asked)} records of val and test are training records too, e.g. {both[0].id}"
        why = "what is remembered would be scored as if it were known"
        yield Finding("separation", level, what, why, "curate again: it keeps copies of a photograph in one split")
