"""Where the images of a table are if its cells name none, and the boxes that its cells hold.

A likely folder is near the one that was named, near the table, or in the cells themselves; only these are looked into.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

from lmod_train.core.errors import LmodError, without_option
from lmod_train.core.types import Outline
from lmod_train.core.vocabulary.structures import STRUCTURES, TYPE_SLOT
from lmod_train.data.cells.image_names import DEVICES, ENDINGS, Folder, folder_of, is_embedded
from lmod_train.data.cells.values import is_missing, number_of, values_of
from lmod_train.data.cells.vocabulary import BOXED, HEADERS, plain
from lmod_train.data.curation.boxes import box_of
from lmod_train.data.sources.clutter import entries, is_folder
from lmod_train.data.sources.grid import Grid
from lmod_train.extensions.table.looks import has_endings, pieces_of
from lmod_train.extensions.table.meanings import Column, option_of

_MOST_FILES = 20_000
"""Files of a likely folder that are looked at."""

_MOST_CELLS = 500
"""Cells that are looked for in a likely folder."""


TABLES = frozenset(
    {".csv", ".tsv", ".txt", ".xlsx", ".xlsm", ".xls", ".ods", ".parquet", ".json", ".jsonl", ".yaml", ".yml"}
)
"""Endings of tables, and of plans."""


@dataclass(frozen=True)
class Search:
    """What was looked for below a folder, and found.

    Attributes:
        column: The column that most likely names images; empty if none is like that.
        cells: Its different cells.
        found: Number of them that name a file.
        folder: The images that there are.
        named: Whether the user named the folder.
    """

    column: str
    cells: tuple[str, ...]
    found: int
    folder: Folder
    named: bool


class NoImages(LmodError):
    """Hardly any cell of a table names an image of the folder."""

    def __init__(self, search: Search, header: Sequence[str], better: tuple[Path, int] | None) -> None:
        self._better = better
        self._has_files = bool(search.named and search.folder.files and not search.column)
        self._column = search.column if search.found * 2 >= len(search.cells) > 0 else ""
        where = f"below {search.folder.root}" if search.named else "(no `--images` was given)"
        told = f"no column is like that {where}; columns: {', '.join(header)}"
        if search.column:
            count = search.found or "none"
            told = f"{count} of {len(search.cells)} cells of the column {search.column} name an image {where}"
            told += f"; cells: {_quoted(search.cells)}"
        if search.named:
            names = [file.relative_to(search.folder.root).as_posix() for file in search.folder.files]
            told += f"; files: {_quoted(names)}" if names else "; that folder holds no image file"
        value = str(search.folder.root) if search.named else None
        super().__init__(f"--images={value!r}: expected a column that names an image, but {told}")

    def typed(self, arguments: Sequence[str]) -> str:
        """Return the message with the complete command that names the folder, or the column."""
        if self._column:
            words, hint = [*arguments, "--column", f"image={self._column}"], "if these are the images."
        elif self._better:
            words = [*without_option(arguments, "--images"), "--images", str(self._better[0])]
            hint = f"{self._better[1]} of them are there."
        elif self._has_files:
            return f"{self}\nNext: add a column with the name of each file, or name it: `--column image=NAME`"
        else:
            words = [*without_option(arguments, "--images"), "--images", "DIR"]
            hint = "with the folder of these files as DIR; `--column image=NAME` names another column."
        return f"{self}\nNext: run `{shlex.join(['python', '-m', 'lmod_train', *words])}`: {hint}"


def check_images(grid: Grid, columns: Sequence[Column], folder: Folder, named: bool) -> None:
    """Refuse a folder of which hardly any image is named by the table.

    It may hold few of the images of the table, or many more; not both the cells and the files may nearly all be without
    the other.

    Args:
        grid: The table.
        columns: What its columns mean.
        folder: The images.
        named: Whether the user named the folder.

    Raises:
        NoImages: No column names an image.
    """
    images = [c for c in columns if c.meaning == "image"]
    held = any(c.name == grid.images or is_embedded(grid.column(c.name)) for c in images)
    asked = any(option.startswith(option_of("image", "")) for c in columns for option in c.options)
    if held or asked:
        return
    files = [folder.find(cell, numbers=c.stated)[0] for c in images for cell in values_of(grid.column(c.name)).count]
    used = {file for several in files for file in several}
    if images and (sum(map(bool, files)) * 10 >= len(files) or len(used) * 2 >= len(folder.files) > 0):
        return
    likeness, likely = max(((_likeness(grid, c, folder), c) for c in images or columns), key=lambda pair: pair[0])
    cells = tuple(values_of(grid.column(likely.name)).count) if any(likeness) else ()
    search = Search(likely.name if cells else "", cells, likeness[0], folder, named)
    raise NoImages(search, grid.header, _better(cells, _near(folder.root, grid.path)))


def _likeness(grid: Grid, column: Column, folder: Folder) -> tuple[int, bool, bool]:
    """Return how much a column is like one of images: cells that name a file, endings of files, and its name."""
    if column.meaning in ("name", "birth", "notes"):  # their cells are not shown
        return 0, False, False
    values = values_of(grid.column(column.name))
    found = sum(bool(folder.find(cell, numbers=column.stated)[0]) for cell in values.count)
    named = column.meaning == "image" or plain(column.name) in HEADERS["image"]
    return found, bool(values.rows) and has_endings(values), named


def _near(root: Path, table: Path) -> list[Path]:
    """Return the folders to look into: the named one, the one above it, that of the table, and the working folder."""
    return list(dict.fromkeys(map(Path, (root, root.absolute().parent, table.parent, Path()))))


def _better(cells: Sequence[str], near: Iterable[Path]) -> tuple[Path, int] | None:
    """Return the folder of the files that most cells name, and how many do; None if less than half do."""
    wanted = cells[:_MOST_CELLS]
    best: list[Path] = []
    for base in near:
        for there in _folders(base):
            found = (_beside(there.root, cell) or next(iter(there.find(cell)[0]), None) for cell in wanted)
            best = max(best, [file for file in found if file], key=len)
    if not best or len(best) * 2 < len(wanted):
        return None
    folder, here = Path(os.path.commonpath([file.parent.absolute() for file in best])), Path.cwd()
    return (folder.relative_to(here) if folder.is_relative_to(here) else folder), len(best)


def _beside(base: Path, cell: str) -> Path | None:
    """Return the file of a path that is absolute, or relative to a folder."""
    with suppress(OSError, ValueError):
        file = base / cell.replace("\\", "/")
        return file if file.suffix.casefold() in ENDINGS and file.is_file() else None
    return None


def _folders(base: Path) -> Iterator[Folder]:
    """Yield the images of a folder and those directly in it together, and of each of the latter alone."""
    with suppress(OSError):
        inside = list(islice(entries(base), _MOST_FILES))
        files = {base: [p for p in inside if not is_folder(p)]}
        for sub in inside:
            if is_folder(sub) and not sub.is_symlink() and sum(map(len, files.values())) < _MOST_FILES:
                files[sub] = [p for p in entries(sub) if not is_folder(p)]
        yield folder_of(base, chain.from_iterable(files.values()))
        yield from (folder_of(sub, own) for sub, own in files.items() if sub != base)


def _quoted(names: Sequence[str]) -> str:
    """Return two names as they stand, and the end of a long one."""
    lines = [repr(name if len(name) <= _LONGEST else f"...{name[-_LONGEST:]}") for name in names[:2]]
    return " and ".join(lines) + (", ..." if len(names) > 2 else "")


_LONGEST = 120
"""Characters of a name in an error."""


def device_files(grid: Grid, columns: Sequence[Column], folder: Folder) -> list[Path]:
    """Return the device files that the cells of a table name."""
    if not any(file.suffix.casefold() in DEVICES for file in folder.files):
        return []
    named = ((c, cell) for c in columns if c.meaning == "image" for cell in set(grid.column(c.name)))
    found = (folder.find(cell, numbers=column.stated)[0] for column, cell in named)
    return sorted({files[0] for files in found if len(files) == 1 and files[0].suffix.casefold() in DEVICES})


def meant(option: str, missing: Path, endings: frozenset[str] | None, otherwise: str) -> str:
    """Return the cure for a path that does not exist: the closest name beside it, or what there is.

    Args:
        option: Option that takes the path.
        missing: The path.
        endings: Of the files that it may be, in lower case; None for folders.
        otherwise: Cure if there is none.
    """
    with suppress(OSError):
        fits = [
            p.name
            for p in sorted(missing.parent.iterdir())
            if (p.is_dir() if endings is None else p.is_file() and p.suffix.casefold() in endings)
        ]
        near = get_close_matches(missing.name.casefold(), [name.casefold() for name in fits], n=1)
        for name in fits:
            if near == [name.casefold()]:
                return f"did you mean `{option} {shlex.quote(str(missing.parent / name))}`?"
        if fits:
            return f"{missing.parent} holds {', '.join(fits[:6])}{', ...' if len(fits) > 6 else ''}"
    return otherwise


# Boxes of structures in a table: columns of corners, or of a corner with width and height, in pixels of the image.
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
    values = values_of(grid.column(column.name))
    cells = tuple(values.count)
    words, bad = values.read(lambda c: structure_of(column.words.get(c, c), cells), "no structure of the vocabulary")
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
