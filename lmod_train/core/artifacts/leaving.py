"""What may leave this machine: the one rule for endpoints, loggers, exports, packs, pages and sheets.

An image may leave only if the manifest of its curated folder states its source as redistributable. The source of an
image is that of its path, as a probe may show the image of another source, or a photograph that is not an eye; a source
that the manifest does not describe must stay. The question and the answer of a record are of the record's own source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import ArtifactError
from lmod_train.core.types import Record

FOREIGN = "foreign"
"""Source of photographs that are not eyes, which the manifest describes apart."""


def source_of(image: str, own: str = "") -> str:
    """Return the source of an image from its path in a curated folder.

    Args:
        image: The path.
        own: What is returned of a path that lies in no source's folder, such as the source of its record.

    Example:
        >>> source_of("images/refuge/train/g0001.marked.jpg"), source_of("images/foreign/china.jpg", "refuge")
        ('refuge', 'foreign')
        >>> source_of("a.jpg"), source_of("a.jpg", "refuge")
        ('', 'refuge')
    """
    parts = image.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "images" else own


def sources_touched(record: Record) -> frozenset[str]:
    """Return the source of a record and those of the images that it shows."""
    return frozenset({record.source, *(source_of(image, record.source) for image in record.image)})


def open_sources(manifest: Mapping[str, Any]) -> frozenset[str]:
    """Return the sources that a manifest states as redistributable."""
    known = {**(manifest.get("sources") or {}), FOREIGN: manifest.get(FOREIGN)}
    return frozenset(n for n, s in known.items() if isinstance(s, Mapping) and s.get("redistributable") is True)


def closed_sources(records: Iterable[Record], curated: Path, allowed: Iterable[str] = ()) -> list[str]:
    """Return the sources that records touch and that must stay on this machine, sorted.

    Args:
        records: The records that would leave.
        curated: Their curated folder; without a readable manifest every source must stay.
        allowed: Sources that the user lets leave nevertheless, by name.
    """
    touched = {source for record in records for source in sources_touched(record)} - set(allowed)
    if not touched:
        return []
    try:
        return sorted(touched - open_sources(read_manifest(curated)))
    except ArtifactError:
        return sorted(touched)
