"""Writes all predictions of all runs as data for the viewer, and as pages that need no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmod_train.core.types import Prediction, Record
from lmod_train.report.results import Outcomes
from lmod_train.report.viewer.blocks import SIZE, Blocks
from lmod_train.report.viewer.index import Index
from lmod_train.report.viewer.record_details import record_details
from lmod_train.report.viewer.reply_details import Verdicts, reply_details
from lmod_train.report.viewer.static_pages import Card, StaticPages
from lmod_train.report.viewer.store import Store
from lmod_train.report.viewer.wording import answer_text, outcome_of
from lmod_train.scoring.items import Item
from lmod_train.scoring.judged import PENDING
from lmod_train.scoring.steps import STEPS

Errors = Mapping[str, Mapping[str, Sequence[str]]]
"""Label of a run -> record id -> failures of its reply."""


def write_viewer(
    runs: Mapping[str, Outcomes],
    curated: Mapping[str, Path | None],
    store: Store,
    pages: StaticPages,
    errors: Errors | None = None,
    names: Sequence[Mapping[str, str]] = (),
) -> Index:
    """Write every prediction once to the data and once to the pages without script; return their index.

    Args:
        runs: Label -> outcomes.
        curated: Label -> curated folder with the images; None if unknown.
        store: Keeps data and images.
        pages: Pages without script.
        errors: Types of errors, from an analysis of errors; None for none.
        names: Further names of each run to show (``model``, ``run``), in the order of the runs.
    """
    known = [dict(own) for own in names] or [{} for _ in runs]
    index = Index([{"label": label, **own} for label, own in zip(runs, known, strict=True)])
    records, replies = _Records(index, store), Blocks("replies", store)
    for number, (label, outcomes) in enumerate(runs.items()):
        types = (errors or {}).get(label, {})
        for prediction, item in in_order(outcomes):
            record = prediction.record
            place, about = records.add(item, record, curated[label])
            found = reply_details(
                item, prediction, outcomes.tasks.get(record.task), verdicts_of(outcomes, record.id), replies.texts
            )
            index.add_reply(number, place, item, "; ".join(types.get(record.id, ())))
            pages.add(Card(label, about, found, prediction, outcome_of(item), "; ".join(types.get(record.id, ()))))
            replies.add(found)
    records.close()
    replies.close()
    pages.close()
    store.add("index", index.json(SIZE))
    return index


def in_order(outcomes: Outcomes) -> Iterator[tuple[Prediction, Item]]:
    """Yield the predictions of a run with their items, by task and id, those of a chain by stage."""
    items = {item.id: item for own in (*outcomes.items.values(), outcomes.failed) for item in own}
    for prediction in sorted(outcomes.predictions, key=lambda p: _order(p.record)):
        yield prediction, items[prediction.record.id]


def _order(record: Record) -> tuple[str, str, int, str]:
    step = record.chain_step
    return record.task, record.id.removesuffix(step), STEPS.index(step) if step in STEPS else len(STEPS), record.id


def verdicts_of(outcomes: Outcomes, id: str) -> Verdicts:
    """Return (judge, verdict) of each judge that has judged a reply."""
    found = [(judge.judge, judge.verdicts.get(id, PENDING)) for judge in outcomes.judged]
    return [(judge, answer_text(verdict)) for judge, verdict in found if verdict != PENDING]


@dataclass
class _Records:
    """The records of all runs; one that several runs answer is kept once."""

    index: Index
    store: Store
    _blocks: Blocks = field(init=False)
    _known: dict[str, list[tuple[Record, Path | None, int, dict[str, Any]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._blocks = Blocks("records", self.store)

    def add(self, item: Item, record: Record, curated: Path | None) -> tuple[int, dict[str, Any]]:
        """Return number and details of a record, which is new if no run before has the same under its id."""
        same = self._known.setdefault(record.id, [])
        for known, folder, number, about in same:
            if folder == curated and known == record:
                return number, about
        texts = self._blocks.texts
        about = record_details(item, record, curated, self.store, texts)
        number = self.index.add_record(item, record)
        same.append((record, curated, number, about))
        self._blocks.add(about)
        return number, about

    def close(self) -> None:
        """Write the records that are left."""
        self._blocks.close()
