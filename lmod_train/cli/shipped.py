"""Paths of shipped configs from their names, as in ``--config quickstart`` and ``--model small_base_lora``.

One task in the place of a list, ``--data.tasks configs/task/chain.yaml``, becomes a list of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from lmod_train.core.shipped import configs_folder

FOLDERS = {"--config": "", "-c": "", "--model": "model", "--trainer": "trainer"}
"""Option -> subfolder of the configs it names; ``curate --config`` names those in ``configs/curate``."""

TASKS = ("--data.tasks", "--tasks")
"""Options whose value is a list of tasks: of Lightning's commands and of `curate`. With ``+`` they add one."""

_NAME = re.compile(r"[\w-]+")


def by_name(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with names of shipped configs replaced by paths.

    A file of that name in the working folder has precedence. Unknown names are left to the parser to refuse.

    Args:
        command: The command, e.g. ``fit`` or ``curate``.
        arguments: The arguments after the command.
    """
    return list(_replaced(command, arguments))


def _replaced(command: str, arguments: Sequence[str]) -> Iterator[str]:
    for before, word in zip(["", *arguments], arguments, strict=False):
        option, equals, value = word.partition("=")
        if _folder(command, before) is not None:
            yield _value(command, before, word)
        elif equals and _folder(command, option) is not None:
            yield f"{option}={_value(command, option, value)}"
        else:
            yield word


def _folder(command: str, option: str) -> str | None:
    """Return the subfolder of the configs that an option names; None if it names none."""
    if option.removesuffix("+") == TASKS[command == "curate"]:
        return "task"
    if option == "--config" and (configs_folder() / command).is_dir():
        return command
    return FOLDERS.get(option)


def _value(command: str, option: str, name: str) -> str:
    folder = configs_folder() / str(_folder(command, option))
    file = folder / f"{name}.yaml"
    shipped = _NAME.fullmatch(name) and file.is_file() and not Path(name).is_file()
    path = str(file) if shipped else name
    return f"[{path}]" if option in TASKS and _is_one(Path(path)) else path


def _is_one(file: Path) -> bool:
    """Return whether a file holds one task, not a list; False for what cannot be read, which the parser refuses."""
    if file.suffix not in (".yaml", ".yml") or not file.is_file():
        return False
    try:
        return isinstance(yaml.safe_load(file.read_text(encoding="utf-8")), dict)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OSError):
        return False
