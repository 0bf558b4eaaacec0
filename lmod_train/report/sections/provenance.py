"""Provenance of the runs: weights, training, records, images, leaks and version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import table
from lmod_train.report.contents import Part, Text, texts
from lmod_train.report.origin import NOT_RECORDED, Origin, counted, origin_of
from lmod_train.report.results import Results
from lmod_train.report.section import Section

_HEADS = ["model", "weights", "trained", "records", "images", "leaks", "lmod_train"]


class Provenance(Section):
    """Where the rows of each run come from."""

    title: ClassVar[str] = "Provenance of the runs"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table, a row per run."""
        yield Text(texts(__file__)["note"])
        yield table("provenance", _HEADS, [_row(name, origin_of(o)) for name, o in results.outcomes.items()])


def _row(name: str, o: Origin) -> list[str]:
    leaks = NOT_RECORDED if o.leaks is None else counted(o.leaks)
    return [name, o.weights, o.trained, counted(o.splits), o.images, leaks, o.version]
