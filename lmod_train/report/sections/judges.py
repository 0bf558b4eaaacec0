"""Judged replies: the scores of each judge with its own account, and the attacks on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, score_cells, table
from lmod_train.report.attack_rows import AttackRow, attack_rows
from lmod_train.report.contents import Part, Text
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

ATTACKED = """Texts that may mislead a judge, on a sample of the questions. Success: the share of verdicts that such a
text makes wrong. Some stand in the place of the reply, so that the right verdict is known; others are added to the
reply, and the verdict should remain that on the reply alone. To right: the share that is judged right only with the
addition. Unjudged: the judge's reply states no label."""

_ATTACKS: Heads = [
    "task", "run", "judge", "attack", "place and right verdict", N, Column("success", "number"), INTERVAL,
    Column("to right", "number"), Column("unjudged", "percent"),
]  # fmt: skip


class Judges(Section):
    """Scores of each judge with its own account, and the success of attacks on it."""

    title: ClassVar[str] = "Judged replies"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing if no run has judgements."""
        rows = [_judged(row) for row in judged_rows(results.runs, results.outcomes)]
        if rows:
            yield Text(NOTE)
            yield table("judges", _JUDGED, rows)
        attacks = [_attack(row) for row in attack_rows(results.runs, results.outcomes)]
        if attacks:
            yield Text(ATTACKED)
            yield table("attacks", _ATTACKS, attacks)


def _judged(r: JudgedRow) -> list[Cell]:
    shares = [s.value if s else None for s in (r.unjudged, r.pending, r.not_sent)]
    return [r.task, r.run, r.judge, r.model, r.prompt, *score_cells(r.accuracy), *score_cells(r.answered), *shares]


def _attack(r: AttackRow) -> list[Cell]:
    to_right, unjudged = (s.value if s else None for s in (r.to_right, r.unjudged))
    return [r.task, r.run, r.judge, r.attack, r.kind, *score_cells(r.success), to_right, unjudged]
