"""Small pictures for the page, and whether they may leave the machine."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lmod_train.artifacts.manifest import read_manifest
from lmod_train.errors import ArtifactError
from lmod_train.pixels import UNREADABLE, jpeg_bytes, open_picture
from lmod_train.types import Record

SIDE = 256
"""Longest side in pixels."""


def thumbnail(curated: Path, image: str) -> str:
    """Return an image of a curated folder as a ``data:`` address, empty where there is no readable image.

    A path that leads out of the folder is not followed.
    """
    file = (curated / image).resolve()
    if not file.is_relative_to(curated.resolve()):
        return ""
    try:
        small = open_picture(file).convert("RGB")
    except UNREADABLE:
        return ""
    small.thumbnail((SIDE, SIDE))
    return "data:image/jpeg;base64," + base64.b64encode(jpeg_bytes(small, 85, 2)).decode("ascii")


@dataclass(frozen=True, slots=True)
class Licence:
    """What holds for the images of one source that a page shows."""

    source: str
    licence: str
    stays: bool


def licences(curated: Path | None, records: Iterable[Record]) -> list[Licence]:
    """Return the licence of each source whose images records show, and whether they must stay on this machine.

    They may leave only where the manifest of the curated folder says so; what is not known stays. Probes may show the
    image of another source or a foreign photograph: these are told by their own names. A record without an image shows
    none.
    """
    try:
        manifest = read_manifest(curated) if curated else {}
    except ArtifactError:
        manifest = {}
    sources = {**manifest.get("sources", {}), **({"foreign": manifest["foreign"]} if "foreign" in manifest else {})}
    stated: dict[str, str] = {}
    for record in records:
        for image in record.image:
            source = owner(image, record.source)
            stated.setdefault(source, record.licence if source == record.source else "")
    return [
        Licence(
            source,
            sources.get(source, {}).get("licence") or licence or "not known",
            sources.get(source, {}).get("redistributable") is not True,
        )
        for source, licence in sorted(stated.items())
    ]


def owner(image: str, source: str) -> str:
    """Return the source that an image of a curated folder belongs to; that of the record where its path tells none.

    Example:
        >>> owner("images/foreign/china.jpg", "refuge"), owner("eye.png", "refuge")
        ('foreign', 'refuge')
    """
    parts = image.split("/")
    return parts[1] if parts[0] == "images" and len(parts) > 2 else source
