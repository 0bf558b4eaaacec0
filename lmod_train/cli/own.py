"""Imports of the user's own modules in the working folder: of those that the command or its configs name."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.own_modules import VARIABLE, class_modules, importable
from lmod_train.core.shipped import config_at
from lmod_train.tasks.trust import place_of

_FILE = (".yaml", ".yml")
_OPTION = re.compile(r"--?([\w.+-]+?)\+?(?:=(.*))?", re.DOTALL)


@contextmanager
def own_classes(arguments: Sequence[str]) -> Iterator[None]:
    """Allow importing the modules of the working folder in the block whose classes a command names.

    They are named on the command line, e.g. with `--trust`, or by a config that the command names. Installed packages
    come first. Where the user has set ``python -P`` or ``PYTHONSAFEPATH``, none is found.

    Args:
        arguments: The command and its options.
    """
    here = Path.cwd()
    if str(here) in sys.path or (sys.flags.safe_path and VARIABLE not in os.environ):
        yield
        return
    with importable(here, own_modules(arguments)):
        yield


def own_modules(arguments: Sequence[str]) -> list[str]:
    """Return the modules that a command and the configs on its command line name, wherever they lie.

    Example:
        >>> own_modules(["rescore", "run", "--trust", "mine"]), own_modules(["fit", "--model", "mine.Model"])
        (['mine'], ['mine'])
    """
    return list(dict.fromkeys(name for key, value in _given(arguments) for name in _modules(value, key, Path())))


def _given(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (option, value) for every word of a command that may be a value; the option is empty without one."""
    before = ""
    for word in arguments:
        found = _OPTION.fullmatch(word)
        if found is None:
            yield before, word
        elif found[2] is not None:
            yield found[1], found[2]
        before = found[1] if found and found[2] is None else ""


def _modules(value: Any, key: str, folder: Path) -> Iterator[str]:
    """Yield the modules that a value names, and those of the YAML files it names, wherever these name others."""
    if isinstance(value, str) and (value.endswith(_FILE) or key in ("config", "c")):
        file = config_at(value, folder)
        tree = _yaml(file.read_text(encoding="utf-8", errors="replace")) if file else None
        yield from _modules(tree, "", file.parent) if file and not isinstance(tree, str) else ()
    elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        tree = _yaml(value)
        yield from _modules(tree, key, folder) if not isinstance(tree, str) else ()
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _modules(inner, str(name), folder)
    elif isinstance(value, list):
        for inner in value:
            yield from _modules(inner, key, folder)
    else:
        yield from class_modules(value, key)


def _yaml(text: str) -> Any:
    """Return the content of a YAML text; None of one that cannot be read, which its reader refuses."""
    import yaml

    with suppress(yaml.YAMLError, ValueError, TypeError, RecursionError):
        return yaml.safe_load(text)
    return None


def check_trusted(names: Sequence[str]) -> None:
    """Refuse names in `--trust` that are not importable.

    Raises:
        BadArgument: No such module is installed or in the working folder, so trusting it would have no effect.
    """
    for name in names:
        if place_of(name) is None:
            expected = f"a module that is installed or is in the working folder, {Path.cwd()}"
            raise BadArgument("--trust", name, expected, "run the command in the folder of the module's file")


def trusted_in(command: Sequence[str]) -> list[str]:
    """Return the modules that a command names with ``--trust``."""
    return list(typed_values(command, "--trust"))


def typed_values(options: Sequence[str], name: str) -> Iterator[str]:
    """Yield every value of an option as it is typed.

    Example:
        >>> list(typed_values(["fit", "--trust", "mine", "--trust=yours"], "--trust"))
        ['mine', 'yours']
    """
    for before, word in zip(["", *options], options, strict=False):
        if before == name:
            yield word
        elif word.startswith(f"{name}="):
            yield word.partition("=")[2]
