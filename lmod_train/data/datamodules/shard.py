"""Division of an evaluation between processes that do not know one another, by image."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lmod_train.core.connected_components import join
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Record


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several equal parts of the images of an evaluation.

    Attributes:
        number: Number of the part, from 1.
        count: Number of parts.

    Example:
        >>> Shard.parse("2/8")
        Shard(number=2, count=8)
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard of a text ``i/n``.

        Raises:
            BadArgument: It is not two numbers with 1 <= i <= n.
        """
        found = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", text)
        if not found or int(found[1]) > int(found[2]):
            cure = "start n commands with `--data.shard 1/n` to `--data.shard n/n`"
            raise BadArgument("data.shard", text, "i/n, number i of n parts, counted from 1", cure)
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def of(self, records: Sequence[Record]) -> list[Record]:
        """Return the records of this part, in their order.

        Images go to the parts in turn, in the order of their first record, and all questions about an image, and those
        of one chain, to one part; a record without an image counts as an image of its own. The parts are disjoint and
        together all records.

        Args:
            records: All records of the evaluation, those that are answered included, so that every process divides
                the same list.
        """
        links = [(("id", r.id), other) for r in records for other in _linked(r)]
        numbers = {member: number for number, group in enumerate(join(links)) for member in group}
        return [r for r in records if numbers["id", r.id] % self.count == self.number - 1]


def _linked(record: Record) -> Iterator[tuple[str, ...]]:
    """Yield what a record shares with others: its images, its chain, and the records that it needs."""
    yield ("image", *record.image) if record.image else ("id", record.id)
    yield from (("chain", record.chain),) if record.chain else ()
    yield from (("id", need) for need in record.needs)
