"""Examples: questions with their images, and what the models replied."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, zip_longest
from typing import ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import without_folders
from lmod_train.core.tables import Cell, table
from lmod_train.core.types import Prediction, Record
from lmod_train.report.canvas import undrawn
from lmod_train.report.contents import Figure, Part, Remark, Text, texts
from lmod_train.report.figures.qualitative import COLUMNS, MODELS, NOT_ASKED, boxes_of, draw_qualitative
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.thumbnails import licences
from lmod_train.report.viewer.outcome_text import answer_text, outcome_of
from lmod_train.scoring.items import Item

_TEXTS = texts(__file__)


LONGEST = 1_000
"""Characters of a reply that are kept; the page has all of it."""
_ALT = "Examples of {}: image with numbered boxes, truth, and the reply of each model with a tick or a cross."
_NAMED = "The records are those named by `ids`. Shown are the first {most} runs that were asked."


class Examples(Section):
    """A figure per task with a few questions: image with boxes, truth, and the replies of up to four models.

    Args:
        count: Number of records of each task.
        ids: Ids of the records to show, in this order; empty chooses by a hash, spread over right and wrong answers.
    """

    title: ClassVar[str] = "Examples"

    def __init__(self, count: int = 3, ids: Sequence[str] = ()) -> None:
        if count < 1:
            raise BadArgument("count", count, "a number of examples of 1 or more", "or leave the section out")
        self.count, self.ids = count, tuple(ids)

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield how the records are chosen, remarks on licences and fonts, and a figure per task."""
        found = [self._figure(results, task) for task in results.tasks]
        figures = [(figure, note) for figure, note in filter(None, found)]
        if figures or self.ids:
            yield Text((_NAMED if self.ids else _TEXTS["chosen"]).format(count=self.count, most=MODELS))
        yield from self._unknown(results)
        for note in dict.fromkeys(note for _, note in figures if note):
            yield Remark(note)
        yield from _not_drawn([figure for figure, _ in figures])
        yield from (figure for figure, _ in figures)

    def _unknown(self, results: Results) -> Iterator[Remark]:
        every = {i.id for tasks in results.items.values() for items in tasks.values() for i in items}
        unknown = [id for id in self.ids if id not in every]
        if unknown:
            yield Remark(f"no run has the records named by `ids`: {', '.join(unknown)}")

    def _figure(self, results: Results, task: str) -> tuple[Figure, str] | None:
        """Return the figure of a task and the remark on its licences; None without a record."""
        names = [name for name, tasks in results.items.items() if tasks.get(task)][:MODELS]
        asked = {name: {i.id: i for i in results.items[name][task]} for name in names}
        chosen = self._chosen(asked)
        if not chosen:
            return None
        replied = {name: _replied(results, name, chosen) for name in names}
        records = {id: next(replied[n][id].record for n in names if id in replied[n]) for id in chosen}
        curated = next((results.images[name] for name in names if results.images[name]), None)
        rows = [_row(records[id], name, asked[name].get(id), replied, asked) for id in chosen for name in names]
        stay = [f"{own.source} ({own.licence})" for own in licences(curated, records.values()) if own.stays]
        note = f"must stay on this machine: {', '.join(stay)}" if stay else ""
        title, alt = "; ".join(filter(None, (f"{task}: examples", note))), " ".join((_ALT.format(task), note)).strip()
        numbers = table(f"examples-{task}", COLUMNS, rows, title)
        draw = partial(draw_qualitative, curated=curated)
        return Figure(numbers.name, title, alt, numbers, draw, photographs=True), note

    def _chosen(self, asked: Mapping[str, Mapping[str, Item]]) -> list[str]:
        every = set(chain.from_iterable(asked.values()))
        return [id for id in self.ids if id in every] if self.ids else chosen(asked, self.count)


def chosen(asked: Mapping[str, Mapping[str, Item]], count: int) -> list[str]:
    """Return ids of records by turns: no model is right, some are, all are; each in the order of its SHA-256.

    Records that all models were asked are preferred: others are only chosen if there are none.

    Args:
        asked: Model -> id -> item.
        count: Maximum number of ids.
    """
    shared = set.intersection(*map(set, asked.values())) if asked else set()
    kinds: dict[str, list[str]] = {"none": [], "some": [], "all": []}
    for id in sorted(shared or set(chain.from_iterable(asked.values())), key=_digest):
        right = [outcome_of(items[id]) == "right" for items in asked.values() if id in items]
        kinds["all" if all(right) else "some" if any(right) else "none"].append(id)
    return [id for turn in zip_longest(*kinds.values()) for id in turn if id is not None][:count]


def _digest(id: str) -> str:
    return hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


def _replied(results: Results, name: str, ids: Sequence[str]) -> dict[str, Prediction]:
    return {p.record.id: p for p in results.outcomes[name].predictions if p.record.id in ids}


def _row(
    record: Record,
    name: str,
    item: Item | None,
    replied: Mapping[str, Mapping[str, Prediction]],
    asked: Mapping[str, Mapping[str, Item]],
) -> list[Cell]:
    truth = next(items[record.id].truth for items in asked.values() if record.id in items)
    outcome = outcome_of(item) if item else NOT_ASKED
    reply = _reply(replied[name][record.id]) if item else ""
    return [record.task, record.id, _image(record), boxes_of(record), answer_text(truth), name, outcome, reply]


def _image(record: Record) -> str:
    """Return the path of the first image, without marks where there is such a file; never an absolute one."""
    return without_folders((record.image_plain or record.image or ("",))[0])


def _reply(prediction: Prediction) -> str:
    reply = prediction.reply
    text = reply.reply if reply.reply or not reply.error else without_folders(reply.error)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _not_drawn(figures: Sequence[Figure]) -> Iterator[Remark]:
    """Yield a remark if no installed font has some characters of the replies."""
    text = "".join(str(cell) for figure in figures for row in figure.table.rows for cell in row)
    if undrawn(text):
        yield Remark(
            "no installed font has some characters of these examples, which are drawn as boxes: install one with "
            "Chinese characters, e.g. Noto Sans CJK SC; the CSV files beside the figures have the text"
        )
