"""Questions of probes beside the task's own: which question a probe asked without its image, or with another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lmod_train.core.types import Record
from lmod_train.report.results import Outcomes
from lmod_train.report.sorted_errors import PROBES
from lmod_train.scoring.chain_steps import in_order
from lmod_train.scoring.comparison import paired_items
from lmod_train.scoring.items import Item
from lmod_train.scoring.probing import question_and_kind
from lmod_train.scoring.ways import asked_id, question_of

SHOWN = ("none", "options", "another", "foreign")
"""Kinds of probes that do not show the question's own image."""

Question = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Probed:
    """Questions that a probe asked in one kind.

    Attributes:
        task: Name of the probed task.
        kind: One of `SHOWN`.
        items: The probe's items.
        pairs: A question's own item and the probe's, of each question that both were asked.
    """

    task: str
    kind: str
    items: tuple[Item, ...]
    pairs: tuple[tuple[Item, Item], ...]

    @property
    def stages(self) -> list[str]:
        """Stages of the questions, in the order of the chain; empty for a task without chains."""
        return in_order(item.chain_step for item in self.items if item.chain_step)

    def at(self, stage: str) -> Probed:
        """Return the questions of one stage."""
        items = tuple(item for item in self.items if item.chain_step == stage)
        return replace(self, items=items, pairs=tuple(p for p in self.pairs if p[0].chain_step == stage))


def probed(outcomes: Outcomes) -> Iterator[Probed]:
    """Yield what each probe of a run asked in each kind, beside the run's own questions."""
    for name in sorted(task for task in outcomes.items if task.endswith(PROBES)):
        task = name.removesuffix(PROBES)
        for kind in SHOWN:
            if items := items_in(outcomes, task, kind):
                pairs = paired_items(outcomes.items.get(task, []), named_as_asked(outcomes, task, kind, outcomes))
                yield Probed(task, kind, tuple(items), tuple(pairs))


def items_in(outcomes: Outcomes, task: str, kind: str) -> list[Item]:
    """Return the items of a task's probe in one kind."""
    return [item for item in outcomes.items.get(task + PROBES, []) if question_and_kind(item.variant)[1] == kind]


def named_as_asked(probe: Outcomes, task: str, kind: str, own: Outcomes) -> list[Item]:
    """Return the items of a probe in one kind with the ids of the task's own questions, to pair them by.

    Items whose own question was not asked are left out.

    Args:
        probe: Predictions of the run with the probe.
        task: Name of the probed task.
        kind: Kind of the probe.
        own: Predictions of the run with the task's own questions, which may be the same run.
    """
    ids = own_ids(probe, task, kind, own)
    return [replace(item, id=ids[item.id]) for item in items_in(probe, task, kind) if item.id in ids]


def own_ids(probe: Outcomes, task: str, kind: str, own: Outcomes) -> dict[str, str]:
    """Return record id of the probe -> record id of the task's own question, asked in the same way.

    A question is identified by source, key, language, step and variant, so that those of one image stay apart.
    """
    asked = [p.record for p in own.predictions if p.record.task == task]
    questions = {_question(r, r.variant): question_of(r.id, r.tags) for r in asked}
    probes = [p.record for p in probe.predictions if p.record.task == task + PROBES]
    split = [(r, *question_and_kind(r.variant)) for r in probes]
    found = [(r, questions.get(_question(r, variant))) for r, variant, its in split if its == kind]
    return {r.id: asked_id(id, r.tags) for r, id in found if id is not None}


def _question(record: Record, variant: str) -> Question:
    """Return what a question and its probes have in common, and no two questions of a task."""
    return record.source, record.key, record.language, record.chain_step, variant
