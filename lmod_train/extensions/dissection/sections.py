"""The section on where the information about an image is lost, and its figure of places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from lmod_train.core.tables import Cell, Heads, Table, table
from lmod_train.core.types import Score, Unparsed
from lmod_train.extensions.dissection.scores import (
    ABSENT,
    ACTS_LIKE,
    BEST,
    CEILINGS,
    CHAIN,
    CHEAP,
    CORRECTED,
    LIKELIHOOD,
    MARGIN,
    PRIOR,
    REPLY,
    SHORTCUTS,
    TOWER,
    UNTRAINED,
    Classes,
    Exchanged,
    Finding,
    Step,
    balanced,
    exchanged_at,
    named,
    prior_name,
    sentence,
    steps,
    used_until,
)
from lmod_train.extensions.dissection.state_files import Dissected
from lmod_train.report.canvas import COLOURS, MARKERS
from lmod_train.report.contents import Figure, Part, Remark, Text, heads, texts
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.sheet import MOST, SMALL, sheet
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.items import Item
from lmod_train.scoring.ranking import areas, rank
from lmod_train.tasks.display_names import REASONS

_TEXTS, _HEADS = texts(__file__), heads(__file__)


class WhereItIsLost(Section):
    """The staircase from ceiling and tower to the reply, the steps, and how long the image is used."""

    title: ClassVar[str] = "Where is it lost?"
    name: ClassVar[str] = "dissection"

    @staticmethod
    def sentences(results: Results) -> list[str]:
        """Return a sentence a dissected run and task."""
        return [one.sentence for one in dissected_runs(results)]

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a sentence a model, then a staircase and tables a task; nothing without dissected runs."""
        found = list(dissected_runs(results))
        yield from (Remark(f"{one.model}: {one.sentence}") for one in found)
        for i, task in enumerate(dict.fromkeys(one.task for one in found)):
            own = [one for one in found if one.task == task]
            rows = [row for one in own for row in one.stairs()]
            drawn = table(f"lost-{task}", COLUMNS, rows)
            title, alt = f"{task}: what can be read, place by place", _TEXTS["alt"].format(task)
            yield Figure(drawn.name, title, alt, drawn, draw_places)
            if not i:
                yield Text(_TEXTS["note"])
            for name, rows_of in (("steps", DissectedRun.step_rows), ("places", DissectedRun.place_rows)):
                listed = [row for one in own for row in rows_of(one)]
                yield table(f"lost_{name}-{task}", _HEADS[name], listed, f"{task}: {name}")
            followed = [row for one in own for row in one.followed()]
            if followed:
                yield Text(_TEXTS["exchanged"])
                yield from (Remark(f"{one.model}: {said}") for one in own if (said := used_until(one.exchanged)))
                yield table(f"lost_interchange-{task}", _HEADS["followed"], followed, f"{task}: exchanged images")


class DissectedRun:
    """What was read in one run.

    Args:
        model: Label of the run.
        task: Name of the task.
        items: Its items that were dissected, of the same choices.
        rows: Rows of the run's answers, see `lmod_train.extensions.dissection.linear_reading`.
        dissected: The run's folder of the dissection.
    """

    def __init__(self, model: str, task: str, items: Sequence[Item], rows: pd.DataFrame, dissected: Dissected) -> None:
        self.model, self.task, self.choices, self._rows = model, task, items[0].choices, rows
        self._unread = Counter(item.answer.reason for item in items if isinstance(item.answer, Unparsed))
        self._read: dict[str, Classes] = {
            str(place): own["read"].to_numpy(np.intp) for place, own in rows.groupby("place", sort=False)
        }
        one = rows[rows["place"] == rows["place"].iloc[0]]
        self._truth, self._groups = one["truth"].to_numpy(np.intp), one["group"].tolist()
        self._controls = pd.read_csv(dissected.controls)
        self._dissected = dissected

    @cached_property
    def steps(self) -> list[Step]:
        """The steps between the places of the chain; the exchange of images names a loss to the prior."""
        found = steps(self._truth, self._read, self._groups, len(self.choices))
        lost = [s.name == PRIOR and s.high is not None and s.high < 0 for s in found]
        unsaid = any(s.first == LIKELIHOOD and s.is_loss for s in found)
        name = prior_name(self.exchanged, self.reference, unsaid)
        return [replace(s, name=name) if is_lost else s for s, is_lost in zip(found, lost, strict=True)]

    @property
    def finding(self) -> Finding:
        """Where it is lost; nothing can be lost behind a tower from which nothing can be read."""
        found, tower = named(self.steps), self.scores.get(TOWER)
        if found.loss and found.loss.first == CORRECTED and found.loss.name not in (PRIOR, ACTS_LIKE):
            found = replace(found, behind=None)  # exchanged images show it in front of what is said behind it
        if found.loss is None and tower is not None and (tower.low is None or tower.low <= self.chance):
            return replace(found, reason="the probe of the tower is not shown to be above chance", times=None)
        return found

    @property
    def chance(self) -> float:
        """Balanced accuracy of any constant answer."""
        return 1 / len(set(self._truth.tolist()))

    @property
    def sentence(self) -> str:
        """The finding in one sentence, with the number of records that took no part."""
        scores = {place: score.value or 0.0 for place, score in self.scores.items() if place in (CHEAP, *CHAIN)}
        answered = self._recalls(REPLY)
        recalls = {choice: (held, answered[choice]) for choice, held in self._recalls(TOWER).items()}
        said = sentence(self.task, scores, self.finding, self.best, recalls, self._visible)
        left = len(self._dissected.left_out().keys() - set(self._rows["id"]))
        return said + self._shortcut + (f" ({left} records could not be dissected)" if left else "")

    @property
    def _visible(self) -> str:
        """How many replies were not read, and most of them why; empty where they are few."""
        n, unread = len(self._truth), sum(self._unread.values())
        if unread < MARGIN * n:
            return ""
        ((why, most),) = self._unread.most_common(1)
        shown = f"{most} of {n} replies were not read ({REASONS[why]})"
        return f"{shown}{f', {unread - most} for other reasons' if unread > most else ''}: look at these first"

    @property
    def _shortcut(self) -> str:
        """A sentence on the best shortcut, if the probe of the tower is not shown to be better; empty if it is."""
        floor, tower = self._floor, self.scores.get(TOWER)
        if not floor or tower is None or tower.low is None or tower.low > floor[1]:
            return ""
        return f". The {floor[0]} alone gives {floor[1]:.2f}: the tower is not shown to read more"

    @property
    def _floor(self) -> tuple[str, float] | None:
        """The best shortcut and its balanced accuracy; None if none was read."""
        found = [(place, self.scores[place].value or 0.0) for place in SHORTCUTS if place in self.scores]
        return max(found, key=lambda one: one[1], default=None)

    @property
    def best(self) -> str:
        """The layer that was chosen as the best, in words: the median of the folds, with their spread."""

        def number_of(place: str) -> float:
            return float(place.partition(".")[2] or "inf")

        chosen = self._controls.loc[self._controls["control"] == "best layer", "value"]
        ordered = sorted(chosen.astype(str), key=number_of)
        if not ordered:
            return BEST
        ends = [in_words(place).rpartition(", ")[2] for place in (ordered[0], ordered[-1])]
        spread = f", median of {len(ordered)} folds, {ends[0]} to {ends[1]}" if ends[0] != ends[1] else ""
        return f"{in_words(ordered[(len(ordered) - 1) // 2])}{spread}"

    @cached_property
    def scores(self) -> dict[str, Score]:
        """Place -> balanced accuracy, in the order in which an image passes through the places."""
        return {place: self._score(place, self._read[place]) for place in in_order(self._read)}

    def _score(self, place: str, read: Classes) -> Score:
        kept = np.flatnonzero(read != ABSENT)
        groups = [self._groups[i] for i in kept]
        return balanced(self.task, place, self._truth[kept], read[kept], groups, len(self.choices))

    def stairs(self) -> Iterator[list[Cell]]:
        """Yield the rows of the figure."""
        floor = self._floor[1] if self._floor else None
        null = self._controls.loc[self._controls["control"] == "permuted labels", "value"].astype(float)
        for place, score in self.scores.items():
            highest = float(null.max()) if len(null) else None
            yield [self.model, place, score.n, score.value, (score.low, score.high), self.chance, floor, highest]

    def step_rows(self) -> Iterator[list[Cell]]:
        """Yield a row a step."""
        for s in self.steps:
            yield [self.model, s.name, s.first, s.second, s.n, s.change, (s.low, s.high)]

    def place_rows(self) -> Iterator[list[Cell]]:
        """Yield a row a place, with its area under the ROC curve and the recalls."""
        for place, score in self.scores.items():
            recalls = ", ".join(f"{choice} {value:.2f}" for choice, value in self._recalls(place).items())
            ends = (score.low, score.high)
            yield [self.model, in_words(place), score.n, score.value, ends, self._area(place), recalls]

    def _recalls(self, place: str) -> dict[str, float]:
        """Return the recall of each class that has records at a place."""
        read = self._read[place]
        own = {choice: read[(self._truth == i) & (read != ABSENT)] == i for i, choice in enumerate(self.choices)}
        return {choice: float(right.mean()) for choice, right in own.items() if len(right)}

    def _area(self, place: str) -> float | None:
        listed = self._rows.loc[self._rows["place"] == place, "probabilities"]
        if listed.isna().any():
            return None
        probabilities = np.stack(listed.tolist())
        ranked = [rank(probabilities[:, c], self._truth == c) for c in sorted(set(self._truth.tolist()))]
        ones = np.ones((1, len(self._truth)))
        return float(np.mean([areas(one, ones)[0][0] for one in ranked]))

    @cached_property
    def exchanged(self) -> list[Exchanged]:
        """What the exchange of images shows, layer by layer; empty without one."""
        if not self._dissected.interchange.exists():
            return []
        group = dict(zip(self._rows["id"], self._rows["group"], strict=True))
        exchanges = pd.read_csv(self._dissected.interchange)
        exchanges = exchanges[exchanges["id"].isin(group)]
        return _by_layer(exchanges.assign(group=exchanges["id"].map(group)))

    @cached_property
    def reference(self) -> list[Exchanged]:
        """The same of the model that it is compared with; empty without one."""
        file = self._dissected.reference
        return _by_layer(pd.read_csv(file)) if file.exists() else []

    def followed(self) -> Iterator[list[Cell]]:
        """Yield a row a layer, of a reference too: how often an exchanged image is followed, and the answer stays."""
        for model, layers in ((self.model, self.exchanged), (f"{self.model}: reference", self.reference)):
            for one in layers:
                shares = (share for score in (one.followed, one.stayed) for share in (score.n, score.value))
                yield [model, one.layer, *shares, one.used.value, (one.used.low, one.used.high)]


def _by_layer(exchanges: pd.DataFrame) -> list[Exchanged]:
    """Return what exchanges show, in front of each layer."""
    found = []
    for layer, own in exchanges.groupby("layer"):
        alike, followed = own[["alike", "followed"]].to_numpy(bool).T
        found.append(exchanged_at(int(str(layer)), alike, followed, own["group"].astype(str).tolist()))
    return found


def in_words(place: str) -> str:
    """Return a place in words.

    Example:
        >>> in_words("decision.18"), in_words("image.2"), in_words("tower.4"), in_words("projector")
        ('decision, layer 18', 'image tokens, layer 2', 'tower, layer 4', 'projector')
    """
    kind, _, layer = place.partition(".")
    kinds = {"image": "image tokens", "decision": "decision", "tower": "tower", "deep": "deep features"}
    return f"{kinds[kind]}, layer {layer}" if layer else place


def dissected_runs(results: Results) -> Iterator[DissectedRun]:
    """Yield each dissected run and task."""
    for name, run in zip(results.names, results.runs, strict=True):
        dissected = Dissected(run.path)
        if dissected.answers.exists():
            rows = pd.read_parquet(dissected.answers)
            for task, items in results.items[name].items():
                own = rows[rows["id"].isin([item.id for item in items])]
                if len(own):
                    read = set(own["id"])
                    yield DissectedRun(name, task, [item for item in items if item.id in read], own, dissected)


# Balanced accuracy at each place between the vision tower and the reply, as a staircase.
COLUMNS: Heads = _HEADS["columns"]
"""Columns of the table; places are in the order in which an image passes through them."""


def draw_places(table: Table, out: Path) -> None:
    """Draw a line a model over the places, with intervals, and the lines of chance, shortcuts and permuted labels.

    Args:
        table: Columns as ``columns``.
        out: Folder to write to.
    """
    rows = lines(table)
    places = in_order(distinct(rows, "place"))
    with sheet(table, out, 3.6) as axes:
        axis = axes[0, 0]
        for number_of, (model, own) in enumerate(list(parts(rows, "model"))[:MOST]):
            _line(axis, own, places, number_of, model)
        for head, style in (("chance", ":"), ("floor", "--"), ("permuted labels", "-.")):
            values = [row[head] for row in rows if row[head] is not None]
            if values:
                axis.axhline(max(values), color="#555555", lw=0.9, ls=style, label=IN_WORDS.get(head, head))
        axis.set_xticks(range(len(places)), [_short(place) for place in places], rotation=90, fontsize=SMALL)
        axis.set(ylabel="balanced accuracy", ylim=(0, 1.02))
        axis.grid(axis="y", color="#e5e5e5", zorder=0)
        axis.figure.legend(fontsize=SMALL, loc="outside upper center", ncols=3, frameon=False)


def _line(axis: Any, own: Sequence[Line], places: Sequence[str], which: int, model: str) -> None:
    colour, marker = COLOURS[which % len(COLOURS)], MARKERS[which % len(MARKERS)]
    known = {row["place"]: row for row in own}
    there = {place: (places.index(place) + 0.08 * which, known[place]) for place in places if place in known}
    style = {"color": colour, "marker": marker, "ms": 4, "lw": 1.2, "drawstyle": "steps-mid"}
    way = [(x, number(row["score"])) for place, (x, row) in there.items() if place not in BESIDE]
    axis.plot(*zip(*way, strict=True), label=model, **style)
    for place, (x, row) in there.items():
        axis.vlines(x, *interval(row, "95 % interval"), color=colour, lw=0.9)
        if place in BESIDE:  # no step leads to or from them
            axis.plot(x, number(row["score"]), **style | {"markerfacecolor": "white"})


IN_WORDS = {"floor": "best shortcut", "permuted labels": "highest probe of permuted labels"}

BESIDE = (*SHORTCUTS, UNTRAINED)

LEADING, TRAILING = (
    (*BESIDE, *CEILINGS),
    ("best layer", "last layer", "likelihoods, read", "prior corrected", "likelihood", "reply"),
)


def in_order(places: Iterable[str]) -> list[str]:
    """Return places as an image passes through them: ceiling, tower, projector, layers, the model's own answer."""
    kinds = ("tower", "projector", "deep", "image", "decision")

    def order(place: str) -> tuple[int, int, int]:
        kind, _, layer = place.partition(".")
        if place in LEADING:
            return 0, LEADING.index(place), 0
        if place in TRAILING:
            return 6, TRAILING.index(place), 0
        at = kinds.index(kind)
        if kind in ("image", "decision"):
            return 3, int(layer), at
        return 1 + (at > 0), int(layer or 999 * (at == 0)), at

    return sorted(places, key=order)


def _short(place: str) -> str:
    kind, _, layer = place.partition(".")
    return f"{kind} {layer}" if layer else place
