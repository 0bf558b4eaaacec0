"""A user's table of captions and images: read, checked row by row, and its images copied beside the drafts."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import from_csv
from lmod_train.core.files import sha256_of, write_durably
from lmod_train.core.links import check_link
from lmod_train.core.pixels import UNREADABLE, blank
from lmod_train.core.raw import read_bytes
from lmod_train.core.vocabulary.modalities import unknown_words
from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.data.formats.spreadsheet import Table, cell
from lmod_train.data.sources.clutter import in_any_form
from lmod_train.tasks.captioned.caption import Caption
from lmod_train.tasks.drafting.captions.item import Left

IMAGES = "images"
"""Folder of the copied images in the folder of the drafts."""
STEP = "caption"

TABLE = Table(
    "captions", "a CSV file or workbook with the columns image and caption, and optionally id, group, modality, "
    "subspecialty, text_in_image and licence", ("image", "caption"),
    ("id", "group", "modality", "subspecialty", "text_in_image", "licence"),
)  # fmt: skip
_YES, _NO = ("yes", "true", "1", "x", "是"), ("no", "false", "0", "否")
LICENCE = "that of the images"


def read_captions(path: Path) -> tuple[list[Caption], list[Left]]:
    """Return the captions of a table, and what of it is left out: by row, with its reason.

    Image paths are relative to the table's folder. An unknown modality is left empty and listed.

    Raises:
        BadArgument: The table cannot be read, lacks a column, or has no caption that can be used.
    """
    kept: dict[str, Caption] = {}
    left: list[Left] = []
    phantom = (path.parent / NOTE).is_file()
    for line, row in TABLE.read(path):
        found = _caption(row, path.parent, phantom)
        if isinstance(found, Caption) and found.key in kept:
            found = "same_id", found.key
        if isinstance(found, Caption):
            kept[found.key] = found
            left += _lost(found.key, row)
        else:
            left.append(Left(f"{path.name}:{line}", STEP, *found))
    if not kept:
        reasons = ", ".join(sorted({one.reason for one in left})) or "no row"
        raise BadArgument("captions", str(path), f"a caption with an image ({reasons})", "correct the table")
    return list(kept.values()), left


def _caption(row: dict[str, str], folder: Path, phantom: bool) -> Caption | tuple[str, str]:
    """Return the caption of a row, or reason and detail."""
    name, text = from_csv(cell(row, "image")), " ".join(from_csv(cell(row, "caption")).split())
    if not text:
        return "no_caption", name
    path = PurePosixPath(name.replace("\\", "/"))
    if (
        not name
        or path.is_absolute()
        or ".." in path.parts
        or not Path(os.path.realpath(folder / path)).is_relative_to(os.path.realpath(folder))
    ):
        return "no_image", f"{name or 'empty'}: expected a path below the folder of the table"
    with suppress(ValueError, OSError):  # listed below
        path = PurePosixPath(in_any_form(folder, str(path)).relative_to(folder).as_posix())
    try:
        bare = blank(read_bytes(folder / path))
    except UNREADABLE as error:
        return "no_image", f"{name}: {type(error).__name__}"
    stated = cell(row, "modality")
    return Caption(
        key=from_csv(cell(row, "id")) or str(path),
        image=f"{IMAGES}/{path}",
        text=text,
        sha256=hashlib.sha256(bare).hexdigest(),
        group=from_csv(cell(row, "group")) or str(path),
        modality="" if unknown_words(stated) else stated,
        licence=from_csv(cell(row, "licence")) or LICENCE,
        tags=_tags(row),
        phantom=phantom,
    )


def _tags(row: dict[str, str]) -> dict[str, str]:
    flag = cell(row, "text_in_image").casefold()
    found = {"subspecialty": from_csv(cell(row, "subspecialty"))}
    found["text_in_image"] = "yes" if flag in _YES else "no" if flag in _NO else ""
    return {name: value for name, value in found.items() if value}


def _lost(key: str, row: dict[str, str]) -> list[Left]:
    """Return the cells of a row that are not understood; the caption is kept without them."""
    found, flag = [], cell(row, "text_in_image")
    if unknown_words(cell(row, "modality")):
        found.append(Left(key, STEP, "unknown_modality", cell(row, "modality")))
    if flag and flag.casefold() not in (*_YES, *_NO):
        found.append(Left(key, STEP, "unknown_flag", f"text_in_image: {flag}"))
    return found


def copy_images(captions: Sequence[Caption], table: Path, folder: Path) -> None:
    """Copy the images of captions, without metadata, and the note of phantoms into the folder of the drafts."""
    for caption in captions:
        target = folder / caption.image
        if not (target.is_file() and sha256_of(target) == caption.sha256):
            source = table.parent / caption.image.removeprefix(f"{IMAGES}/")
            with write_durably(target) as beside:
                beside.write_bytes(blank(read_bytes(source)))
    check_link(table.parent, table.parent / NOTE)
    if (table.parent / NOTE).is_file() and not (folder / NOTE).exists():
        with write_durably(folder / NOTE) as beside:
            shutil.copyfile(table.parent / NOTE, beside)


KEYWORDS = Table("--keywords", "a CSV file with the column keyword", ("keyword",))


def read_keywords(path: Path) -> tuple[str, ...]:
    """Return the phrases of a user's table of keywords, in any language.

    Raises:
        BadArgument: It cannot be read, or has none.
    """
    found = tuple(word for _, row in KEYWORDS.read(path) if (word := from_csv(cell(row, "keyword")).strip()))
    if not found:
        raise BadArgument("--keywords", str(path), "a table with at least one keyword", "use `--filter none`")
    return tuple(dict.fromkeys(found))
