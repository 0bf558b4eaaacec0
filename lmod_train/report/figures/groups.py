"""Columns of scores by group, as drawn by radar charts, bars and heat maps."""

from __future__ import annotations

from collections.abc import Sequence

from lmod_train.report.contents import INTERVAL, SCORE, Cell, Column, Figure, Heads, N, Table, table
from lmod_train.report.figures.bars import draw_bars
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.lines import distinct, lines, parts
from lmod_train.report.figures.radar import draw_radar
from lmod_train.report.figures.sheet import MOST

COLUMNS: Heads = ["panel", "model", "group", N, SCORE, INTERVAL, Column("chance", "number")]
"""Columns of the tables of these figures."""
_MANY = f" (a heat map, as lines and bars of more than {MOST} models could not be told apart)"


def group_figure(name: str, title: str, alt: str, rows: Sequence[Sequence[Cell]], round: bool) -> Figure:
    """Return the figure of scores by group: radar charts or bars of up to six models, otherwise a heat map.

    Args:
        name: Name of the figure.
        title: What is drawn.
        alt: Description of the figure.
        rows: Cells as `COLUMNS`.
        round: Whether to draw radar charts instead of bars.
    """
    found = table(name, COLUMNS, rows, title)
    many = len(distinct(lines(found), "model")) > MOST
    draw = draw_heat if many else draw_radar if round else draw_bars
    return Figure(name, title, alt + _MANY if many else alt, _with_chance(found) if many else found, draw)


def _with_chance(found: Table) -> Table:
    """Return the table with the chance level of each group as a model, if it is known."""
    chance = {
        (panel, row["group"]): row["chance"]
        for panel, own in parts(lines(found), "panel")
        for row in own
        if row["chance"] is not None
    }
    rows = [*found.rows, *([panel, "chance", group, None, v, None, None] for (panel, group), v in chance.items())]
    return table(found.name, found.columns, rows, found.title)
