"""Words and numbers of the package in YAML and CSV files, each beside the modules that use it."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

from lmod_train.core.raw import read_yaml


def package_data(module: str, name: str) -> Any:
    """Return the content of a YAML file of the package.

    Args:
        module: The ``__file__`` of a module in the same folder.
        name: Name of the file.
    """
    return _read(Path(module).with_name(name))


@cache
def _read(file: Path) -> Any:
    return read_yaml(file)  # once for all modules of the folder


@cache
def package_table(module: str, name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a CSV file of the package: column -> cell.

    Args:
        module: The ``__file__`` of a module in the same folder.
        name: Name of the file.
    """
    with Path(module).with_name(name).open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
