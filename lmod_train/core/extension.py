"""What an extension adds to the main path: a record of names, imported when they are used.

The extensions of this package are the folders of `lmod_train/extensions`; those of other packages are found by the
entry point group ``lmod_train.extensions``. Each states its record as ``EXTENSION`` in its ``__init__.py``, which
imports nothing else. The main path knows no extension by name, and works without any of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument

PACKAGE = Path(__file__).resolve().parents[1]
GROUP = "lmod_train.extensions"
"""Entry point group of other packages' extensions, and the package of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What one extension adds. A value ``module:object`` is imported when it is used, never before.

    Attributes:
        name: Its name; for one of ours that of its folder.
        about: What it is for, in one line of ``--help``.
        commands: Whole name of a command, e.g. ``draft ask`` -> function with typed arguments.
        asking: Of these commands, those that also take the options of `validate` -> function of the words typed after
            the command that returns the exit status.
        options: Main command and option, e.g. ``curate --sheet`` -> function that is called in the place of the
            command's where the option is typed; ``**settings`` that it hands on are the command's other options.
        configs: Folder of shipped configs inside the package of the extension, with the subfolders of ``configs/``.
        sources: Modules with source classes, which `curate --raw` searches for.
        sections: Class path of a section -> class names of sections, after the first of which that is there it stands
            in the default report; empty if it does not stand there.
        variants: Classes of tasks whose class method ``over`` returns the questions of another task about changed
            images, or None; `curate --table --grounding` asks them.
        rows: Functions of a finished run that yield tables for the screen after it.
        pages: Part of the report's page -> function of the results that returns it: ``findings``, task -> sentence.
        published: Functions that return published scores (`lmod_train.report.published.Published`) for the report.
        replies: Readers of outcomes that are not a model's, e.g. judges' (`lmod_train.tasks.verdicts.OtherReplies`).
        phantoms: Name of a drawn folder -> module with ``write(folder, n, seed)``.
    """

    name: str
    about: str
    commands: Mapping[str, str] = field(default_factory=dict)
    asking: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    configs: str = ""
    sources: Sequence[str] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    variants: Sequence[str] = ()
    rows: Sequence[str] = ()
    pages: Mapping[str, str] = field(default_factory=dict)
    published: Sequence[str] = ()
    replies: Sequence[str] = ()
    phantoms: Mapping[str, str] = field(default_factory=dict)


@cache
def extensions() -> tuple[Extension, ...]:
    """Return every extension that can be imported, ours first, by name; one that fails is a line on stderr.

    Raises:
        BadArgument: Two extensions have one name.
    """
    found: dict[str, Extension] = {}
    for place, load in _places():
        try:
            extension = load()
        except Exception as error:  # a broken extension must not stop a command that does not need it
            sys.stderr.write(f"extension {place} is left out: {type(error).__name__}: {error}\n")
            continue
        if extension.name in found:
            expected = "extensions of different names"
            raise BadArgument("extension", extension.name, expected, f"uninstall the package of {place}")
        found[extension.name] = extension
    return tuple(found.values())


def _places() -> Iterator[tuple[str, Callable[[], Extension]]]:
    """Yield (place, function that returns its record) of ours, then of other packages."""
    for file in sorted((PACKAGE / "extensions").glob("*/__init__.py")):
        module = f"{GROUP}.{file.parent.name}"
        yield module, lambda module=module: import_module(module).EXTENSION  # type: ignore[misc]
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        yield point.value, point.load


def named(path: str) -> Any:
    """Return the object that ``module:object`` names, or the module of a path without a colon.

    Example:
        >>> named("lmod_train.core.extension:Extension").__name__
        'Extension'
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def merged(part: str) -> dict[str, str]:
    """Return a mapping of all extensions together, e.g. of ``commands``; of two with one key the first.

    Example:
        >>> merged("pages").keys() <= merged("pages").keys()
        True
    """
    return {key: value for one in reversed(extensions()) for key, value in getattr(one, part).items()}


def joined(part: str) -> list[str]:
    """Return a sequence of all extensions one after another, e.g. of ``rows``."""
    return [value for one in extensions() for value in getattr(one, part)]
