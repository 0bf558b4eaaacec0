"""Score against the size of the model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from lmod_train.core.artifacts.model_facts import ModelFacts, known_models
from lmod_train.core.tables import SCORE, Cell, Column, Heads, Table, table
from lmod_train.report.canvas import COLOURS, LINES, MARKERS
from lmod_train.report.contents import Figure, Part
from lmod_train.report.figures.grid import panels_in_grid
from lmod_train.report.figures.lines import Line, distinct, lines, number, parts
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.headline import headline_metric

ALT = "Score of each model against its number of parameters, with a line per family. Models of unknown size are listed."


class Sizes(Section):
    """Score of each model against its number of parameters, as stated in the shipped configs."""

    title: ClassVar[str] = "Size against score"
    name: ClassVar[str] = "sizes"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the figure; nothing if fewer than two models have a known size."""
        rows = [row for task in results.tasks for row in _rows(results, task)]
        if len({row[2] for row in rows if row[3] is not None}) > 1:
            yield Figure("sizes", "Size against score", ALT, table("sizes", COLUMNS, rows), draw_size)


def _rows(results: Results, task: str) -> Iterator[list[Cell]]:
    for name, run in results.named(task):
        metric = headline_metric(run.scores, task)
        score, facts = run.find(task, metric), _facts().get(_key(run.model))
        size = facts.parameters if facts else None
        yield [f"{task} ({metric})", family(facts.name) if facts else "", name, size, score.value if score else None]


def family(config: str) -> str:
    """Return the name of a config without the size and what follows it.

    Example:
        >>> family("qwen2_5_vl_7b"), family("internvl_2_5_8b_mpo"), family("gpt_4o")
        ('qwen2_5_vl', 'internvl_2_5', 'gpt_4o')
    """
    return re.sub(r"_\d+b(_.*)?$", "", config)


@cache
def _facts() -> dict[str, ModelFacts]:
    """Return name of a config, checkpoint or service -> facts."""
    return {_key(name): facts for facts in known_models() for name in (facts.name, facts.hub)}


def _key(name: str) -> str:
    """Return a name in lower case without folders, separators and the ending of converted checkpoints."""
    return re.sub(r"[^a-z0-9]", "", name.rstrip("/").rpartition("/")[2].lower().removesuffix("-hf"))


# Score against the size of the model, with a line through each family.
COLUMNS: Heads = ["panel", "family", "model", Column("billion parameters", "number"), SCORE]
"""Columns of the table. A model of unknown size is listed below the figure."""


def draw_size(table: Table, out: Path) -> None:
    """Draw a panel for each ``panel``: a point per model, joined within its family, over a logarithmic axis.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
    """
    rows = lines(table)
    known = [row for row in rows if row["billion parameters"] is not None]
    unknown = distinct([row for row in rows if row["billion parameters"] is None], "model")
    panels, families = list(parts(known, "panel")), distinct(known, "family")
    listed = wrapped(f"Size unknown: {', '.join(unknown)}", 110, 12) if unknown else ""
    foot = 0.5 + 0.17 * -(-len(families) // 3) + 0.16 * (listed.count("\n") + 1)
    with panels_in_grid(table, out, len(panels), 2, 2.8, foot, listed, sharey=True) as axes:
        for axis, (name, own) in zip(axes, panels, strict=True):
            _panel(axis, own, families)
            axis.set_title(wrapped(name, 40), fontsize=9)


def _panel(axis: Any, own: Sequence[Line], families: Sequence[str]) -> None:
    for family, rows in parts(own, "family"):
        place = families.index(family)
        ordered = sorted(rows, key=lambda row: row["billion parameters"])
        style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place // 2 % len(MARKERS)], "ms": 5}
        points = [row["billion parameters"] for row in ordered], [number(row["score"]) for row in ordered]
        axis.plot(*points, label=wrapped(family, 30, 1), ls=LINES[place % len(LINES)], lw=1.3, **style)
    axis.set_xscale("log")
    sizes = sorted(row["billion parameters"] for row in own)
    ticks = [t for t in (0.1, 0.3, 1, 3, 10, 30, 100, 300) if sizes[0] / 3 <= t <= sizes[-1] * 3]
    axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axis.minorticks_off()
    axis.set(xlabel="billion parameters", ylabel="score", ylim=(0, 1.02))
    axis.set_xlim(sizes[0] / math.sqrt(3), sizes[-1] * math.sqrt(3))
    axis.grid(color="#e5e5e5", zorder=0)
