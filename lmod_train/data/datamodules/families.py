"""Which records belong together: those of one patient, one photograph, one image file or one chain of questions."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.core.escaping import from_csv
from lmod_train.core.joining import join
from lmod_train.core.types import Record

Member = tuple[str, ...]


def families_of(records: Sequence[Record], curated: Path) -> dict[str, str]:
    """Return record id -> name of its family, which no division may separate.

    A family shares a group (patient or copies of a photograph within a source), an image file, a chain, or a photograph
    with a copy in another source, as ``leakage.csv`` of the curated folder lists it.

    Args:
        records: Records of the folder; the families are those among them.
        curated: The curated folder; without ``leakage.csv`` copies in other sources are not known.
    """
    links: list[tuple[Member, Member]] = [(("id", r.id), other) for r in records for other in _shared(r)]
    known = {member for pair in links for member in pair}
    links += [(first, second) for first, second in _copies(curated) if first in known and second in known]
    return {
        member[1]: min("/".join(own[1:]) for own in family if own[0] != "id")
        for family in join(links)
        for member in family
        if member[0] == "id"
    }


def _shared(record: Record) -> Iterator[Member]:
    """Yield what a record shares with others."""
    yield ("image of", record.source, record.key)
    yield from (("group", record.source, record.group),) if record.group else ()
    yield from (("file", digest) for digest in record.image_sha256)
    yield from (("chain", record.chain),) if record.chain else ()


def _copies(curated: Path) -> Iterator[tuple[Member, Member]]:
    """Yield the pairs of images that the curation found to be of one photograph."""
    path = curated / "leakage.csv"
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            first, second = (
                ("image of", from_csv(row[f"{side}_source"]), from_csv(row[f"{side}_key"]))
                for side in ("first", "second")
            )
            yield first, second
