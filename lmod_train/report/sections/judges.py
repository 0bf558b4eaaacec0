"""Judged replies: the scores of each judge with its own account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import INTERVAL, Cell, Column, Heads, N, Part, Text, score_cells, table
from lmod_train.report.judged_rows import JudgedRow, judged_rows
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Verdicts of a model or of people on whether the replies agree with the reference answers. Accuracy judged:
replies judged right among all records; a reply that is unjudged (the judge's reply states no label) or was not sent (no
reply, refused, cut off, empty) counts as wrong. It is shown once no judgement is pending. Judged only: among the
replies with a verdict. What a model judges is an estimate: compare it with verdicts of people on the same replies."""

_JUDGED: Heads = [
    "task", "run", "judge", "judge's model", "prompt", N, Column("accuracy judged", "number"), INTERVAL,
    N, Column("judged only", "number"), INTERVAL, *(Column(h, "percent") for h in ("unjudged", "pending", "not sent")),
]  # fmt: skip


class Judges(Section):
    """Scores of each judge with its own account."""

    title: ClassVar[str] = "Judged replies"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if no run has judgements."""
        rows = [_judged(row) for row in judged_rows(results.runs, results.outcomes)]
        if rows:
            yield Text(NOTE)
            yield table("judges", _JUDGED, rows)


def _judged(r: JudgedRow) -> list[Cell]:
    shares = [s.value if s else None for s in (r.unjudged, r.pending, r.not_sent)]
    return [r.task, r.run, r.judge, r.model, r.prompt, *score_cells(r.accuracy), *score_cells(r.answered), *shares]
