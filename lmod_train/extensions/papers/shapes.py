"""Tables of the papers in their own shape: rows, columns, and which printed cells stand in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from lmod_train.core.package_data import package_data
from lmod_train.extensions.papers.printed import Printed, printed

Line = tuple[str, str]
"""A line of a model: its head, and the metric of its cells; both empty if a model has one line."""


@dataclass(frozen=True, slots=True)
class Place:
    """A column of a table.

    Attributes:
        head: Its head.
        cell: The fields that its cells have in common; empty fields differ between rows.
    """

    head: str
    cell: Printed


@dataclass(frozen=True, slots=True)
class Shape:
    """A table of a paper.

    Attributes:
        name: Name of the table in a report.
        title: Title, with the paper and the number.
        places: Its columns.
        lines: Lines of each model.
        note: What is not printed, or needed to interpret the numbers.
        unit: Unit of columns without a printed number.
    """

    name: str
    title: str
    places: tuple[Place, ...]
    lines: tuple[Line, ...] = (("", ""),)
    note: str = ""
    unit: str = "fraction"

    def models(self) -> list[str]:
        """Return the rows of the table, in the printed order."""
        return list(dict.fromkeys(cell.model for place in self.places for cell in _cells(place.cell)))

    def at(self, place: Place, line: Line, model: str = "") -> Printed:
        """Return the printed cell of a row and column; one without a value if none is printed there.

        Args:
            place: The column.
            line: The line of the model.
            model: The row, as printed; empty for a row of a run, whose unit and digits are those of the column.
        """
        wanted = replace(place.cell, metric=line[1] or place.cell.metric, model=model)
        found = next(_cells(wanted), None)
        if found is None:
            return replace(wanted, unit=self.unit)
        return found if model else replace(wanted, unit=found.unit)


def _cells(wanted: Printed) -> Iterator[Printed]:
    fields = ("task", "dataset_or_subset", "modality", "stage_or_class", "metric")
    given = {name: getattr(wanted, name) for name in fields if getattr(wanted, name)}
    rows = _rows(wanted.paper, wanted.table)
    for cell in rows.get(wanted.model, ()) if wanted.model else (cell for row in rows.values() for cell in row):
        if all(getattr(cell, name) == value for name, value in given.items()):
            yield cell


@cache
def _rows(paper: str, table: str) -> dict[str, list[Printed]]:
    """Return the cells of a table by model, in the printed order."""
    found: dict[str, list[Printed]] = {}
    for cell in printed(paper):
        if cell.table == table:
            found.setdefault(cell.model, []).append(cell)
    return found


def _shapes() -> Iterator[Shape]:
    for name, given in package_data(__file__, "shapes.yaml").items():
        paper, table = given["paper"], given["table"]
        places = tuple(Place(head, Printed(paper, table, **cell)) for head, cell in given["columns"].items())
        lines = tuple(given.get("lines", {"": ""}).items())
        yield Shape(name, given["title"], places, lines, given.get("note", ""), given.get("unit", "fraction"))


SHAPES: dict[str, Shape] = {shape.name: shape for shape in _shapes()}
"""Name -> table."""
