"""The images of OphthalWeChat's questions by subspecialty, condition and modality, as the paper's figure 2."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from lmod_train.core.tables import Cell, Table, table
from lmod_train.extensions.ophthalwechat.pairs import CONDITION
from lmod_train.extensions.ophthalwechat.results import KINDS
from lmod_train.extensions.ophthalwechat.source import printed
from lmod_train.report.canvas import COLOURS, undrawn
from lmod_train.report.contents import Figure, Part, Text, heads, texts
from lmod_train.report.figures.lines import Line, lines, parts
from lmod_train.report.figures.sheet import SMALL, sheet
from lmod_train.report.figures.small_multiples import panels_in_grid
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.origin import phantom_tasks
from lmod_train.report.results import Results
from lmod_train.report.section import Section

_TEXTS, _HEADS = texts(__file__), heads(__file__)
_PAPER = {"subspecialty": "subspecialties", "modality": "modalities"}
"""Group -> its name in ``account.csv``; conditions are printed in the figure only."""

BARS, LEAVES = 15, 90
"""Numbers of bars of a panel, as in the paper, and of conditions that are legible around a tree."""


class Composition(Section):
    """Shares of subspecialties, conditions and modalities, and the conditions of each subspecialty."""

    title: ClassVar[str] = "Subspecialties, conditions and modalities"
    name: ClassVar[str] = "composition"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield bars, and the tree if conditions are named; nothing without questions in two languages."""
        items = [item for own in results.items.values() for task in KINDS for item in own.get(task, ())]
        images = {i.image: (i.tags.get("subspecialty", ""), i.tags.get(CONDITION, ""), i.modality) for i in items}
        if not images:
            return
        yield Text(_TEXTS["images"].format(n=len(images), bars=BARS))
        paper = {} if phantom_tasks(results.outcomes) & KINDS.keys() else printed()
        kinds = zip(("subspecialty", "condition", "modality"), zip(*images.values(), strict=True), strict=True)
        rows = [[no, *row] for of, found in kinds for no, row in enumerate(_shares(of, found, paper), 1)]
        number = {str(name): no for no, of, name, *_ in rows if of == "condition"}
        held = Counter((subspecialty or "not known", name) for subspecialty, name, _ in images.values() if name)
        ranked = sorted(held.items(), key=lambda one: (-one[1], one[0]))
        drawn = {*list(number)[:BARS], *(name for (_, name), _ in ranked[:LEAVES])}
        if unnamed := [f"{no} {name}" for name, no in number.items() if name in drawn and undrawn(name)]:
            yield Text(_TEXTS["numbers"].format("; ".join(unnamed)))
        yield Figure("composition", self.title, _TEXTS["bars"], table("composition", _HEADS["bars"], rows), draw_shares)
        if len(held) > 1:
            leaves: list[list[Cell]] = [[number[name], subspecialty, name, n] for (subspecialty, name), n in ranked]
            title = f"Conditions by subspecialty{f', the {LEAVES} most frequent of {len(held)}' * (len(held) > LEAVES)}"
            tree = table("conditions", _HEADS["tree"], leaves, title)
            yield Figure("conditions", title, _TEXTS["tree"], tree, draw_tree)


def _shares(kind: str, values: Iterable[str], paper: Mapping[str, Mapping[str, float]]) -> Iterator[list[Cell]]:
    """Yield each value with its number of images and its share of those that have one, the most frequent first."""
    known = Counter(value for value in values if value)
    theirs = paper.get(_PAPER.get(kind, ""), {})
    whole = 100 if kind == "subspecialty" else sum(theirs.values())
    for value, n in sorted(known.items(), key=lambda one: (-one[1], one[0])):
        yield [kind, value, n, n / known.total(), theirs[value] / whole if value in theirs else None]


def _label(row: Line, name: str, width: int) -> str:
    """Return the name of a row, or its number, the same in both figures, if no font has its characters."""
    return f"no. {row['no.']}" if undrawn(row[name]) else wrapped(row[name], width, 1)


def _key(table: Table, rows: Sequence[Line], name: str, kind: str) -> str:
    """Return where the names of numbered rows stand; empty without such rows."""
    text = f"column {name} of {table.name}.csv has the name of each {kind} by its no."
    return text if any(undrawn(row[name]) for row in rows) else ""


def draw_shares(table: Table, out: Path) -> None:
    """Draw a panel of bars for each ``of``, the most frequent values above, all panels on one scale from 0."""
    found = [(kind, rows, rows[:BARS]) for kind, rows in parts(lines(table), "of")]
    top = 1.25 * max((row["share"] for *_, shown in found for row in shown), default=1)
    with panels_in_grid(table, out, len(found), 1, 2.9) as axes:
        for axis, (kind, rows, shown) in zip(axes, found, strict=True):
            axis.barh(range(len(shown)), [row["share"] for row in shown], color=COLOURS[0])
            axis.set_yticks(range(len(shown)), [_label(row, "group", 44) for row in shown], fontsize=SMALL)
            for place, row in enumerate(shown):
                text = f" {100 * row['share']:.1f} % ({row['images']})"
                axis.text(row["share"], place, text, va="center", fontsize=SMALL)
            axis.set_ylim(max(len(shown), 6) - 0.5, -0.5)
            more = f", the {BARS} most frequent of {len(rows)}" if len(rows) > BARS else ""
            axis.set_title(f"images by {kind}{more}", fontsize=9)
            axis.set_xlim(0, top)
            axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
            axis.set_xlabel(f"share of the images\n{_key(table, shown, 'group', kind)}".rstrip(), fontsize=SMALL)


def draw_tree(table: Table, out: Path) -> None:
    """Draw the most frequent conditions around their subspecialties, which are numbered around the centre."""
    rows = sorted(lines(table)[:LEAVES], key=lambda row: row["subspecialty"])
    with sheet(table, out, 7.8, subplot_kw={"projection": "polar"}) as axes:
        axis: Any = axes[0, 0]
        for number, (name, own) in enumerate(parts(rows, "subspecialty"), 1):
            angles = [2 * math.pi * (rows.index(row) + 0.5) / len(rows) for row in own]
            middle, colour = sum(angles) / len(angles), COLOURS[(number - 1) % 7]
            axis.plot([0, middle], [0, 0.5], color=colour, lw=1.6, label=f"{number} {name}")
            for angle, row in zip(angles, own, strict=True):
                axis.plot(np.linspace(middle, angle, 64), np.linspace(0.5, 1, 64), color=colour, lw=0.9)
                turned = math.degrees(angle)
                side, text = 90 < turned < 270, f"{_label(row, 'condition', 30)} ({row['images']})"
                outside = {"rotation": turned + 180 * side, "ha": "right" if side else "left", "va": "center"}
                axis.text(angle, 1.03, text, fontsize=SMALL, rotation_mode="anchor", **outside)
            around = {"boxstyle": "circle", "facecolor": "white", "edgecolor": colour, "pad": 0.25}
            axis.text(middle, 0.5, number, fontsize=SMALL, ha="center", va="center", bbox=around, zorder=4)
        axis.set_rmax(1.8)
        axis.set_axis_off()
        below: Any = {"title": _key(table, rows, "condition", "condition") or None, "title_fontsize": SMALL}
        axis.figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL, **below)
