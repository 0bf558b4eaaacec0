"""The user's own classes, which lie in the working folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lmod_train.errors import BadArgument
from lmod_train.tasks.trust import place_of

BUILDS = ("curate", "fit", "validate", "test", "predict", "doctor")
"""Commands that build what a config or command line of the user's own names."""


@contextmanager
def own_classes(arguments: Sequence[str]) -> Iterator[None]:
    """Let modules of the working folder be imported in the block, after all that is installed.

    Commands that only read what others may have written do not, but for what `--trust` or `--family` names.

    Args:
        arguments: The command and its options.
    """
    trusting = any(a.partition("=")[0] in ("--trust", "--family") for a in arguments)
    here = str(Path.cwd())
    if here in sys.path or sys.flags.safe_path or not (trusting or (arguments[:1] and arguments[0] in BUILDS)):
        yield
        return
    sys.path.append(here)
    try:
        yield
    finally:
        sys.path.remove(here)


def check_trusted(names: Sequence[str]) -> None:
    """Refuse what `--trust` names where no such module is installed or lies in the working folder.

    Raises:
        BadArgument: A name leads nowhere, so that trusting it would be of no effect.
    """
    for name in names:
        if place_of(name) is None:
            expected = f"a module that is installed or lies in the working folder, {Path.cwd()}"
            raise BadArgument("--trust", name, expected, "type the command in the folder that holds the module's file")
