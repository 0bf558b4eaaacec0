"""The folder of the shipped configs."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def configs_folder() -> Path:
    """Return the folder of the shipped configs: inside an installed package, next to it in a checkout."""
    inside = PACKAGE / "configs"
    return inside if inside.is_dir() else PACKAGE.parent / "configs"
