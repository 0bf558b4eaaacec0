"""Readers: each person, their mean, models against it, and the agreement of readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from lmod_train.core.artifacts.run import READER
from lmod_train.core.tables import INTERVAL, SCORE, Cell, N, score_cells, table
from lmod_train.core.types import Score, Unparsed
from lmod_train.extensions.readers.scores import against_readers, mean_reader
from lmod_train.report.contents import Part, Remark, Text, heads, noted, texts
from lmod_train.report.paired_runs import by_question
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.agreement import fleiss_scores, pair_scores
from lmod_train.scoring.intervals import Floats
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item

_TEXTS, _HEADS = texts(__file__), heads(__file__)

ALL = "all readers"


@dataclass(frozen=True, slots=True)
class Panel:
    """The readers of one task, on the questions that all of them have answered.

    Attributes:
        task: Name of the task.
        items: Label of each reader -> question -> item, with equal questions.
    """

    task: str
    items: Mapping[str, Mapping[str, Item]]

    @property
    def questions(self) -> list[str]:
        """Their questions, sorted."""
        return sorted(next(iter(self.items.values())))

    def item_scores(self, questions: Sequence[str]) -> Floats:
        """Return the score of each reader on each question, (questions, readers)."""
        rows = [[item_score(own[q]) for own in self.items.values()] for q in questions]
        return np.array(rows, dtype=np.float64).reshape(len(questions), len(self.items))

    def groups(self, questions: Sequence[str]) -> list[str]:
        """Return the patient of each question."""
        own = next(iter(self.items.values()))
        return [own[q].group for q in questions]


class Readers(Section):
    """Each reader, their mean, models against it, and the agreement of readers."""

    title: ClassVar[str] = "Readers"
    name: ClassVar[str] = "readers"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing if no run is of a person."""
        people = [name for name, found in results.outcomes.items() if found.config.get(READER)]
        panels = list(panels_of(results.items, people))
        if not panels:
            return
        yield Text(_TEXTS["note"])
        yield from (Remark(text) for panel in panels for text in _left_out(panel, results.items))
        yield table("readers", ["task", "reader", N, SCORE, INTERVAL], [row for p in panels for row in _scores(p)])
        models = {name: items for name, items in results.items.items() if name not in people}
        against = [row for p in panels for row in _against(p, models)]
        agreed = [row for p in panels if len(p.items) > 1 for row in _agreement(p)]
        title = "Models against the mean reader"
        yield from noted(_TEXTS["against"], table("readers_models", _HEADS["models"], against, title))
        title = "Agreement of readers"
        yield from noted(_TEXTS["agreed"], table("readers_agreement", _HEADS["agreement"], agreed, title))


def panels_of(items: Mapping[str, Mapping[str, Sequence[Item]]], people: Sequence[str]) -> Iterator[Panel]:
    """Yield the readers of each task whose questions have choices or regions, with at least one common question.

    Args:
        items: Label of each run -> task -> items.
        people: Labels of the readers' runs.
    """
    for task in dict.fromkeys(task for name in people for task in items[name]):
        own = {name: by_question(items[name][task]) for name in people if task in items[name]}
        shared = set.intersection(*(set(found) for found in own.values()))
        first = next(iter(own.values()))
        kept = [q for q in shared if first[q].choices or isinstance(first[q].truth, Mapping)]
        if kept:
            yield Panel(task, {name: {q: found[q] for q in kept} for name, found in own.items()})


def _left_out(panel: Panel, items: Mapping[str, Mapping[str, Sequence[Item]]]) -> Iterator[str]:
    """Yield a remark if some readers have answered records that others have not."""
    counts = {name: len(items[name][panel.task]) - len(panel.questions) for name in panel.items}
    if any(counts.values()):
        listed = ", ".join(f"{name} {n}" for name, n in counts.items() if n)
        yield f"{panel.task}: answers to records that not all readers have answered are left out here ({listed})"


def _scores(panel: Panel) -> Iterator[list[Cell]]:
    questions = panel.questions
    item_scores, groups = panel.item_scores(questions), panel.groups(questions)
    for column, name in enumerate(panel.items):
        yield [panel.task, name, *score_cells(mean_reader(panel.task, item_scores[:, [column]], groups))]
    if len(panel.items) > 1:
        mean = mean_reader(panel.task, item_scores, groups)
        yield [panel.task, f"mean of {len(panel.items)} readers", *score_cells(mean)]


def _against(panel: Panel, models: Mapping[str, Mapping[str, Sequence[Item]]]) -> Iterator[list[Cell]]:
    for name, tasks in models.items():
        own = by_question(tasks.get(panel.task, ()))
        questions = [q for q in panel.questions if q in own]
        if not questions:
            continue
        scores, item_scores = [item_score(own[q]) for q in questions], panel.item_scores(questions)
        gap = against_readers(panel.task, scores, item_scores, panel.groups(questions))
        mean, each = float(np.mean(scores)), item_scores.mean(axis=0)
        above = int(np.sum(each > mean + 1e-12))
        numbers: list[Cell] = [gap.n, mean, float(each.mean()), gap.value, (gap.low, gap.high), above]
        yield [panel.task, name, len(panel.items), *numbers]


def _agreement(panel: Panel) -> Iterator[list[Cell]]:
    """Yield a row for every two readers, and for three or more one for all of them."""
    keys = [(q, place) for q in panel.questions for place in _places(panel, q)]
    groups = panel.groups([q for q, _ in keys])
    labels = {name: [_label(own[q], place) for q, place in keys] for name, own in panel.items.items()}
    for first, second in combinations(labels, 2):
        scores = pair_scores(panel.task, labels[first], labels[second], groups)
        yield [panel.task, first, second, *_cells(scores)]
    if len(labels) > 2:
        scores = fleiss_scores(panel.task, list(zip(*labels.values(), strict=True)), groups)
        yield [panel.task, ALL, "", *_cells(scores)]


def _cells(scores: Sequence[Score]) -> list[Cell]:
    agreement, kappa = scores
    return [*score_cells(agreement), *score_cells(kappa)[1:]]


def _places(panel: Panel, question: str) -> list[int]:
    """Return the regions that a question asks about; 0 for a question without regions."""
    truth = next(iter(panel.items.values()))[question].truth
    return sorted(truth) if isinstance(truth, Mapping) else [0]


def _label(item: Item, place: int) -> str:
    if isinstance(item.answer, Unparsed):
        return "(none)"
    return str(item.answer.get(place, "(none)") if isinstance(item.answer, Mapping) else item.answer)
