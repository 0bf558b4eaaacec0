"""Where the page's data and images are kept: in files beside the page, or inside it.

Data files are scripts, as a page opened from a folder (``file://``) may load scripts but not read files. Each one only
passes a JSON text, which the page parses: nothing in it is run.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.curated import Curated
from lmod_train.core.errors import CuratedDamaged
from lmod_train.core.files import link_or_copy, make_folder, remove, remove_empty, write_beside
from lmod_train.report.thumbnails import thumbnail

PREFIX = "lmodData"
"""Name of the function that data files call."""
FOLDERS = ("data", "images", "pages")


@dataclass(frozen=True, slots=True)
class Shown:
    """An image of the page: its address, and its width and height in pixels."""

    address: str
    width: int
    height: int


class Store(ABC):
    """A place for data and images."""

    def __init__(self) -> None:
        self._images: dict[tuple[Path, str], Shown | None] = {}

    def image(self, curated: Path | None, image: str) -> Shown | None:
        """Return an image of a curated folder, kept once; None if it is missing, unreadable or outside the folder."""
        if curated is None:
            return None
        key = (curated, image)
        if key not in self._images:
            self._images[key] = self._kept(curated, image)
        return self._images[key]

    @abstractmethod
    def add(self, name: str, value: Any) -> None:
        """Keep a JSON value under a name of letters, digits and hyphens."""

    @abstractmethod
    def _kept(self, curated: Path, image: str) -> Shown | None:
        """Keep an image and return it; None if it cannot be shown."""


class Beside(Store):
    """Files in ``data`` and ``images`` beside the page.

    Images are linked to those of the curated folder where the file system permits, as they would otherwise exist
    twice, and copied elsewhere. Their names are numbers: those of a dataset may not be valid in an address.
    """

    def __init__(self, out: Path) -> None:
        super().__init__()
        self.out = out
        for name in FOLDERS:
            make_folder(out / name)
        self._number = 0

    def add(self, name: str, value: Any) -> None:
        """Write a data file."""
        with write_beside(self.out / "data" / f"{name}.js") as part:
            part.write_text(f"{PREFIX}({json.dumps(name)}, {json.dumps(compact(value))});\n", encoding="ascii")

    def _kept(self, curated: Path, image: str) -> Shown | None:
        images = Curated(curated)
        try:
            width, height = images.size(image)
            bare, as_stored = images.bare(image)
        except CuratedDamaged:
            return None
        self._number += 1
        suffix = "jpg" if bare.startswith(b"\xff\xd8") else "png"
        address = f"images/{self._number:06d}.{suffix}"
        if as_stored:
            link_or_copy(images.file(image), self.out / address)
        else:
            with write_beside(self.out / address) as part:
                part.write_bytes(bare)
        return Shown(address, width, height)


class Inside(Store):
    """Data blocks and small images within the page; `blocks` are the names and JSON texts."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[tuple[str, str]] = []

    def add(self, name: str, value: Any) -> None:
        """Keep a block, in which no tag can begin."""
        self.blocks.append((name, compact(value).replace("<", "\\u003c")))

    def _kept(self, curated: Path, image: str) -> Shown | None:
        address = thumbnail(curated, image)
        if not address:
            return None
        return Shown(address, *Curated(curated).size(image))


def clear(out: Path) -> None:
    """Remove the data, images and pages of an earlier report: only files with names as they are written here."""
    digits = "[0-9]" * 6
    for pattern in ("data/index.js", "data/re*-[0-9]*.js", f"images/{digits}.*", f"pages/{digits}.html"):
        for old in out.glob(pattern):
            remove(old)
    for name in FOLDERS:
        remove_empty(out / name)


def compact(value: Any) -> str:
    r"""Return JSON in ASCII without blanks, so that lone surrogates and invisible characters are kept.

    Example:
        >>> compact({"a": "\ud800<"})
        '{"a":"\\ud800<"}'
    """
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
