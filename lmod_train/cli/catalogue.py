"""What classes there are and what options they have, read from source text without importing it.

Importing a module of this package may import torch, which takes seconds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path

from lmod_train.core.extension import PACKAGE, joined, packages

ROOMS = {
    "Source": ("data/sources",),
    "Task": ("tasks", "extensions"),
    "Section": ("report/sections", "extensions"),
    "RecordsDataModule": ("data/datamodules", "extensions"),
}
"""Base class -> folders of this package in which its descendants lie, at any depth."""
LONGEST = 700
"""Maximum characters of a constant's value in the text; a longer one is shown by name."""
_DERIVED = re.compile(r"^class \w+\(", re.MULTILINE)
_LITERAL = re.compile(r"Literal\[([^\]]*)\]")


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


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a class.

    Attributes:
        name: Key below ``init_args`` of a config, with dots for options of a nested dataclass.
        kind: Type; the words of a choice in braces.
        default: Python expression of the default; None if the option is required.
        description: Description in the class's docstring, on one line.
    """

    name: str
    kind: str
    default: str | None
    description: str


def known_classes(base: str) -> list[ClassText]:
    """Return sources (`base` is ``Source``) or tasks (``Task``): installed ones, then those of the working folder."""
    return descendants(base, [*shipped_classes(base), *own_classes_in(Path())])


def shipped_classes(base: str) -> list[ClassText]:
    """Return the classes in the folders that hold the sources, tasks or sections, then those of extensions."""
    rooms = ROOMS[base]
    ours = [c for room in rooms for c in classes_in(PACKAGE / room, ".".join(("lmod_train", *room.split("/"))))]
    files = {name: module_file(name) for name in joined("sources")} if base == "Source" else _of_packages()
    return [*ours, *(c for name, file in files.items() if file for c in _readable(file, name))]


def datamodules() -> dict[str, str]:
    """Return name -> class path of the datamodules of a task or benchmark, those of extensions included."""
    return {c.name: c.path for c in shipped_classes("RecordsDataModule") if "RecordsDataModule" in c.bases}


def _of_packages() -> dict[str, Path | None]:
    """Return the modules of other packages' extensions and their files."""
    found: dict[str, Path | None] = {}
    for package in packages():
        file = module_file(package)
        if file is not None and file.name == "__init__.py":
            inner = {
                own: own.relative_to(file.parent).with_suffix("").parts for own in sorted(file.parent.rglob("*.py"))
            }
            found |= {".".join((package, *(p for p in parts if p != "__init__"))): own for own, parts in inner.items()}
    return found


def descendants(base: str, classes: list[ClassText]) -> list[ClassText]:
    """Return the classes that inherit from `base` at any depth and define `name`, in the given order."""
    family = {base}
    while grown := {c.name for c in classes if family & set(c.bases)} - family:
        family |= grown
    return [c for c in classes if c.name in family - {base} and "name" in c.constants]


def options_of(path: str) -> list[Option]:
    """Return the options of a class, those of nested dataclasses included; empty if the class is not found."""
    module, _, name = path.rpartition(".")
    place = class_in(module, name)
    return [] if place is None else list(_nested(*place))


def parameters_of(path: str, method: str = "__init__") -> tuple[str, ...] | None:
    """Return the names of a method's parameters, including those of base classes that receive its ``**``.

    Args:
        path: Class path, as in a config; a class that its module imports is looked up where it is defined.
        method: Name of the method; a base's if the class does not define it.

    Returns:
        The names without ``self``; None if they cannot be determined from the text.

    Example:
        >>> parameters_of("lmod_train.training.callbacks.generation.GenerationEval")
        ('log_subsets', 'encoders')
        >>> parameters_of("nowhere.Class") is None
        True
    """
    place = class_in(*path.rpartition(".")[::2])
    chain = None if place is None else _chain(*place, method)
    if chain is None or not chain.whole:
        return None
    return tuple(dict.fromkeys(name for function in chain.functions for name in _placed(function)))


def class_names(module: str) -> tuple[str, ...]:
    """Return the names of the public classes a module defines, in order; empty if there is no such module."""
    tree = _tree(module)
    body = tree.body if tree else []
    return tuple(node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))


def module_file(module: str) -> Path | None:
    """Return the file of a module without importing it, None if there is none.

    The working folder is searched after installed packages.

    Example:
        >>> module_file("lmod_train.cli.catalogue").name, module_file("lmod_train.nowhere")
        ('catalogue.py', None)
    """
    top, *rest = module.split(".")
    try:
        spec = find_spec(top) or PathFinder.find_spec(top, [str(Path.cwd())])
    except (ImportError, ValueError):
        return None
    if spec is None or not rest:
        return Path(spec.origin) if spec and spec.origin else None
    for folder in spec.submodule_search_locations or ():
        place = Path(folder, *rest)
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                return file
    return None


def class_in(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """Return the module that defines a class and the class's syntax tree, following imports; None if not found."""
    node = _statement(module, name)
    if isinstance(node, ast.ImportFrom):
        return class_in(str(node.module), name)
    return (module, node) if isinstance(node, ast.ClassDef) else None


def _value(module: str, name: str) -> ast.expr | None:
    """Return the value a module assigns to a name, following imports; None if there is none."""
    node = _statement(module, name)
    if isinstance(node, ast.ImportFrom):
        return _value(str(node.module), name)
    return node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None


def classes_in(room: Path, package: str) -> Iterator[ClassText]:
    """Yield the top-level classes with bases of a package's modules, in order of file and line."""
    for file in sorted(room.rglob("*.py")):
        yield from _classes_of(file, ".".join((package, *file.relative_to(room).with_suffix("").parts)))


def _classes_of(file: Path, module: str) -> tuple[ClassText, ...]:
    return _classes_in_text(file.read_text(encoding="utf-8"), module)


@cache
def _classes_in_text(text: str, module: str) -> tuple[ClassText, ...]:
    """Return the top-level classes with bases; a mistyped name is looked up in the same files several times."""
    if not _DERIVED.search(text):  # parsing a file takes ten times as long
        return ()
    tree = ast.parse(text)
    private = {k: v for k, v in _constants(tree) if k.startswith("_")}
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = tuple(ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases)
            constants = private | dict(_constants(node))
            found.append(ClassText(f"{module}.{node.name}", bases, ast.get_docstring(node) or "", constants))
    return tuple(found)


def own_classes_in(folder: Path) -> Iterator[ClassText]:
    """Yield the classes of a folder's modules, and of the modules of its packages, as `classes_in` does.

    Files that are not valid Python are skipped, as they could not be imported either.
    """
    packages = [p.parent for p in sorted(folder.glob("*/__init__.py")) if p.parent.resolve() != PACKAGE]
    for room, package in [(folder, ""), *((p, f"{p.name}.") for p in packages)]:
        for file in sorted(room.glob("*.py")):
            yield from _readable(file, package + file.stem)


def _readable(file: Path, module: str) -> list[ClassText]:
    with suppress(OSError, SyntaxError, ValueError, RecursionError):
        return list(_classes_of(file, module))
    return []


def _constants(node: ast.ClassDef | ast.Module) -> Iterator[tuple[str, object]]:
    for name, value in ((name, value) for statement in node.body for name, value in _assigned(statement)):
        with suppress(ValueError):  # not a literal
            yield name, ast.literal_eval(value)


def _assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name that a statement assigns, and the value."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name, value


def _nested(module: str, node: ast.ClassDef) -> Iterator[Option]:
    """Yield the options of a class, each followed by those of the dataclass it has as its type."""
    for option in _of_class(module, node):
        yield replace(option, kind=_plainly(module, option.kind), default=_resolved(module, option.default))
        for word in re.findall(r"[A-Z]\w+", option.kind):
            place = class_in(module, word)
            if place and _is_dataclass(place[1]):
                yield from (replace(inner, name=f"{option.name}.{inner.name}") for inner in _nested(*place))


def _of_class(module: str, node: ast.ClassDef) -> Iterator[Option]:
    described = _described(node)
    if _is_dataclass(node):
        for field in (f for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)):
            assert isinstance(field.target, ast.Name)
            name, value = field.target.id, field.value
            default = None if value is None else ast.unparse(value)
            yield Option(name, ast.unparse(field.annotation), default, described.get(name, ""))
        return
    for function in _chain(module, node, "__init__").functions:
        yield from _of_function(function, described)


@dataclass(frozen=True, slots=True)
class _Chain:
    """A method of a class, then those of its bases that get its ``**``; `whole` unless a base cannot be read."""

    functions: list[ast.FunctionDef]
    whole: bool = True


def _chain(module: str, node: ast.ClassDef, method: str) -> _Chain:
    own = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == method]
    if own and own[0].args.kwarg is None:
        return _Chain(own)
    bases = [base for base in node.bases if ast.unparse(base) not in ("ABC", "object")]
    places = [class_in(module, base.id) if isinstance(base, ast.Name) else None for base in bases]
    above = [_chain(*place, method) for place in places if place]
    return _Chain(
        [*own, *(f for one in above for f in one.functions)], None not in places and all(one.whole for one in above)
    )


def _of_function(function: ast.FunctionDef, described: dict[str, str]) -> Iterator[Option]:
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    values = [*[None] * (len(placed) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    for argument, value in zip([*placed, *arguments.kwonlyargs], values, strict=True):
        if argument.arg not in ("self", "root"):  # curation finds a source's root
            kind = ast.unparse(argument.annotation) if argument.annotation else "any"
            default = None if value is None else ast.unparse(value)
            yield Option(argument.arg, kind, default, described.get(argument.arg, ""))


def _described(node: ast.ClassDef) -> dict[str, str]:
    """Return option -> description from the docstrings of the class and of its constructor."""
    import docstring_parser  # for texts of options alone

    inside = (f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__")
    documented = [ast.get_docstring(node), *map(ast.get_docstring, inside)]
    parsed = [docstring_parser.parse(text, style=docstring_parser.DocstringStyle.GOOGLE) for text in documented if text]
    return {p.arg_name: " ".join((p.description or "").split()) for one in parsed for p in one.params}


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _plainly(module: str, kind: str) -> str:
    """Return a type as text, the words of a choice in braces."""

    def written(word: re.Match[str]) -> str:
        value = _value(module, word[0])
        text = "" if value is None else ast.unparse(value)
        return text if text.startswith("Literal[") else word[0]

    text = re.sub(r"\b[A-Z]\w+", written, kind)
    return _LITERAL.sub(lambda found: "{" + found[1].replace("'", "") + "}", text)


def _resolved(module: str, default: str | None) -> str | None:
    """Return a default as text, a constant by its value unless that is long."""
    value = _value(module, default) if default and default.isidentifier() else None
    text = ast.unparse(value) if value is not None else default
    return default if text is not None and len(text) > LONGEST else text


def _placed(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]][1:]


def _statement(module: str, name: str) -> ast.stmt | None:
    """Return the statement of a module that defines a name or imports it from a module."""
    tree = _tree(module)
    for node in tree.body if tree else ():
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
        imports = node.names if isinstance(node, ast.ImportFrom) and node.module and not node.level else ()
        if any(alias.name == name and alias.asname is None for alias in imports):
            return node
        if any(own == name for own, _ in _assigned(node)):
            return node
    return None


@cache
def _tree(module: str) -> ast.Module | None:
    file = module_file(module)
    if file is None or file.suffix != ".py":
        return None
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return None
