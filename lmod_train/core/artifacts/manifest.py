"""The manifest of a curated folder: ``manifest.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.errors import CuratedDamaged, NotCurated
from lmod_train.core.files import write_durably
from lmod_train.core.links import check_link
from lmod_train.core.raw import MOST_TABLE_BYTES, parse_json, read_bytes


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write readable JSON with sorted keys, whole or not at all."""
    with write_durably(path) as beside:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")  # of half a letter JSON's own escape


def read_manifest(curated: Path) -> dict[str, Any]:
    """Read ``manifest.json`` of a curated folder.

    Raises:
        ArtifactError: The folder holds none, a damaged one, or one of another schema version.
        LeavesFolder: It is a link that leads out of the folder.
    """
    path = curated / "manifest.json"
    if not path.exists():
        raise NotCurated(curated)
    check_link(curated, path)
    try:
        manifest: dict[str, Any] = parse_json(
            read_bytes(path, MOST_TABLE_BYTES).decode("utf-8"), object_pairs_hook=once
        )
    except (ValueError, IsADirectoryError) as error:
        raise CuratedDamaged(path, f"is not JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise CuratedDamaged(path, f"holds a {type(manifest).__name__}, expected an object")
    if manifest.get("schema_version") != SCHEMA_VERSION:
        raise CuratedDamaged(path, f"is of schema version {manifest.get('schema_version')}, expected {SCHEMA_VERSION}")
    if problem := _problem(manifest):
        raise CuratedDamaged(path, problem)
    return manifest


def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, for `json.loads`.

    Raises:
        ValueError: A key stands there twice: readers would disagree on which one counts.
    """
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


_OBJECTS = ("sources", "foreign", "settings", "counts", "balance", "leakage", "families")
"""Keys of objects that other modules read."""

_TEXTS = ("licence", "reference")
"""Keys of texts of a source that other modules read."""


def _problem(manifest: Mapping[str, Any]) -> str:
    """Return what is of another type than modules read it as; empty if nothing is."""
    stated: dict[str, Any] = {name: manifest[name] for name in _OBJECTS if name in manifest}
    for name, value in stated.items():
        if not isinstance(value, dict):
            return f"its {name!r} holds a {type(value).__name__}, expected an object"
    for name, known in {**stated.get("sources", {}), "foreign": stated.get("foreign", {})}.items():
        if not isinstance(known, dict):
            return f"its source {name[:200]!r} is a {type(known).__name__}, expected an object"
        for key in _TEXTS:
            if not isinstance(known.get(key) or "", str):
                return f"{key!r} of its source {name[:200]!r} is a {type(known[key]).__name__}, expected a text"
    if not isinstance(stated.get("settings", {}).get("tasks") or {}, dict):
        return "'tasks' of its settings are no object"
    return ""
