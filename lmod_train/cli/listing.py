"""Lists of sources, tasks, models and configs, read from source text and YAML without importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from lmod_train.core.shipped import PACKAGE, configs_folder

ROOMS = {"Source": "data/sources", "Task": "tasks"}
"""Base class -> folder of this package in which its descendants lie, at any depth."""

_DERIVED = re.compile(r"^class \w+\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ClassText:
    """A class, as read from its source text.

    Attributes:
        path: Class path, as in a config.
        bases: Names of the base classes, without modules and type parameters.
        doc: Docstring, empty if there is none.
        constants: Literals assigned in the class body, and those assigned to private names of its module.
    """

    path: str
    bases: tuple[str, ...]
    doc: str
    constants: dict[str, object]

    @property
    def name(self) -> str:
        """Name of the class, without its module."""
        return self.path.rpartition(".")[2]


def classes_in(room: Path, package: str) -> Iterator[ClassText]:
    """Yield the top-level classes with bases of a package's modules, in order of file and line."""
    for file in sorted(room.rglob("*.py")):
        yield from _classes_of(file, ".".join((package, *file.relative_to(room).with_suffix("").parts)))


def _classes_of(file: Path, module: str) -> Iterator[ClassText]:
    text = file.read_text(encoding="utf-8")
    if not _DERIVED.search(text):  # parsing a file takes ten times as long
        return
    tree = ast.parse(text, filename=str(file))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = tuple(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
            constants = {k: v for k, v in _constants(tree) if k.startswith("_")} | dict(_constants(node))
            yield ClassText(f"{module}.{node.name}", bases, ast.get_docstring(node) or "", constants)


def own_classes_in(folder: Path) -> Iterator[ClassText]:
    """Yield the classes of a folder's modules, and of the modules of its packages, as `classes_in` does.

    Files that are not valid Python are skipped, as they could not be imported either.
    """
    packages = [p.parent for p in sorted(folder.glob("*/__init__.py")) if p.parent.resolve() != PACKAGE]
    for room, package in [(folder, ""), *((p, f"{p.name}.") for p in packages)]:
        for file in sorted(room.glob("*.py")):
            with suppress(OSError, SyntaxError, ValueError, RecursionError):
                yield from _classes_of(file, package + file.stem)


def descendants(base: str, classes: list[ClassText]) -> list[ClassText]:
    """Return the classes that inherit from `base` at any depth and define `name`, in the given order."""
    family = {base}
    while grown := {c.name for c in classes if family & set(c.bases)} - family:
        family |= grown
    return [c for c in classes if c.name in family - {base} and "name" in c.constants]


def shipped_classes(base: str) -> list[ClassText]:
    """Return the classes in the folder of this package that holds the sources or tasks."""
    return list(classes_in(PACKAGE / ROOMS[base], ".".join(("lmod_train", *ROOMS[base].split("/")))))


def known_classes(base: str) -> list[ClassText]:
    """Return sources (`base` is ``Source``) or tasks (``Task``): those of this package, then of the working folder."""
    return descendants(base, [*shipped_classes(base), *own_classes_in(Path())])


def sources() -> str:
    """Return a paragraph per source: name, modality, licence, class path, publication, description and folders.

    Sources of this package come first, then those of the working folder.
    """
    found = known_classes("Source")
    return "\n\n".join(
        f"{c.constants['name']}  ({c.constants.get('modality', '?')}; licence: {c.constants.get('licence', '?')})\n"
        f"  {c.path}\n  Published at: {c.constants.get('reference', '?')}\n"
        f"{_indented(c.doc)}\n  Expected folders:\n{_indented(str(c.constants.get('_TREE', '?')))}"
        for c in found
    )


def tasks() -> str:
    """Return a paragraph per task: name, version, class path and description; those of the working folder last."""
    found = known_classes("Task")
    return "\n\n".join(
        f"{c.constants['name']}  (version {c.constants.get('version', '?')})\n  {c.path}\n"
        + _indented(c.doc.partition("\n")[0])
        for c in found
    )


def models() -> str:
    """Return a paragraph per model config: its option, class path, and the comment at the top of the file."""
    folder = configs_folder() / "model"
    paragraphs = []
    for file in sorted(folder.rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        comment = re.match(r"(?:#.*\n)*", text)
        described = re.sub("^#:? ?", "", comment[0].rstrip(), flags=re.M) if comment else ""
        chosen = yaml.safe_load(text) or {}
        paragraphs.append(f"{file.stem}  (--model {file})\n  {chosen.get('class_path', '?')}\n" + _indented(described))
    return "\n\n".join(paragraphs)


def configs() -> str:
    """Return a line per shipped experiment and curation: its option, and the first line of its comment."""
    found = []
    for command, folder in (("fit", configs_folder()), ("curate", configs_folder() / "curate")):
        for file in sorted(folder.glob("*.yaml")):
            first = file.read_text(encoding="utf-8").partition("\n")[0]
            found.append(f"{command} --config {file.stem:<28}{first.removeprefix('#').strip()}")
    return "\n".join(found)


def _constants(node: ast.ClassDef | ast.Module) -> Iterator[tuple[str, object]]:
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                pass
            case _:
                continue
        try:
            yield name, ast.literal_eval(value)
        except ValueError:  # not a literal
            continue


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
