"""Imports of the user's own classes from the working folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lmod_train.core.errors import BadArgument
from lmod_train.tasks.trust import place_of

BUILDS = ("curate", "fit", "validate", "test", "predict", "doctor", "judge", "draft ask",
          "draft captions", "draft judge")  # fmt: skip
"""Commands that build classes named in the user's own config or command line."""


@contextmanager
def own_classes(arguments: Sequence[str]) -> Iterator[None]:
    """Allow importing modules of the working folder in the block, after installed packages.

    Commands that only read files, which may come from others, do so only with `--trust` or `--family`.

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
    """Refuse names in `--trust` that are not importable.

    Raises:
        BadArgument: No such module is installed or in the working folder, so trusting it would have no effect.
    """
    for name in names:
        if place_of(name) is None:
            expected = f"a module that is installed or is in the working folder, {Path.cwd()}"
            raise BadArgument("--trust", name, expected, "run the command in the folder of the module's file")
