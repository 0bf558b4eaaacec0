"""Marks of models side by side at each group, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lmod_train.core.tables import INTERVAL
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.figures.lines import Line, interval, number
from lmod_train.report.figures.wrapped import wrapped

SPREAD = 0.6
"""Width over which the marks of one group are spread; groups are at distance 1."""

Marked = tuple[dict[str, Any], list[float], list[float]]
"""Style of a model's line, and the places and values of its marks."""


def marks(axis: Any, own: Sequence[Line], models: Sequence[str], groups: Sequence[str], value: str) -> Iterator[Marked]:
    """Draw a mark with its interval per row, and yield the style, places and values of each model, in group order.

    Args:
        axis: The panel.
        own: Rows with ``model``, ``group``, `value` and an interval.
        models: All models of the figure, which determine colours and places.
        groups: All groups of the panel, at 0, 1, 2 and so on.
        value: Head of the column of values.
    """
    for place, model in enumerate(models):
        rows = {row["group"]: row for row in own if row["model"] == model and row[value] is not None}
        shift = (place - (len(models) - 1) / 2) * SPREAD / max(1, len(models))
        held = [group for group in groups if group in rows]
        places = [groups.index(group) + shift for group in held]
        values = [number(rows[group][value]) for group in held]
        style = {"color": COLOURS[place % len(COLOURS)]}
        for x, group in zip(places, held, strict=True):
            axis.plot([x, x], interval(rows[group], INTERVAL.head), lw=1.2, zorder=2, **style)
        axis.plot(places, values, MARKERS[place % len(MARKERS)], ms=4.5, zorder=3, label=wrapped(model), **style)
        yield {**style, "ls": LINES[place % len(LINES)]}, [groups.index(group) for group in held], values


def named_with_items(own: Sequence[Line], groups: Sequence[str]) -> list[str]:
    """Return each group with the number of its items below; of different models the least and the most."""
    sizes = {group: sorted({row["n"] for row in own if row["group"] == group and row["n"]}) for group in groups}
    counts = {group: dict.fromkeys((*held[:1], *held[-1:])) for group, held in sizes.items()}
    return [f"{wrapped(group, 14, 2)}\nn {'-'.join(map(str, counts[group])) or 0}" for group in groups]
