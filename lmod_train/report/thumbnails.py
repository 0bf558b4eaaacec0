"""Small pictures for the page, and whether they may leave the machine."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from lmod_train.artifacts import read_manifest
from lmod_train.errors import ArtifactError
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
        with Image.open(file) as opened:
            small = opened.convert("RGB")
    except (OSError, Image.DecompressionBombError):
        return ""
    small.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


@dataclass(frozen=True, slots=True)
class Licence:
    """What holds for the images of one source that a page shows."""

    source: str
    licence: str
    stays: bool


def licences(curated: Path | None, records: Iterable[Record]) -> list[Licence]:
    """Return the licence of each source, and whether its images must stay on this machine.

    They may leave only where the manifest of the curated folder says so; what is not known stays.
    """
    try:
        sources = read_manifest(curated).get("sources", {}) if curated else {}
    except ArtifactError:
        sources = {}
    found = {r.source: r.licence for r in records}
    return [
        Licence(source, licence or "not known", sources.get(source, {}).get("redistributable") is not True)
        for source, licence in sorted(found.items())
    ]
