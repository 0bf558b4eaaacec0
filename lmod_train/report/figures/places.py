"""Balanced accuracy at each place between the vision tower and the reply, as a staircase."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import INTERVAL, SCORE, Column, Heads, N, Table
from lmod_train.report.canvas import COLOURS, MARKERS
from lmod_train.report.figures.lines import Line, distinct, interval, lines, number, parts
from lmod_train.report.figures.sheet import MOST, SMALL, sheet
from lmod_train.scoring.dissection import SHORTCUTS, UNTRAINED

COLUMNS: Heads = [
    "model", "place", N, SCORE, INTERVAL, Column("chance", "number"), Column("floor", "number"),
    Column("permuted labels", "number"),
]  # fmt: skip
"""Columns of the table; places are in the order in which an image passes through them."""


def draw_places(table: Table, out: Path) -> None:
    """Draw a line a model over the places, with intervals, and the lines of chance, shortcuts and permuted labels.

    Args:
        table: Columns as `COLUMNS`.
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
    (*BESIDE, "ceiling"),
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
