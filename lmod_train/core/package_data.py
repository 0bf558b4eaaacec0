"""Words and numbers of the package in YAML and CSV files, each beside the modules that use it."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def package_data(module: str, name: str) -> Any:
    """Return the content of a YAML file of the package.

    Args:
        module: The ``__file__`` of a module in the same folder.
        name: Name of the file.
    """
    return values_of(Path(module).with_name(name).read_text(encoding="utf-8"))


def values_of(text: str) -> Any:
    """Return what a YAML text holds, as `yaml.safe_load` does, in a tenth of the time where it can.

    For files of the package and for what was just written: in C, brackets without an end are no error but a crash.

    Raises:
        yaml.YAMLError: It is no YAML.
    """
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe


@cache
def package_table(module: str, name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a CSV file of the package: column -> cell.

    Args:
        module: The ``__file__`` of a module in the same folder.
        name: Name of the file.
    """
    with Path(module).with_name(name).open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
