"""Questions asked in rounds: each after the questions whose answers its words hold.

A record states in `needs` which answers the placeholders of its words stand for. In a cascade these are the answers
that the same model gave (X-PCR, supplement, section 4.1: "each stage consumes the model's own prediction").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from lmod_train.core.connected_components import join
from lmod_train.core.types import Answer, Record, Reply, Unparsed
from lmod_train.tasks.asked import Current, asked_after, current
from lmod_train.tasks.base import Task
from lmod_train.tasks.filled import filled, filled_texts, unfilled
from lmod_train.tasks.parsed_replies import parse_replies

Answers = Mapping[str, Answer | Unparsed]
"""Record id -> answer in its reply. A record without a reply, or whose request failed, is absent."""


def chains(records: Mapping[str, Record]) -> list[list[Record]]:
    """Return the records that are asked together: those of one chain, and those of which one needs another's answer.

    Args:
        records: Id -> record.

    Returns:
        Lists of at least one record, each beginning with the record of the fewest needs, the first of them by id. Each
        record is in one list.
    """
    links = [((r.id, ""), other) for r in records.values() for other in _linked(r)]
    found = [[records[id] for id, _ in several if id in records] for several in join(links)]
    return [sorted(several, key=lambda r: (len(r.needs), r.id)) for several in found]


def _linked(record: Record) -> list[tuple[str, str]]:
    """Return (id, "") of a record itself and of those that it needs, and ("", chain) where it is in one."""
    return [(record.id, ""), *((need, "") for need in record.needs), *([("", record.chain)] if record.chain else [])]


def rounds(records: Iterable[Record]) -> list[list[Record]]:
    """Return the records in rounds: each is in a later one than the records whose answers its words hold.

    Within a round the order is kept. A record whose words hold no placeholder is in the first round, whatever its
    `needs`. Needs that are not among the records do not count; records that need each other in a circle, which curation
    leaves out, are in the last round.
    """
    left = list(records)
    waiting = {r.id: set(r.needs) if unfilled(r) else set() for r in left}
    found = []
    while left:
        due = [r for r in left if not waiting[r.id] & waiting.keys()] or left
        found.append(due)
        for record in due:
            waiting.pop(record.id, None)
        left = [r for r in left if r.id in waiting]
    return found


def is_due(record: Record, answers: Answers) -> bool:
    """Return whether a record can be asked: every question whose answer its words hold has a reply."""
    return not unfilled(record) or all(need in answers for need in record.needs)


def as_sent(record: Record, answers: Answers) -> Record:
    """Return the record with the words that are sent: answers in the place of placeholders."""
    return replace(record, messages=filled(record, answers)) if unfilled(record) else record


def hash_sent(record: Record, base: str, answers: Answers) -> str:
    """Return the hash of what is asked (`lmod_train.tasks.asked`), with the answers that are filled in."""
    return asked_after(base, filled_texts(record, answers)) if unfilled(record) else base


def current_in_rounds(
    records: Sequence[Record], tasks: Mapping[str, Task], asked: Mapping[str, str], saved: Iterable[Reply]
) -> Current:
    """Return which saved replies count, as `current`, where words hold answers to other records.

    A reply counts if the answers filled into its prompt are those that the replies which count, and today's parser,
    give. A reply to a prompt with another answer, e.g. from before the parser was corrected, is stale.

    Args:
        records: The run's records.
        tasks: Name -> task, whose parser reads; records of other tasks have no answers.
        asked: Record id -> hash of what is asked today, of the words with their placeholders; empty if unknown.
        saved: Each key (id, step, asked) once.
    """
    several, answers = list(saved), dict[str, Answer | Unparsed]()
    by_id, hashes = _by_id(several), dict(asked)
    filled_in = {need for r in records if unfilled(r) for need in r.needs}
    for due in rounds(records):
        hashes |= {r.id: _hash(r, asked, answers) for r in due}
        sources = [r for r in due if r.id in filled_in]  # the other replies need not be read here
        own = {r.id: hashes[r.id] for r in sources}
        found = current(own, (reply for r in sources for reply in by_id.get(r.id, ())))
        answers |= answers_in(sources, tasks, found.replies)
    return current(hashes, several)


def _by_id(replies: Iterable[Reply]) -> dict[str, list[Reply]]:
    found: dict[str, list[Reply]] = {}
    for reply in replies:
        found.setdefault(reply.id, []).append(reply)
    return found


def _hash(record: Record, asked: Mapping[str, str], answers: Answers) -> str:
    """Return the hash of what is asked; empty if it is unknown, or an earlier question has no reply."""
    base = asked.get(record.id, "")
    return hash_sent(record, base, answers) if base and is_due(record, answers) else ""


def answers_in(
    records: Sequence[Record], tasks: Mapping[str, Task], replies: Mapping[str, Reply]
) -> dict[str, Answer | Unparsed]:
    """Return the answer in the reply to each record; records without a reply, or with a failed one, are absent."""
    known = [tasks[name] for name in sorted({r.task for r in records} & tasks.keys())]
    found = [prediction for task in known for prediction in parse_replies(task, records, replies)]
    return {p.record.id: p.answer for p in found if p.status != "failed"}


def needed(records: Iterable[Record], everything: Mapping[str, Record]) -> Iterator[Record]:
    """Yield the records, and those whose answers their words hold, directly or not, each once."""
    seen: set[str] = set()
    left = list(records)[::-1]
    while left:
        record = left.pop()
        if record.id not in seen:
            seen.add(record.id)
            yield record
            left += [everything[need] for need in record.needs if unfilled(record) and need in everything]
