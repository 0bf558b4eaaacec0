"""Few-shot questions: answered training questions before a question, as earlier turns with their images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.option_letters import options_in
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Message, Part, Record, own_part
from lmod_train.scoring.items import images_of
from lmod_train.tasks.filled import unfilled

Kind = tuple[object, ...]
Strata = dict[str, list[Record]]


class Examples:
    """Training questions by kind and answer, of which examples are drawn.

    An example is a question of the same task, source, modality, variant, step, language and choices, so that it is
    asked in the same words, and an image goes nowhere that the question's own image may not. Where the prompt lists the
    options by letters, each question has a list of its own: an example, too, is asked with its own.

    Args:
        records: The training split; records whose words lack earlier answers are left out.
        seed: Seed of the draws.
    """

    def __init__(self, records: Iterable[Record], seed: int) -> None:
        self._seed = seed
        self._kinds: dict[Kind, Strata] = {}
        for record in sorted(records, key=lambda r: r.id):
            if not unfilled(record):
                self._kinds.setdefault(_kind(record), {}).setdefault(_stratum(record), []).append(record)

    def draw(self, record: Record, count: int) -> list[Record]:
        """Return different examples for a record, never of its patient or family, nor with one of its images.

        The answers take turns in a drawn order, so that their numbers differ by at most one while there are examples.
        The draw depends on the seed and the record's id only.

        Args:
            record: The question to be asked.
            count: Number of examples.

        Raises:
            BadArgument: There are not so many.
        """
        strata = self._kinds.get(_kind(record), {})
        random = np.random.default_rng(int(shuffle_key(self._seed, record.id)[:16], 16))
        names = list(strata)
        turns = (_from(strata[names[i]], random, record) for i in random.permutation(len(names)))
        found = list(islice(_in_turn(turns), count))
        if len(found) < count:
            expected = f"at most {len(found)}: so many training questions of other patients are like {record.id}"
            cure = "ask with fewer shots, or curate with a larger training split"
            raise BadArgument("data.asking.shots", count, expected, cure)
        return found


def _kind(record: Record) -> Kind:
    place = (record.task, record.source, record.modality, record.phantom)
    choices = () if options_in(record.messages) else record.choices
    return (*place, record.variant, record.chain_step, record.language, choices)


def _stratum(record: Record) -> str:
    """Return the part of the reference reply that is the task's answer."""
    return own_part(record.answer, record.choices)


def _from(records: Sequence[Record], random: np.random.Generator, asked: Record) -> Iterator[Record]:
    """Yield the records of one answer from a drawn place on, those of the asked record's family left out."""
    start = int(random.integers(len(records)))
    ordered = (records[(start + i) % len(records)] for i in range(len(records)))
    return (r for r in ordered if not _related(r, asked))


def _related(one: Record, other: Record) -> bool:
    family = bool(one.group) and (one.source, one.group) == (other.source, other.group)
    shown = set(one.image_sha256 or one.image) & set(other.image_sha256 or other.image)
    return family or bool(shown) or one.id == other.id


def _in_turn(turns: Iterable[Iterator[Record]]) -> Iterator[Record]:
    """Yield one record of each iterator in turn; exhausted ones drop out."""
    while turns:
        left = []
        for turn in turns:
            for record in islice(turn, 1):
                yield record
                left.append(turn)
        turns = left


def with_examples(record: Record, examples: Sequence[Record], as_asked: Callable[[Record], Record]) -> Record:
    """Return a record with answered examples before its question, each with its images.

    The reference replies are the answers of the examples. A record without a group gets its own images as one, as
    those of the examples must not separate it from the same question in another way.

    Args:
        record: The question.
        examples: The examples, in their order.
        as_asked: Returns an example in the same wording and order as the question.
    """
    system = tuple(m for m in record.messages if m.role == "system")
    turns = [turn for example in examples for turn in _turns(as_asked(example))]
    shown = (*examples, record)
    return replace(
        record,
        messages=(*system, *turns, *(m for m in record.messages if m.role != "system")),
        image=tuple(image for r in shown for image in r.image),
        image_plain=tuple(image for r in shown for image in r.image_plain),
        image_sha256=tuple(sha for r in shown for sha in r.image_sha256),
        group=record.group or images_of(record) or record.id,
    )


def _turns(example: Record) -> Iterator[Message]:
    yield from (m for m in example.messages if m.role != "system")
    yield Message("assistant", (Part("text", example.answer),))
