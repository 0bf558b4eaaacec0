"""Printed results of the papers: one value per cell of a table, as printed."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

PAPERS = ("lmod_naacl", "lmod_v1", "lmod_plus", "xpcr", "ophthalwechat", "ophthalwechat_journal")
"""Papers with a CSV file in this folder; their names are in `lmod_train.core.artifacts.model_facts.PAPERS`."""

NO_MODEL = ("", "Random", "Average", "next-best model (unnamed)", "23 MLLMs pooled")
"""Rows of the tables that are no model's."""


@dataclass(frozen=True, slots=True)
class Printed:
    """One cell of a table, or one number of the running text: a row of a paper's CSV file.

    Attributes:
        paper: A name of `PAPERS`.
        table: Table, or ``text`` with the place.
        model: Row of the table, as printed.
        task: Task in the paper; that of a rejection rate or a supervised baseline is in `dataset_or_subset`.
        dataset_or_subset: What the number is over.
        modality: Imaging modality, ``all``, ``macro_avg`` or empty.
        stage_or_class: Stage or class, ``overall`` or empty.
        metric: Metric.
        value: As printed, with trailing zeros; empty if no number is printed.
        unit: ``fraction``, ``percent``, ``p_value`` or ``count``.
        note: Remarks; after ``SUSPECT:``, which other printed number the cell contradicts.
    """

    paper: str
    table: str
    model: str = ""
    task: str = ""
    dataset_or_subset: str = ""
    modality: str = ""
    stage_or_class: str = ""
    metric: str = ""
    value: str = ""
    unit: str = "fraction"
    note: str = ""

    @property
    def number(self) -> float | None:
        """The value, percent as a fraction; None if no number or only a bound is printed."""
        if not self.value or self.value.startswith("<"):
            return None
        return float(Decimal(self.value) / self.scale)

    @property
    def scale(self) -> int:
        """100 if the unit is percent, otherwise 1."""
        return 100 if self.unit == "percent" else 1

    @property
    def decimals(self) -> int:
        """Number of printed decimals, in the printed unit.

        Example:
            >>> Printed("lmod_v1", "Table 3", value="12.50").decimals
            2
        """
        return len(self.value.partition(".")[2])

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit, as a fraction."""
        return 0.5 * 10.0**-self.decimals / self.scale

    def as_printed(self, value: float) -> str:
        """Return another value, a fraction, in the unit and with the decimals of this cell.

        Example:
            >>> Printed("lmod_v1", "Table 3", value="12.50", unit="percent").as_printed(0.5409)
            '54.09'
        """
        return f"{value * self.scale:.{self.decimals}f}"

    def equals(self, value: float) -> bool:
        """Return whether a value, a fraction, is this number in the printed digits, rounded or cut off.

        LMOD cuts off: 14 of 71 is printed as 19.71, and 16 of 71 as 22.53.

        Example:
            >>> cell = Printed("lmod_naacl", "Table 2", value="19.71", unit="percent")
            >>> cell.equals(14 / 71), cell.equals(15 / 76)
            (True, False)
        """
        cut = math.floor(value * self.scale * 10**self.decimals + 1e-6) / 10**self.decimals
        return self.value in (self.as_printed(value), f"{cut:.{self.decimals}f}")

    @property
    def suspicion(self) -> str:
        """Which other printed number the cell contradicts; empty if none is known."""
        return self.note.partition("SUSPECT:")[2].strip()


@cache
def printed(paper: str) -> tuple[Printed, ...]:
    """Return all printed results of a paper, in the order of its tables.

    Example:
        >>> printed("lmod_naacl")[4].value
        '50.00'
    """
    return tuple(Printed(**row) for row in read_table(paper))


@cache
def read_table(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a CSV file of this folder."""
    with Path(__file__).with_name(f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def find(paper: str, table: str, **fields: str) -> Iterator[Printed]:
    """Yield the cells of a table whose fields have the given values.

    Example:
        >>> [cell.value for cell in find("lmod_plus", "Table 3", model="GPT-4o", metric="hr")]
        ['0.9439']
    """
    for cell in printed(paper):
        if cell.table == table and all(getattr(cell, name) == value for name, value in fields.items()):
            yield cell
