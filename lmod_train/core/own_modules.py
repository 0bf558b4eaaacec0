"""The user's own modules in the working folder: those named by a command, and no other file there, are importable.

A folder received from others may hold a ``numexpr.py`` or a ``lz4.py``, and libraries look for optional packages that
are not installed. The working folder is therefore not on the search path. A finder after all others knows the names of
a few modules in it, here and in the processes that a command starts.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

VARIABLE = "LMOD_TRAIN_OWN_MODULES"
"""Environment variable by which the processes that a command starts know the folder and the names."""


@dataclass(frozen=True, slots=True)
class OwnModules(MetaPathFinder):
    """Finder of a few top-level modules of one folder.

    Attributes:
        folder: The folder.
        names: Names of the modules and packages; modules inside such a package are found by its own search path.
    """

    folder: str
    names: tuple[str, ...]

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return where a module of these names is imported from; None for any other."""
        return PathFinder.find_spec(fullname, [self.folder]) if path is None and fullname in self.names else None


@contextmanager
def importable(folder: Path, named: Iterable[str]) -> Iterator[None]:
    """Make modules of a folder importable in the block, here and in processes that start in it.

    Args:
        folder: The folder.
        named: Dotted names of modules; what their files import from beside them is importable too.
    """
    finder = OwnModules(str(folder), tuple(sorted(with_imported(folder, named))))
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = json.dumps([finder.folder, finder.names])
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        os.environ.pop(VARIABLE)
        os.environ.update({} if before is None else {VARIABLE: before})


def resume() -> None:
    """Make the modules of the command importable that started this process; nothing without `VARIABLE`."""
    if stated := os.environ.get(VARIABLE):
        folder, names = json.loads(stated)
        finder = OwnModules(folder, tuple(names))
        if finder not in sys.meta_path:
            sys.meta_path.append(finder)


def with_imported(folder: Path, named: Iterable[str]) -> set[str]:
    """Return the top-level modules of a folder that dotted names mean or that these modules import.

    Import statements are read from the text of the files, also those in functions; nothing is imported. A module
    that is imported in another way, e.g. by `importlib.import_module`, must be named itself.
    """
    found: set[str] = set()
    waiting, seen = list(named), set[str]()
    while waiting:
        parts = waiting.pop().split(".")
        for module in (".".join(parts[:n]) for n in range(1, len(parts) + 1)):
            place = folder.joinpath(*module.split("."))
            if module in seen or not module.split(".")[-1].isidentifier():
                continue
            seen.add(module)
            files = [f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file()]
            if not files and not place.is_dir():
                break
            found.add(parts[0])
            waiting += [name for file in files for name in _imported(file, module)]
    return found


def _imported(file: Path, module: str) -> Iterator[str]:
    """Yield the modules that a file of Python imports, each with the names it takes of it."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):  # it cannot be imported either
        return
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            whole = ".".join([*above, *([node.module] if node.module else [])])
            yield from (whole, *(f"{whole}.{name.name}" for name in node.names)) if whole else ()


def unnamed_import(message: str) -> str:
    """Return how to import the module of the working folder that an error message misses; empty for any other message.

    Args:
        message: A message that may quote ``No module named 'NAME'``.
    """
    found = re.search(r"No module named '([^\W\d]\w*)'", message)
    file = Path.cwd() / f"{found[1]}.py" if found else None
    if found is None or file is None or not file.is_file():
        return ""
    return (
        f"write the statement `import {found[1]}` into your own module that needs {file}, if that file is yours: of "
        "the working folder only modules that the command names, and what these import by a statement, are imported"
    )


def class_modules(tree: Any, key: str = "") -> Iterator[str]:
    """Yield the modules of the classes that a tree of options names.

    Args:
        tree: Mappings, lists and values, as in a YAML file.
        key: Key of the tree.

    Example:
        >>> list(class_modules({"data": {"tasks": [{"class_path": "a.b.C"}]}, "model": "d.E", "weights": "f.model"}))
        ['a.b', 'd']
    """
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from class_modules(value, str(name))
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from class_modules(value, key)
    elif isinstance(tree, str):
        module, _, name = tree.rpartition(".")
        last = key.rpartition(".")[2]
        if last == "trust":
            yield tree
        if module and (name[:1].isupper() or last in ("class_path", "family")):
            yield module
