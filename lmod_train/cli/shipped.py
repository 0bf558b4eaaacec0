"""Shipped configurations by their names, from any folder: ``--config quickstart``, ``--model small_base_lora``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from lmod_train.cli.listing import configs_folder

FOLDERS = {"--config": "", "-c": "", "--model": "model", "--trainer": "trainer"}
"""Option -> folder of the configurations that it may name; of ``curate --config`` it is the command's own."""

_NAME = re.compile(r"[\w-]+")


def by_name(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command, names of shipped configurations replaced by the paths of their files.

    A file of that name in the working folder comes first. What is neither stays as it was typed, for the parser to
    refuse.

    Args:
        command: The command, e.g. ``fit`` or ``curate``.
        arguments: What was typed behind it.
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
