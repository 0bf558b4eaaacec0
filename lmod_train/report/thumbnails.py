"""Thumbnails for the page, and the licences of their images."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL.Image import Image

from lmod_train.core.artifacts.leaving import FOREIGN, open_sources, source_of
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError, CuratedDamaged
from lmod_train.core.pixels import jpeg_bytes
from lmod_train.core.types import Record

SIDE = 256
"""Longest side in pixels."""


def thumbnail(curated: Path, image: str) -> str:
    """Return a thumbnail of an image as a ``data:`` URL, empty if the image cannot be read."""
    small = picture_of(curated, image)
    if small is None:
        return ""
    small.thumbnail((SIDE, SIDE))
    return "data:image/jpeg;base64," + base64.b64encode(jpeg_bytes(small, 85, 2)).decode("ascii")


def picture_of(curated: Path, image: str) -> Image | None:
    """Return an image of a curated folder as RGB; None if it is missing or unreadable.

    Raises:
        LeavesFolder: It lies outside the folder.
    """
    try:
        return Curated(curated).rgb(image)
    except CuratedDamaged:
        return None


@dataclass(frozen=True, slots=True)
class Licence:
    """Licence of the images of one source; `stays` if they must not be redistributed."""

    source: str
    licence: str
    stays: bool


def licences(curated: Path | None, records: Iterable[Record]) -> list[Licence]:
    """Return the licence of each source whose images the records show, and whether they must not be redistributed.

    Redistribution is only permitted if the manifest states so. Images that a probe shows are attributed to the source
    they come from, or to ``foreign`` photographs.
    """
    try:
        manifest = read_manifest(curated) if curated else {}
    except ArtifactError:
        manifest = {}
    known, may_leave = {**manifest.get("sources", {}), FOREIGN: manifest.get(FOREIGN) or {}}, open_sources(manifest)
    stated: dict[str, str] = {}
    for record in records:
        for image in record.image:
            source = source_of(image, record.source)
            stated.setdefault(source, record.licence if source == record.source else "")
    return [
        Licence(
            source,
            known.get(source, {}).get("licence") or licence or "not known",
            source not in may_leave,
        )
        for source, licence in sorted(stated.items())
    ]
