"""Tables as data, and as text: cells are numbers, and a column's format decides digits and alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lmod_train.core.escaping import for_markdown
from lmod_train.core.types import Score

MISSING = "-"
"""Text of a missing value."""


Format = Literal[
    "text", "count", "number", "signed", "percent", "interval", "signed_interval", "statistic", "p", "estimate"
]
"""How the cells of a column are written: numbers and intervals with three decimals, with a sign if ``signed``; shares
in percent; test statistics with two decimals."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value in one cell with its 95 % interval and number of items, each None if there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @classmethod
    def of(cls, score: Score | None) -> Estimate:
        """Return the estimate of a score; empty without one."""
        return cls(score.value, score.low, score.high, score.n) if score else cls(None)


Cell = str | int | float | None | tuple[float | None, float | None] | Estimate
"""A pair is an interval (low, high); None is a missing value. A string is written as it is."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, and the format of its cells."""

    head: str
    format: Format = "text"


Heads = Sequence[str | Column]
"""Columns of a table; one given by its head alone is text."""


N, SCORE, INTERVAL = Column("n", "count"), Column("score", "number"), Column("95 % interval", "interval")
"""Columns of many tables."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: Name of its files, unique in a report.
        columns: The columns.
        rows: Cells, one per column.
        title: Heading above the table; empty for none.
        note: Text needed to interpret the numbers.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        """Check that every row has a cell for each column."""
        wrong = [row for row in self.rows if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(f"table {self.name}: {len(wrong[0])} cells for {len(self.columns)} columns: {wrong[0]}")


def table(name: str, columns: Heads, rows: Sequence[Sequence[Cell]], title: str = "", note: str = "") -> Table:
    """Return a table; a column given by its head alone is text.

    Example:
        >>> table("ages", ["eye", Column("age", "count")], [["left", 40]]).rows
        (('left', 40),)
    """
    heads = tuple(c if isinstance(c, Column) else Column(c) for c in columns)
    return Table(name, heads, tuple(tuple(row) for row in rows), title, note)


def score_cells(score: Score | None) -> list[Cell]:
    """Return the cells n, value and interval of a score; dashes if it has no value."""
    if score is None or score.value is None:
        return [None, None, MISSING]
    return [score.n, score.value, (score.low, score.high)]


def markdown(table: Table) -> str:
    r"""Return a table as aligned Markdown, numbers right-aligned; of no rows the head alone.

    Example:
        >>> print(markdown(table("t", ["a", Column("b", "count")], [["x|y", 1]])))
        | a    |  b |
        | ---- | -: |
        | x\|y |  1 |
    """
    right = [column.format in RIGHT for column in table.columns]
    return _grid([column.head for column in table.columns], [_line(table, i) for i in range(len(table.rows))], right)


def _line(table: Table, row: int) -> list[str]:
    return [cell_text(c, column.format) for c, column in zip(table.rows[row], table.columns, strict=True)]


def _grid(heads: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    cells = [[for_markdown(" ".join(text.split())) for text in line] for line in (heads, *lines)]
    widths = [max(2, *(len(line[i]) for line in cells)) for i in range(len(heads))]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]

    def join(line: Sequence[str]) -> str:
        aligned = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)]
        return "| " + " | ".join(aligned) + " |"

    return "\n".join([join(cells[0]), join(rule), *map(join, cells[1:])])


RIGHT: frozenset[Format] = frozenset({"count", "number", "signed", "percent", "statistic", "p"})
"""Formats whose columns are right-aligned."""


def cell_text(cell: Cell, format: Format = "text") -> str:
    """Return a cell as text; a dash for a missing value, ``none`` for a missing interval.

    Example:
        >>> cell_text(0.5, "number"), cell_text((0.25, 0.75), "interval"), cell_text(None, "percent")
        ('0.500', '0.250-0.750', '-')
        >>> cell_text(Estimate(0.5, 0.25, 0.75, n=40), "estimate")
        '0.500 (0.250-0.750), n 40'
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Estimate):
        return _estimate(cell)
    if isinstance(cell, tuple) or format in ("interval", "signed_interval"):
        return _interval(cell if isinstance(cell, tuple) else (None, None), format == "signed_interval")
    return MISSING if cell is None else _number(cell, format)


def _number(value: float, format: Format) -> str:
    if format == "p":
        return p_value(value)
    if format == "percent":
        return f"{100 * value:.1f} %"
    digits = {"number": ".3f", "signed": "+.3f", "statistic": ".2f"}.get(format, "")
    return f"{value:{digits}}"


def _interval(ends: tuple[float | None, float | None], signed: bool) -> str:
    low, high = ends
    if low is None or high is None:
        return "none"
    return f"{low:+.3f} to {high:+.3f}" if signed else f"{low:.3f}-{high:.3f}"


def _estimate(cell: Estimate) -> str:
    if cell.value is None:
        return MISSING
    between = f" ({_interval((cell.low, cell.high), signed=False)})" if cell.low is not None else ""
    return f"{cell.value:.3f}{between}{'' if cell.n is None else f', n {cell.n}'}"


def p_value(p: float | None) -> str:
    """Return a p value in the notation of papers.

    Example:
        >>> p_value(0.04), p_value(1e-9), p_value(None)
        ('0.040', '< 0.001', '-')
    """
    return MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
