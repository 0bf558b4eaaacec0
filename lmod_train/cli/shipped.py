"""Paths of shipped configs from their names, as in ``--config quickstart`` and ``--model small_base_lora``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.shipped import configs_folder

FOLDERS = {"--config": "", "-c": "", "--model": "model", "--trainer": "trainer"}
"""Option -> subfolder of the configs it names; ``curate --config`` names those in ``configs/curate``."""

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
        if before in FOLDERS:
            yield _path(command, before, word)
        elif equals and option in FOLDERS:
            yield f"{option}={_path(command, option, value)}"
        else:
            yield word


def _path(command: str, option: str, name: str) -> str:
    folder = configs_folder() / (FOLDERS[option] or (command if (configs_folder() / command).is_dir() else ""))
    file = folder / f"{name}.yaml"
    return str(file) if _NAME.fullmatch(name) and file.is_file() and not Path(name).is_file() else name
