"""Tables with one row a finding, turned into one row an image."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

from lmod_train.core.errors import BadArgument
from lmod_train.data.cells.values import is_missing
from lmod_train.data.sources.grid import Apart, Grid, Row


def turned(grid: Grid, image: str, used: Collection[str], long: str) -> Grid:
    """Return a table with one row an image, and a column for each finding.

    Of a finding that rows of an image, e.g. of two readers, state differently, no value counts; of other columns the
    first. What is left out is in `Grid.apart`.

    Args:
        grid: With one row a finding.
        image: Its column of images; empty without one.
        used: Columns of which differences between the rows of an image are a loss.
        long: Columns of names of findings and of their values: ``FINDING=VALUE``.

    Raises:
        BadArgument: There are no such columns, or no column of images.
    """
    named = ((a, b) for a in grid.header for b in grid.header if long == f"{a}={b}")
    finding, value = next(named, ("", ""))
    if not finding or not image or grid.images:
        expected = f"FINDING=VALUE, two columns of the table ({', '.join(grid.header)}), beside one of images"
        raise BadArgument("--long", long, expected, "`--long finding=value`, with their names")
    at = {name: n for n, name in enumerate(grid.header)}
    kept = [name for name in grid.header if name not in (finding, value)]
    titles = {
        name: f"{value} {name}" if name in kept else name
        for name in dict.fromkeys(grid.column(finding))
        if not is_missing(name)
    }
    apart = list[Apart]()
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in grid.rows:
        groups[row.cells[at[image]] or f"line {row.line}"].append(row)
        if is_missing(row.cells[at[finding]]):
            apart.append(Apart(row.line, value, row.cells[at[value]], f"has no name in {finding}"))
    rows = []
    for same in groups.values():
        first, stated = dict[str, str](), defaultdict[str, dict[str, list[int]]](dict)
        for row in same:
            for name in kept:
                cell = row.cells[at[name]]
                if first.setdefault(name, cell) != cell and name in used:
                    apart.append(Apart(row.line, name, cell, f"is beside {first[name]!r} of the same image"))
            if (name := row.cells[at[finding]]) in titles:
                stated[titles[name]].setdefault(row.cells[at[value]], []).append(row.line)
        for name, every in stated.items():  # a word for a missing value contradicts none, and stays where it is alone
            cells = {cell: lines for cell, lines in every.items() if not is_missing(cell)} or dict([*every.items()][:1])
            first[name] = next(iter(cells)) if len(cells) == 1 else ""
            for cell, lines in cells.items() if len(cells) > 1 else ():
                others = f"is beside {', '.join(repr(other) for other in cells if other != cell)} of the same image"
                apart += [Apart(line, name, cell, f"{others}, so neither is used") for line in lines]
        rows.append(Row(same[0].line, tuple(first.get(name, "") for name in (*kept, *titles.values()))))
    note = f"{len(grid.rows)} rows are turned into {len(rows)}, one an image, by {finding} and {value}"
    header = (*kept, *titles.values())
    return replace(grid, header=header, rows=tuple(rows), apart=tuple(apart), notes=(*grid.notes, note))
