"""Writes all predictions of all runs as data for the viewer, and as pages that need no script."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.pseudonyms import Pseudonyms
from lmod_train.core.escaping import without_folders
from lmod_train.core.types import Prediction, Record, Unparsed
from lmod_train.report.results import Outcomes
from lmod_train.report.viewer.outcome_text import OUTCOMES, answer_text, outcome_of, reason_text
from lmod_train.report.viewer.record_details import groups_of, modality_name, record_details, source_name
from lmod_train.report.viewer.static_pages import Card, StaticPages
from lmod_train.report.viewer.store import Store, compact
from lmod_train.report.viewer.texts import Numbered
from lmod_train.scoring.chain_steps import STEPS
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import PENDING
from lmod_train.tasks.base import Task
from lmod_train.tasks.highlighted import spans_taken
from lmod_train.tasks.verdicts import given

Errors = Mapping[str, Mapping[str, Sequence[str]]]
"""Label of a run -> record id -> failures of its reply."""


def write_viewer(
    runs: Mapping[str, Outcomes],
    curated: Mapping[str, Path | None],
    store: Store,
    pages: StaticPages,
    errors: Errors | None = None,
    names: Sequence[Mapping[str, str]] = (),
    pseudonyms: Pseudonyms | None = None,
) -> Index:
    """Write every prediction once to the data and once to the pages without script; return their index.

    Args:
        runs: Label -> outcomes.
        curated: Label -> curated folder with the images; None if unknown.
        store: Keeps data and images.
        pages: Pages without script.
        errors: Types of errors, from an analysis of errors; None for none.
        names: Further names of each run to show (``model``, ``run``), in the order of the runs.
        pseudonyms: Names of the records that are shown; None shows their own.
    """
    known = [dict(own) for own in names] or [{} for _ in runs]
    index = Index([{"label": label, **own} for label, own in zip(runs, known, strict=True)])
    shown = pseudonyms or Pseudonyms(())
    records, replies = _Records(index, store, shown), Blocks("replies", store)
    for number, (label, outcomes) in enumerate(runs.items()):
        types = (errors or {}).get(label, {})
        for own, scored in sorted(in_order(outcomes), key=lambda one: _order(shown.record(one[0].record))):
            prediction, id = shown.prediction(own), own.record.id
            item = replace(scored, answer=prediction.answer) if isinstance(prediction.answer, Unparsed) else scored
            record = prediction.record
            place, about = records.add(item, record, curated[label])
            found = reply_details(
                item, prediction, outcomes.tasks.get(record.task), verdicts_of(outcomes, id), replies.texts
            )
            index.add_reply(number, place, item, "; ".join(types.get(id, ())))
            pages.add(Card(label, about, found, prediction, outcome_of(item), "; ".join(types.get(id, ()))))
            replies.add(found)
    records.close()
    replies.close()
    pages.close()
    store.add("index", index.json(SIZE))
    return index


def in_order(outcomes: Outcomes) -> Iterator[tuple[Prediction, Item]]:
    """Yield the predictions of a run with their items, by task and id, those of a chain by stage."""
    items = {item.id: item for own in _items(outcomes) for item in own}
    for prediction in sorted(outcomes.predictions, key=lambda p: _order(p.record)):
        yield prediction, items[prediction.record.id]


def _items(outcomes: Outcomes) -> Iterator[Sequence[Item]]:
    yield from (*outcomes.items.values(), *outcomes.beside.values(), outcomes.failed)


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
    pseudonyms: Pseudonyms
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
        about = record_details(item, record, curated, self.store, texts, self.pseudonyms.names)
        number = self.index.add_record(item, record)
        same.append((record, curated, number, about))
        self._blocks.add(about)
        return number, about

    def close(self) -> None:
        """Write the records that are left."""
        self._blocks.close()


SIZE = 250
"""Rows of a block."""


class Blocks:
    """Writes rows to ``NAME-0``, ``NAME-1`` and so on, `SIZE` at a time; `texts` numbers the texts of a block."""

    def __init__(self, name: str, store: Store) -> None:
        self._name, self._store = name, store
        self._rows: list[dict[str, Any]] = []
        self._number = 0
        self.texts = Numbered[str]()

    def add(self, row: dict[str, Any]) -> None:
        """Add a row; a full block is written."""
        self._rows.append(row)
        if len(self._rows) == SIZE:
            self.close()

    def close(self) -> None:
        """Write the rows that are left."""
        if self._rows:
            self._store.add(f"{self._name}-{self._number}", {"texts": self.texts.values, "rows": self._rows})
            self._number, self._rows, self.texts = self._number + 1, [], Numbered()


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


Verdicts = Sequence[tuple[str, str]]


def reply_details(
    item: Item, prediction: Prediction, task: Task | None, verdicts: Verdicts, texts: Numbered[str]
) -> dict[str, Any]:
    """Return the values of a reply as JSON holds them.

    Args:
        item: The item it is scored as.
        prediction: Record, reply and answer.
        task: The task, to find the words the answer was read from; None if it is not installed.
        verdicts: (judge, verdict) pairs.
        texts: Numbers the inputs of models, which many replies share.
    """
    reply = prediction.reply
    return {
        "pieces": pieces(prediction, task),
        "rendered": texts.number(reply.rendered),
        "answer": answer_text(item.answer),
        "reason": _reason(prediction),
        "regions": region_outcomes(item),
        "likelihoods": list(reply.likelihoods.items()),
        "confidence": prediction.confidence,
        "seconds": reply.seconds,
        "tokens": [reply.tokens_in, reply.tokens_out],
        "finish": reply.finish_reason,
        "error": without_folders(reply.error),
        "verdicts": list(verdicts),
        "given": _given(prediction),
    }


def pieces(prediction: Prediction, task: Task | None) -> list[str]:
    """Return the reply in pieces, of which every second one is what the answer was read from."""
    text = prediction.reply.reply
    spans = spans_taken(task, prediction) if task else []
    cuts = [0, *(place for span in spans for place in span), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def region_outcomes(item: Item) -> list[list[Any]]:
    """Return region id, outcome and stated structure of each region of truth or answer.

    The outcome is ``right``, ``wrong`` (another structure), ``missed`` (no answer) or ``invented`` (no such region).

    Example:
        >>> truth = {1: "iris", 2: "lens", 3: "pupil"}
        >>> region_outcomes(Item("a", "answered", {1: "iris", 2: "iris", 9: "lens"}, truth))
        [[1, 'right', 'iris'], [2, 'wrong', 'iris'], [3, 'missed', ''], [9, 'invented', 'lens']]
    """
    if not isinstance(item.truth, Mapping):
        return []
    answer = item.answer if isinstance(item.answer, Mapping) else {}
    return [
        [id, _outcome(item.truth.get(id), answer.get(id)), answer.get(id, "")] for id in sorted({*item.truth, *answer})
    ]


def _outcome(truth: str | None, answer: str | None) -> str:
    if truth is None:
        return "invented"
    if answer is None:
        return "missed"
    return "right" if answer == truth else "wrong"


def _reason(prediction: Prediction) -> str:
    answer = prediction.answer
    return without_folders(reason_text(answer)) if isinstance(answer, Unparsed) else ""


def _given(prediction: Prediction) -> str | None:
    """Return the text that judges are sent, if it differs from the reply by more than blanks; empty if none is sent."""
    text = given(prediction)
    return None if text is not None and text == prediction.reply.reply.strip() else text or ""
