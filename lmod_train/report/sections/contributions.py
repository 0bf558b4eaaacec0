"""What each imaging modality contributes: accuracy with all images of an eye, and without those of the modality."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Heads, N, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import FEWEST_DISCORDANT, holm
from lmod_train.scoring.modality import Contribution, contributions

NOTE = f"""The same questions (n) about several images of one eye, with all of them and without those of one modality.
MCS, the modality contribution score: accuracy with all modalities minus accuracy without this one, missing answers
wrong, with an interval over patients; above 0 if the modality helps. p: exact McNemar test with patients as the
independent units, only with {FEWEST_DISCORDANT} or more questions that one of the two alone answers rightly; Holm:
adjusted for the modalities of a run. X-PCR's formula is not released: this one is ours, and not comparable with
published values."""
HEADS: Heads = [
    "task", "model", "modality left out", N, Column("with all", "number"), Column("without it", "number"),
    Column("MCS", "signed"), Column("95 % interval", "signed_interval"), Column("right with it only", "count"),
    Column("right without it only", "count"), Column("p", "p"), Column("Holm", "p"),
]  # fmt: skip


class Contributions(Section):
    """Contribution of each modality to the accuracy on questions about several images (MCS)."""

    title: ClassVar[str] = "Contribution of each modality (MCS)"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing unless questions were also asked without a modality (`CrossModality.without`)."""
        rows = [
            row
            for task in results.tasks
            for name, _ in results.named(task)
            for row in _rows(task, name, list(contributions(task, results.items[name].get(task, ()))))
        ]
        if rows:
            yield Text(NOTE)
            yield table("contributions", HEADS, rows, "accuracy with all modalities and without one")


def _rows(task: str, name: str, found: Sequence[Contribution]) -> Iterator[list[Cell]]:
    for one, adjusted in zip(found, holm([c.p for c in found]), strict=True):
        gap = one.score
        cells: list[Cell] = [gap.n, one.whole, one.rest, gap.value, (gap.low, gap.high)]
        yield [task, name, one.modality, *cells, one.test.only_first, one.test.only_second, one.p, adjusted]
