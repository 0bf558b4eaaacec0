"""A strip: one eye in its variants, with the answers of each model beneath."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Heads, Table
from lmod_train.report.figures.lines import Line, distinct, lines, parts
from lmod_train.report.figures.qualitative import fitted, inches
from lmod_train.report.figures.sheet import LINE, SMALL, WIDTH, sheet
from lmod_train.report.thumbnails import picture_of

COLUMNS: Heads = ["record", "shown", "image", "model", "answer", "changed"]
"""Columns of the table: a row for each record, what is shown, and model. `image` is a path within the curated folder;
`model` is empty on a sheet without replies; `changed` is ``yes`` where the answer is not that to the image as it is."""
CHANGED, STAYED = "#B34700", "#0072B2"
_SIDE = 320  # longest side of a drawn image in pixels


def draw_strip(table: Table, out: Path, curated: Path | None = None) -> None:
    """Draw a row for each ``record``: what is shown, and below each image the answer of each model.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
        curated: Folder of the images; None if unknown.
    """
    rows = lines(table)
    shown, models = distinct(rows, "shown"), [name for name in distinct(rows, "model") if name]
    each = WIDTH / max(len(shown), 1)
    below = LINE * (3 * len(models) + 0.5)
    records = list(parts(rows, "record"))
    height = len(records) * (each + below) + 3 * LINE
    with sheet(table, out, height, len(records), max(len(shown), 1)) as axes:
        for line, (_, own) in zip(axes, records, strict=True):
            for axis, name in zip(line, shown, strict=True):
                _tile(axis, [row for row in own if row["shown"] == name], curated, each)
        for axis, name in zip(axes[0], shown, strict=False):
            axis.set_title("\n".join(_words(name, each)), fontsize=SMALL)


def _words(shown: str, width: float) -> list[str]:
    return fitted(shown.replace("_", " ").replace(".", ": "), width, 3, inches(SMALL))


def _tile(axis: Any, rows: Sequence[Line], curated: Path | None, width: float) -> None:
    """Draw an image, and below it the answers; nothing where it was not shown."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    if not rows:
        return
    picture = picture_of(curated, rows[0]["image"]) if curated and rows[0]["image"] else None
    if picture is None:
        axis.text(0.5, 0.5, "image not found", ha="center", va="center", fontsize=SMALL)
    else:
        picture.thumbnail((_SIDE, _SIDE))
        axis.imshow(picture)
    place = 0
    for row in rows:
        colour = CHANGED if row["changed"] == "yes" else STAYED
        text = f"{row['model']}: {row['answer']}" if row["model"] else ""
        for line in fitted(text, width * 0.9, 3, inches(SMALL)) if text else ():
            axis.annotate(
                line, (0, 0), (0, -2 - 9 * place), xycoords="axes fraction", textcoords="offset points", va="top",
                fontsize=SMALL, color=colour,
            )  # fmt: skip
            place += 1
