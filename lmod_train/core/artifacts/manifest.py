"""The manifest of a curated folder: ``manifest.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.errors import CuratedDamaged, NotCurated
from lmod_train.core.files import write_durably
from lmod_train.core.links import check_link


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write readable JSON with sorted keys, whole or not at all."""
    with write_durably(path) as beside:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")  # of half a letter JSON's own escape


def read_manifest(curated: Path) -> dict[str, Any]:
    """Read ``manifest.json`` of a curated folder.

    Raises:
        ArtifactError: The folder holds none, a damaged one, or one of another schema version.
    """
    path = curated / "manifest.json"
    if not path.exists():
        raise NotCurated(curated)
    check_link(curated, path)
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CuratedDamaged(path, f"is not JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise CuratedDamaged(path, f"holds a {type(manifest).__name__}, expected an object")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise CuratedDamaged(path, f"is of schema version {manifest.get('schema_version')}, expected {SCHEMA_VERSION}")
    return manifest
