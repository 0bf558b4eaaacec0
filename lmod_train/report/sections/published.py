"""Published scores for the tasks of the runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import Column, Heads, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.published import published_beside
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = "Scores printed in the papers, of the authors' own runs on real data. None was measured here."


class PublishedScores(Section):
    """Scores printed in the papers, measured on real data."""

    title: ClassVar[str] = "Published"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if there are none for the tasks of the runs, or the runs are of phantoms."""
        rows = [
            [p.task, p.model, f"{p.modality} {p.metric}".strip(), p.printed, p.ours, p.where, p.note]
            for p in published_beside(results)
        ]
        columns: Heads = ["task", "published model", "metric", Column("score", "number"), "most similar metric here"]
        if rows:
            yield Text(NOTE)
            yield table("published", [*columns, "where", "note"], rows)
