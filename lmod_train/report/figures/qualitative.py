"""Examples: a row for each question with its image and boxes, the truth, and what each model replied."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lmod_train.core.escaping import for_terminal
from lmod_train.core.tables import Heads, Table
from lmod_train.core.types import Record
from lmod_train.report.canvas import fonts
from lmod_train.report.figures.lines import Line, lines, parts
from lmod_train.report.figures.sheet import SMALL, WIDTH, sheet
from lmod_train.report.figures.stacked import SHADES
from lmod_train.report.thumbnails import picture_of

COLUMNS: Heads = ["task", "record", "image", "boxes", "truth", "model", "outcome", "reply"]
"""Columns of the table: a row for each record and model. `image` is a path within the curated folder, empty if the
question shows none; `boxes` are those of `boxes_of`; a row without `model` has no reply."""
MODELS = 4
"""Maximum number of models in one figure."""
NOT_ASKED = "not asked"
"""Outcome of a record that a model was not asked."""
MARKS = {"right": ("✓", "#0072B2"), "partly right": ("◐", "#9A6200"), NOT_ASKED: ("–", "#555555")}
"""Outcome -> mark and colour; others, answered wrongly or not at all, have a cross."""
CROSS = ("✗", "#B34700")
_IMAGE, _STEP, _INDENT = 1.8, 10.0, 9.0
"""Width of the images in inches; distance of lines and indent of replies in points."""
_TEXT = WIDTH - _IMAGE - 0.5
"""Width of the text in inches."""
_SIDE = 480
"""Longest side of a drawn image in pixels."""
_BOLD = 0.85
"""Characters of the bold font are wider than those that are measured."""

_Passage = tuple[str, dict[str, Any]]
_Picture = tuple[Any, int, int]


def boxes_of(record: Record) -> str:
    """Return id and corners of each region in pixels of the curated image, as JSON."""
    corners = [(r.id, (r.box.x0, r.box.y0, r.box.x1, r.box.y1)) for r in record.regions]
    return json.dumps([[id, *(round(side * record.scale, 1) for side in box)] for id, box in corners])


def draw_qualitative(table: Table, out: Path, curated: Path | None = None) -> None:
    """Draw a row for each ``record``: its image with numbered boxes, the truth, and the reply of each ``model``.

    Replies are cut to a few lines. Where an image cannot be read, there is a grey box.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
        curated: Folder of the images; None if unknown.
    """
    examples = [(rows[0], list(_passages(rows))) for _, rows in parts(lines(table), "record")]
    pictures = [_opened(row["image"], curated) for row, _ in examples]
    title = fitted(table.title, WIDTH - 0.4, 3, inches(9)) if table.title else []
    tall = [_IMAGE * (height / max(width, height)) for _, width, height in pictures]
    heights = [max(own, _STEP / 72 * len(text)) + 0.15 for own, (_, text) in zip(tall, examples, strict=True)] or [1.0]
    sizes: Any = {"width_ratios": [_IMAGE, WIDTH - _IMAGE], "height_ratios": heights}
    named, height = replace(table, title="\n".join(title)), sum(heights) + 0.2 * len(title) + 0.1 * len(heights)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # boxes are drawn, and the section has a remark
        with sheet(named, out, height, len(heights), 2, gridspec_kw=sizes) as axes:
            for axis in axes.flat:
                axis.set(xticks=[], yticks=[])
                axis.spines[:].set_visible(False)
            for (left, right), picture, (row, text) in zip(axes, pictures, examples, strict=False):
                _picture(left, row, picture)
                _write(right, text)


def _passages(rows: Sequence[Line]) -> Iterator[_Passage]:
    """Yield the lines of text of an example with their style."""
    first, most = rows[0], max(2, 6 // len(rows))
    yield from _fitted(f"{first['task']}: {first['record']}", 2, weight="bold")
    yield from _fitted(f"truth: {first['truth']}", 5)
    for row in (row for row in rows if row["model"]):
        mark, colour = MARKS.get(row["outcome"], CROSS)
        yield from _fitted(f"{mark} {row['model']}: {row['outcome']}", 2, weight="bold", color=colour)
        yield from _fitted(row["reply"], most, indent=_INDENT) if row["reply"] else ()


def _fitted(text: str, most: int, indent: float = 0.0, **style: Any) -> Iterator[_Passage]:
    width = _TEXT * (_BOLD if style.get("weight") == "bold" else 1.0) - indent / 72
    for line in fitted(text, width, most, inches(SMALL)):
        yield line, {"indent": indent, **style}


def _write(axis: Any, passages: Sequence[_Passage]) -> None:
    for number, (line, style) in enumerate(passages):
        place = (style.pop("indent"), -_STEP * number)
        at: Any = {"xytext": place, "xycoords": "axes fraction", "textcoords": "offset points"}
        axis.annotate(line, (0, 1), va="top", fontsize=SMALL, in_layout=False, **at, **style)


def _opened(image: str, curated: Path | None) -> _Picture:
    """Return a small copy of an image with the width and height of the image; None and 4 x 3 if there is none."""
    picture = picture_of(curated, image) if curated and image else None
    if picture is None:
        return None, 4, 3
    size = picture.size
    picture.thumbnail((_SIDE, _SIDE))
    return picture, *size


def _picture(axis: Any, row: Line, picture: _Picture) -> None:
    """Draw the image with its boxes, or why there is none."""
    small, width, height = picture
    axis.set_anchor("N")
    if small is None:
        _missing(axis, "image not found" if row["image"] else "asked without image")
        return
    axis.imshow(small, extent=(0, width, height, 0))
    _boxes(axis, json.loads(row["boxes"]), max(width, height) / _IMAGE * 0.14, width)


def _missing(axis: Any, why: str) -> None:
    axis.set(xlim=(0, 4), ylim=(0, 3), aspect="equal")
    axis.add_patch(_rectangle(0, 0, 4, 3, color="#CCCCCC"))
    axis.text(2, 1.5, why, ha="center", va="center", fontsize=SMALL)


def _boxes(axis: Any, boxes: Sequence[Sequence[float]], side: float, width: float) -> None:
    """Draw frames with their ids, each in a free place above its upper left corner."""
    taken: list[tuple[float, float]] = []
    for number, x0, y0, x1, y1 in boxes:
        colour = SHADES[int(number - 1) % len(SHADES)]
        for edge, thick in (("white", 2.2), (colour, 1.1)):
            axis.add_patch(_rectangle(x0, y0, x1 - x0, y1 - y0, fill=False, edgecolor=edge, lw=thick))
        x, y = _free(x0 + side / 2, max(y0 - side / 2, side / 2), side, width, taken)
        taken.append((x, y))
        box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": colour, "lw": 0.6}
        axis.text(x, y, f"{number:g}", ha="center", va="center", fontsize=SMALL, bbox=box)


def _free(x: float, y: float, side: float, width: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the first place to the right of (x, y), then below it, that is a side away from those taken."""
    left = x
    while any(abs(x - a) < side and abs(y - b) < side for a, b in taken):
        x, y = (x + side, y) if x + 1.5 * side < width else (left, y + side)
    return x, y


def _rectangle(x: float, y: float, width: float, height: float, **style: Any) -> Any:
    from matplotlib.patches import Rectangle  # imported here, as it would slow down `--help`

    return Rectangle((x, y), width, height, **style)


CUT = "…"
_BOX = 1.2
"""Width of the box that matplotlib draws for a character without a glyph, as a share of the size."""
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef]|[^\s\u3040-\u30ff\u3400-\u9fff]+|\s+")


def fitted(text: str, width: float, most: int, measure: Callable[[str], float]) -> list[str]:
    r"""Return a text in at most `most` lines of at most `width`, cut with ``…`` if it is longer; at least one line.

    Control characters are written like ``\u001b``. Words that are too long are broken.

    Args:
        text: Any text; its blanks become single spaces.
        width: Width of a line, in the unit of `measure`.
        most: Maximum number of lines.
        measure: Returns the width of a character.

    Example:
        >>> fitted("the optic disc is pale", 10, 2, lambda c: 1), fitted("aaaaabbbbb", 5, 3, lambda c: 1)
        (['the optic', 'disc is…'], ['aaaaa', 'bbbbb'])
    """
    plain = for_terminal(" ".join(text.split()))
    lines: list[str] = []
    for line in _lines(plain, width, measure):
        if len(lines) == most:
            lines[-1] = _shortened(lines[-1], width, measure)
            break
        lines.append(line)
    return lines or [""]


def _lines(plain: str, width: float, measure: Callable[[str], float]) -> Iterator[str]:
    line, used = "", 0.0
    for word in _WORDS.findall(plain):
        size = sum(map(measure, word))
        if used + size > width and line.strip():
            yield line.rstrip()
            line, used = "", 0.0
        if word.isspace() and not line:
            continue
        if size <= width:
            line, used = line + word, used + size
            continue
        for character in word:
            size = measure(character)
            if line and used + size > width:
                yield line
                line, used = "", 0.0
            line, used = line + character, used + size
    if line.strip():
        yield line.rstrip()


def _shortened(line: str, width: float, measure: Callable[[str], float]) -> str:
    while line and sum(map(measure, line + CUT)) > width:
        line = line[:-1]
    return line.rstrip() + CUT


def inches(size: float) -> Callable[[str], float]:
    """Return a function that returns the width of a character in inches, at a size in points."""
    return lambda character: _ems(character) * size / 72


@cache
def _ems(character: str) -> float:
    """Return the width of a character in the figures' fonts, as a share of their size."""
    from matplotlib.ft2font import LoadFlags  # imported here, as it would slow down `--help`

    font = next((own for own in fonts() if own.get_char_index(ord(character))), None)
    if font is None:
        return _BOX
    font.set_size(100, 72)
    glyph = font.load_char(ord(character), flags=LoadFlags.NO_HINTING)
    return float(glyph.linearHoriAdvance / 65536 / 100)
