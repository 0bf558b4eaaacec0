"""The shipped configs: those of the main path, and those that extensions bring."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from lmod_train.core.extension import PACKAGE, Extension, extensions, say

FOLDER = "configs"


def configs_folder() -> Path:
    """Return the folder of the main path's configs: inside an installed package, next to it in a checkout."""
    inside = PACKAGE / FOLDER
    return inside if inside.is_dir() else PACKAGE.parent / FOLDER


def config_folders() -> list[Path]:
    """Return the folders of all shipped configs, that of the main path first."""
    return [configs_folder(), *(folder for one in extensions() for folder in _folders_of(one))]


def _folders_of(one: Extension) -> list[Path]:
    """Return the folders of an extension's configs; a package that is not there is a line on stderr."""
    if not one.configs:
        return []
    try:
        spec = find_spec(one.configs)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        say(f"extension {one.name}: its configs are left out, as there is no folder {one.configs}")
        return []
    return [Path(place) for place in spec.submodule_search_locations]


def config_files(part: str = "") -> dict[str, Path]:
    """Return name -> file of the shipped configs of a part, by name.

    Args:
        part: ``task``, ``source``, ``model``, ``trainer``, ``curate``, ``report``, ``server`` or ``sweep``; empty for
            whole experiments.

    Example:
        >>> config_files("task")["sex"].name
        'sex.yaml'
    """
    found: dict[str, Path] = {}
    for file in (file for folder in config_folders() for file in sorted((folder / part).glob("*.yaml"))):
        if found.setdefault(file.stem, file) != file:
            say(f"{file} is left out, as {found[file.stem]} has its name")
    return dict(sorted(found.items()))


def shipped_as(place: str) -> Path | None:
    """Return the shipped config that is named as in a checkout, ``configs/task/sex.yaml``; None for another name.

    Example:
        >>> shipped_as("configs/task/sex.yaml") == config_files("task")["sex"], shipped_as("configs/none.yaml")
        (True, None)
    """
    parts = Path(place).parts
    if parts[:1] != (FOLDER,) or ".." in parts:
        return None
    return next((file for folder in config_folders() if (file := folder.joinpath(*parts[1:])).is_file()), None)


def config_at(name: str, folder: Path) -> Path | None:
    """Return the file that a config in a folder names; None if there is none.

    The folder comes first, then the working folder, then the shipped configs, named as in a checkout.
    """
    return next((file for file in (folder / name, Path(name), shipped_as(name)) if file and file.is_file()), None)
