"""The index of all predictions: what the viewer filters by, as columns of numbers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from lmod_train.core.types import Record
from lmod_train.report.viewer.record_details import groups_of, modality_name, source_name
from lmod_train.report.viewer.store import compact
from lmod_train.report.viewer.texts import Numbered
from lmod_train.report.viewer.wording import OUTCOMES, answer_text, outcome_of
from lmod_train.scoring.items import Item

LONGEST = 120
"""Characters of an answer in the list of predictions."""
RECORD_COLUMNS = ("id", "task", "source", "modality", "groups", "truth")
REPLY_COLUMNS = ("model", "record", "outcome", "answer", "error")


@dataclass
class Index:
    """Columns of records and replies; texts that repeat are numbers of a list."""

    models: list[dict[str, str]]
    tasks: Numbered[str] = field(default_factory=Numbered)
    sources: Numbered[str] = field(default_factory=Numbered)
    modalities: Numbered[str] = field(default_factory=Numbered)
    groups: Numbered[str] = field(default_factory=Numbered)
    answers: Numbered[str] = field(default_factory=Numbered)
    errors: Numbered[str] = field(default_factory=Numbered)
    records: list[tuple[Any, ...]] = field(default_factory=list)
    replies: list[tuple[int, ...]] = field(default_factory=list)

    def add_record(self, item: Item, record: Record) -> int:
        """Add a record and return its number."""
        groups = [self.groups.number(f"{key}={value}") for key, value in groups_of(record)]
        places = (
            self.tasks.number(record.task),
            self.sources.number(source_name(record)),
            self.modalities.number(modality_name(record)),
        )
        self.records.append((record.id, *places, groups, self.answers.number(shortened(answer_text(item.truth)))))
        return len(self.records) - 1

    def add_reply(self, model: int, record: int, item: Item, error: str) -> int:
        """Add a reply and return its number; `error` is its type of error, empty for none."""
        answer = self.answers.number(shortened(answer_text(item.answer)))
        outcome = OUTCOMES.index(outcome_of(item))
        self.replies.append((model, record, outcome, answer, self.errors.number(error)))
        return len(self.replies) - 1

    def json(self, size: int) -> dict[str, Any]:
        """Return the index as JSON holds it.

        Args:
            size: Number of records or replies of a data file.
        """
        ids = compact([self.models, [record[0] for record in self.records]])
        return {
            "report": hashlib.sha256(ids.encode()).hexdigest()[:16],
            "size": size,
            "models": self.models,
            "outcomes": list(OUTCOMES),
            **{name: getattr(self, name).values for name in _LISTS},
            "records": _columns(RECORD_COLUMNS, self.records),
            "replies": _columns(REPLY_COLUMNS, self.replies),
        }


_LISTS = ("tasks", "sources", "modalities", "groups", "answers", "errors")


def shortened(text: str) -> str:
    """Return a text on one line, cut to `LONGEST` characters."""
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST and len(text) <= 4 * LONGEST else f"{line[: LONGEST - 1]}…"


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
