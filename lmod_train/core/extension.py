"""What an extension adds to the main path: a record of names, imported when they are used.

The extensions of this package are the folders of `lmod_train/extensions`; those of other packages are found by the
entry point group ``lmod_train.extensions``. Each states its record as ``EXTENSION`` in its ``__init__.py``, which
imports nothing else. The main path knows no extension by name, and works without any of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import for_terminal

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
        formats: Name of a format of `export` -> module with ``write(selection, folder)``, and ``EMBEDS``: whether
            images lie inside its files.
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
    formats: Mapping[str, str] = field(default_factory=dict)


@cache
def extensions() -> tuple[Extension, ...]:
    """Return every extension that can be imported, ours first, by name; one that fails is a line on stderr.

    Raises:
        BadArgument: Two extensions have one name.
    """
    if refused := doubled():
        raise refused
    return present()


def present() -> tuple[Extension, ...]:
    """Return what `extensions` does, of two of one name the first: for `--help`, which works whatever is installed."""
    return tuple(one for one, _ in _found()[0].values())


def doubled() -> BadArgument | None:
    """Return the error of two extensions of one name; None if each name occurs once."""
    return _found()[1]


def packages() -> list[str]:
    """Return the modules that hold the records of other packages' extensions."""
    return [module for _, module in _found()[0].values() if not module.startswith(f"{GROUP}.")]


@cache
def _found() -> tuple[dict[str, tuple[Extension, str]], BadArgument | None]:
    """Return name -> extension and module of its record, and the error of the first name that occurs twice."""
    found: dict[str, tuple[Extension, str]] = {}
    refused = None
    for module, package, load in _places():
        try:
            one = _guarded(lambda load=load: _checked(load()))  # type: ignore[misc]
        except ImportError as error:
            say(f"extension {module} is left out: {error}")
            continue
        if one.name not in found:
            found[one.name] = one, module
        elif refused is None:
            expected = f"extensions of different names, which {found[one.name][1]} and {module} are not"
            refused = BadArgument("extension", one.name, expected, f"`pip uninstall {package}`")
    return found, refused


def _places() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Yield (module, installed package, function that returns its record) of ours, then of other packages."""
    for file in sorted((PACKAGE / "extensions").glob("*/__init__.py")):
        module = f"{GROUP}.{file.parent.name}"
        yield module, "lmod-train", lambda module=module: import_module(module).EXTENSION  # type: ignore[misc]
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        module = point.value.partition(":")[0]
        yield module, point.dist.name if point.dist else module, point.load


def _checked(found: object) -> Extension:
    """Return a record whose values are of the kinds that it states: a string in the place of a list is none."""
    if not isinstance(found, Extension):
        raise TypeError(f"expected EXTENSION to be an Extension, not of {type(found).__name__}")
    for one in fields(found):
        value = getattr(found, one.name)
        kind = Mapping if one.default_factory is dict else Sequence if one.default == () else str
        if not isinstance(value, kind) or (kind is Sequence and isinstance(value, str)):
            raise TypeError(f"expected {one.name} to be a {kind.__name__.lower()}, not {value!r}")
    if not re.fullmatch(r"[\w-]+", found.name):
        raise ValueError(f"expected a name of letters, digits and hyphens, not {found.name!r}")
    return found


@cache
def say(line: str) -> None:
    """Write a line to stderr, once in a process."""
    sys.stderr.write(f"{line}\n")


def _guarded(load: Callable[[], Any]) -> Any:
    """Return what `load` does; it neither prints on stdout nor stops a command that does not need it, but by Ctrl-C.

    Raises:
        ImportError: It raised anything else, named in one line.
    """
    try:
        with redirect_stdout(sys.stderr):
            return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise ImportError(for_terminal(" ".join(f"{type(error).__name__}: {error}".split()))) from error


def named(path: str) -> Any:
    """Return the object that ``module:object`` names, or the module of a path without a colon.

    Example:
        >>> named("lmod_train.core.extension:Extension").__name__
        'Extension'
    """
    module, _, name = path.partition(":")
    return getattr(import_module(module), name) if name else import_module(module)


def loaded(paths: Iterable[str]) -> Iterator[Any]:
    """Yield what each path of an extension names (`named`); one that cannot be imported is a line on stderr.

    Example:
        >>> list(loaded([])), [found.__name__ for found in loaded(["lmod_train.core.extension:Extension"])]
        ([], ['Extension'])
    """
    for path in paths:
        try:
            found = _guarded(lambda path=path: named(path))  # type: ignore[misc]
        except ImportError as error:
            say(f"{path} of an extension is left out: {error}")
            continue
        yield found


def merged(part: str, taken: Collection[str] = (), key: Callable[[str], str] = str) -> dict[str, str]:
    """Return a mapping of all extensions together, e.g. of ``phantoms``; a name that is taken is a line on stderr.

    Args:
        part: The mapping.
        taken: Names that the main path has, which no extension replaces.
        key: Function of a key that returns the name which may be there once.

    Example:
        >>> merged("pages", taken=["findings"])
        {}
    """
    found: dict[str, str] = {}
    owners = dict.fromkeys(taken, "the main path")
    for one in extensions():
        for name, value in getattr(one, part).items():
            if (owner := owners.setdefault(key(name), one.name)) == one.name:
                found[name] = value
            else:
                leave_out(one, part, name, owner)
    return found


def leave_out(one: Extension, part: str, name: str, owner: str) -> None:
    """Write the line about a name of an extension that the main path or an earlier extension has."""
    say(f"extension {one.name}: {name!r} of its {part} is left out, as {owner} has one of that name")


def joined(part: str) -> list[str]:
    """Return a sequence of all extensions one after another, e.g. of ``rows``."""
    return [value for one in extensions() for value in getattr(one, part)]


@cache
def absent(path: str) -> str:
    """Return the name of the extension of this package that a class path needs and that is not here; empty for others.

    Example:
        >>> absent(f"{GROUP}.nowhere.tasks.Lens"), absent("lmod_train.tasks.sex.Sex")
        ('nowhere', '')
    """
    inside = path.removeprefix(f"{GROUP}.")
    name = inside.partition(".")[0]
    return name if inside != path and not (PACKAGE / "extensions" / name / "__init__.py").is_file() else ""
