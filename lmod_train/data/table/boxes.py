"""Boxes of structures in a table: columns of corners, or of a corner with width and height, in pixels of the image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lmod_train.core.types import Outline
from lmod_train.core.vocabulary.structures import STRUCTURES, TYPE_SLOT
from lmod_train.core.vocabulary.table_words import BOXED, HEADERS, plain
from lmod_train.data.curation.boxes import box_of
from lmod_train.data.sources.grid import Grid
from lmod_train.data.table.looks import pieces_of
from lmod_train.data.table.meanings import Column, option_of
from lmod_train.data.table.values import is_missing, number_of, values_of

CORNERS = (("xmin", "ymin", "xmax", "ymax"), ("x1", "y1", "x2", "y2"), ("left", "top", "right", "bottom"))
SIZED = (("left", "top", "width", "height"), ("x", "y", "w", "h"))
"""Names of the four columns of a box, from its upper left corner; every other set of names is no box."""

Size = tuple[int, int]


@dataclass(frozen=True)
class Boxes:
    """Four columns that hold a box.

    Attributes:
        names: Of the columns, in the order of `CORNERS` or `SIZED`.
        sized: Whether the last two are width and height.
        structure: In the boxes; empty if another column of the row names it.
    """

    names: tuple[str, ...]
    sized: bool
    structure: str = ""

    def outline(self, row: Mapping[str, str], structure: str, size: Size | None) -> Outline | str:
        """Return the box of a row, or what is wrong with it.

        Args:
            row: Name of a column -> cell.
            structure: In the box; empty for none that is known.
            size: Width and height of the image; None if they are not known yet.
        """
        cells = [row[name] for name in self.names]
        stated = ", ".join(f"{name} {cell[:20]!r}" for name, cell in zip(self.names, cells, strict=True))
        numbers = [number for cell in cells if (number := number_of(cell)) is not None]
        if len(numbers) < len(cells):
            return f"{stated}: expected four numbers"
        x, y, x1, y1 = numbers
        if self.sized:
            x1, y1 = x + x1, y + y1
        if x1 <= x or y1 <= y:
            expected = (
                "a width and height above 0" if self.sized else "the upper left corner before the lower right one"
            )
            return f"{stated}: expected {expected}"
        if max(x1, y1) <= 1:
            return f"{stated}: expected pixels, not shares of the sides"
        outline = Outline(structure, ((x, y), (x1, y1)))
        problem = box_of(outline, size) if size else ""
        if isinstance(problem, str) and problem:
            return f"{stated}: {problem}"
        return outline if structure else f"{stated}: its structure is not known"


def boxes_in(columns: Sequence[Column]) -> list[Boxes]:
    """Return the boxes whose columns are understood as such."""
    return _named_boxes([c.name for c in columns if c.meaning == "region"])


def structures_in(columns: Sequence[Column]) -> list[str]:
    """Return the structures that a table has boxes of, in the order of the vocabulary."""
    boxes = boxes_in(columns)
    words = {word for c in columns if c.meaning == "structure" and boxes for word in c.words.values()}
    found = words | {one.structure for one in boxes}
    return [term.name for term in STRUCTURES if term.name in found]


def with_boxes(grid: Grid, columns: Sequence[Column]) -> list[Column]:
    """Return the columns with those of boxes and their structure understood.

    A box whose structure neither its name nor a column states is not used.
    """
    free = [c for c in columns if c.meaning not in ("image", "patient") and (not c.stated or c.meaning == "region")]
    sides = [c for c in free if any(_read(c.name))]
    named = _named_boxes([c.name for c in sides if values_of(grid.column(c.name)).share(_numbers(grid, c)) >= 0.5])
    inside = {name for one in named for name in one.names}
    structure = _structure(grid, [c for c in columns if c.name not in inside]) if named else None
    used = [one for one in named if one.structure or structure is not None]
    changed = {name: "a side of a box" for one in used for name in one.names}
    found = [
        Column(c.name, "region", changed[c.name], stated=c.stated)
        if c.name in changed
        else replace(c, meaning="box", why="no box with a structure")
        if c.meaning == "region" or c.name in inside
        else c
        for c in columns
    ]
    if structure is None or all(one.structure for one in used):
        return found
    return [structure if c.name == structure.name else c for c in found]


def _numbers(grid: Grid, column: Column) -> dict[str, float]:
    cells = values_of(grid.column(column.name)).count
    return {cell: number for cell in cells if (number := number_of(cell)) is not None}


def _named_boxes(names: Sequence[str]) -> list[Boxes]:
    """Return the boxes that names of columns state: ``x1``, ``disc_x_min``, ``bbox left``; one for each beginning."""
    found: dict[str, dict[str, list[str]]] = {}
    for name in names:
        for prefix, side in _read(name):
            found.setdefault(prefix, {}).setdefault(side, []).append(name)
    boxes = []
    for prefix, sides in found.items():
        layout = next((one for one in (*CORNERS, *SIZED) if all(len(sides.get(side, ())) == 1 for side in one)), None)
        structure = "" if prefix in ("", *map(plain, HEADERS["box"])) else structure_of(prefix, tuple(found))
        if layout and structure is not None:
            boxes.append(Boxes(tuple(sides[side][0] for side in layout), layout in SIZED, structure))
    return boxes


def _read(name: str) -> Iterator[tuple[str, str]]:
    """Yield the beginning and the side of the name of a column."""
    pieces = [plain(piece) for piece in pieces_of(name)]
    for n in (1, 2):  # ``xmin`` and ``x min``
        side = "".join(pieces[-n:])
        if len(pieces) >= n and side in _SIDES:
            yield "".join(pieces[:-n]), side


_SIDES = frozenset(side for layout in (*CORNERS, *SIZED) for side in layout)


def _structure(grid: Grid, columns: Sequence[Column]) -> Column | None:
    """Return the column that names the structure of each row's box, with a doubt if several do; None for none."""
    stated = [c for c in columns if c.meaning == "structure"]
    read = [_as_structure(grid, c) for c in stated or columns if c.meaning not in ("image", "patient", "region")]
    found = [c for c in read if stated or values_of(grid.column(c.name)).share(c.words) >= 0.5]
    if not found:
        return None
    if len(found) > 1:
        named = ", ".join(c.name for c in found)
        doubt = f"which of {named} names the structure in the box"
        option = option_of("structure", found[0].name)
        return replace(found[0], meaning="ignore", doubt=doubt, options=(option,))
    return found[0]


def _as_structure(grid: Grid, column: Column) -> Column:
    cells = values_of(grid.column(column.name)).count
    words = {c: word for c in cells if (word := structure_of(column.words.get(c, c), tuple(cells)))}
    bad = {c: "no structure of the vocabulary" for c in cells if c not in words}
    return Column(column.name, "structure", "by its cells", words, bad=bad, stated=column.stated)


def structure_of(word: str, others: Sequence[str] = ()) -> str | None:
    """Return the structure that a word names.

    OD is the optic disc beside a box, but not where OS, the left eye, is one of the other words.

    Example:
        >>> structure_of("Disc"), structure_of("Papille"), structure_of("OD", ["OD", "OS"]), structure_of("glaucoma")
        ('optic disc', 'optic disc', None, None)
    """
    if plain(word) in ("od", "os") and "os" in map(plain, others):
        return None
    return _names().get(plain(word))


@lru_cache(maxsize=1)
def _names() -> Mapping[str, str]:
    found = {plain(word): name for name, words in TYPE_SLOT.items() for word in words}
    found |= {word: name for name, words in BOXED.items() for word in words}
    for term in STRUCTURES:
        for word in (term.name, *term.english, *term.chinese):
            found.setdefault(plain(word), term.name)
    return found


def is_filled(boxes: Boxes, row: Mapping[str, str]) -> bool:
    """Return whether a row states any side of a box."""
    return any(not is_missing(row[name]) for name in boxes.names)
