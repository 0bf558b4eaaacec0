"""The one way to an image of a curated folder: neither a name nor a link leads out of the folder that the user named.

A folder may come from someone else. A name is checked when its record is read (`check_name`), and links before the
first image is used (`Curated.check`); every opening checks both again. What is passed on, to a server, a logger or
another folder, is `Curated.bytes`: without metadata, and the file that the record states by its SHA-256.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from PIL.Image import Image

from lmod_train.core.errors import CuratedDamaged, LeavesFolder
from lmod_train.core.links import check_link, refuse_special
from lmod_train.core.pixels import UNREADABLE, blank, open_picture, picture_size
from lmod_train.core.raw import read_bytes

_LEAVES = re.compile(r"^$|^/|^[A-Za-z]:|\\|\0|(?:^|/)\.\.?(?:/|$)|//|/$")


def check_name(file: Path, name: str) -> None:
    """Check that the name of an image in a record file leads to somewhere below the curated folder.

    Args:
        file: The record file, for the error.
        name: Path of the image as the record states it: relative, with ``/``.

    Raises:
        LeavesFolder: It is absolute, empty, or goes up.

    Example:
        >>> check_name(Path("records.parquet"), "images/refuge/1.jpg")
        >>> check_name(Path("a.parquet"), "../1.jpg")
        Traceback (most recent call last):
        lmod_train.core.errors.LeavesFolder: a.parquet: a record names an image outside its curated folder: '../1.jpg'
        ...
    """
    if _LEAVES.search(name):
        raise LeavesFolder(file, f"a record names an image outside its curated folder: {name[:200]!r}")


class Curated:
    """The images of a curated folder.

    Args:
        root: The folder as the user named it; it may be a link itself.
        beside: Further folders that the user named, whose images have absolute names (`data.replay_from`).

    Attributes:
        root: The folder.
    """

    def __init__(self, root: Path | str, beside: Sequence[Path] = ()) -> None:
        self.root = Path(root)
        self._beside = tuple(folder.absolute() for folder in beside)
        self._linked: dict[Path, bool] = {}

    @classmethod
    def of(cls, root: Path | Curated) -> Curated:
        """Return the images of a folder; those of `Curated` as they are."""
        return root if isinstance(root, Curated) else cls(root)

    def __truediv__(self, name: str) -> Path:
        """Return `file` of an image, for code that joins a name to a folder."""
        return self.file(name)

    def check(self, names: Iterable[str]) -> None:
        """Check names and links of images, before the first is used.

        Raises:
            LeavesFolder: One leads out of the folder.
        """
        for name in dict.fromkeys(names):
            self.file(name)

    def file(self, name: str) -> Path:
        """Return where an image lies; it may be missing.

        Raises:
            LeavesFolder: Its name or a link leads out of the folder.
            NoFile: It is a pipe, socket, device or endless link.
        """
        root = next((folder for folder in self._beside if name.startswith(f"{folder}{os.sep}")), self.root)
        check_name(self.root, name if root is self.root else Path(name).relative_to(root).as_posix())
        file = root / name
        if file.parent not in self._linked:  # folders are checked once, the file at every call
            check_link(root, file.parent)
            self._linked[file.parent] = file.parent.resolve() != root.resolve() / file.parent.relative_to(root)
        refuse_special(file)
        if file.is_symlink():
            check_link(root, file)
        if self._linked[file.parent] or file.is_symlink():
            _check_source(root, file)
        return file

    def rgb(self, name: str, coarse: int = 0) -> Image:
        """Return an image as RGB, its pixels as stored.

        Args:
            name: The image.
            coarse: Side in pixels of which a JPEG may be decoded, at least, to be quick; 0 for its own size.

        Raises:
            LeavesFolder: See `file`.
            CuratedDamaged: It is missing or damaged.
        """
        file = self.file(name)
        try:
            image = open_picture(file, coarse)
            image.info.clear()  # profiles and comments, which Pillow would write again
            return image if image.mode == "RGB" else image.convert("RGB")  # converting to itself is a copy
        except UNREADABLE as error:
            raise CuratedDamaged(file, f"curated image cannot be read ({error})") from error

    def size(self, name: str) -> tuple[int, int]:
        """Return width and height as stored, reading only the header; raises the errors of `rgb`."""
        file = self.file(name)
        try:
            return picture_size(file)
        except UNREADABLE as error:
            raise CuratedDamaged(file, f"curated image cannot be read ({error})") from error

    def bytes(self, name: str, sha256: str = "") -> bytes:
        """Return an image file without metadata, to be passed on; see `bare`."""
        return self.bare(name, sha256)[0]

    def bare(self, name: str, sha256: str = "") -> tuple[builtins.bytes, bool]:
        """Return an image file without metadata, and whether the stored file has none either.

        Args:
            name: The image.
            sha256: What the record states of the file, in hexadecimal; empty if it states nothing.

        Raises:
            LeavesFolder: See `file`.
            CuratedDamaged: It is missing, damaged, or another file than the record states.
        """
        file = self.file(name)
        try:
            data = read_bytes(file)
            bare = blank(data)
        except UNREADABLE as error:
            raise CuratedDamaged(file, f"curated image cannot be read ({error})") from error
        if sha256 and hashlib.sha256(data).hexdigest() != sha256:
            raise CuratedDamaged(file, "another file than its records state (SHA-256), so it is not passed on")
        return bare, bare == data


def _check_source(root: Path, file: Path) -> None:
    """Check that no link within the folder shows an image under the name, and so the licence, of another source."""
    target = file.resolve()
    if target.is_relative_to(root.resolve()):
        named, found = (path.parts[:2] for path in (file.relative_to(root), target.relative_to(root.resolve())))
        if named != found:
            raise LeavesFolder(file, f"a link shows an image of {'/'.join(found)} as one of {'/'.join(named)}")
