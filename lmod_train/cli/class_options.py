"""Options of a class with type, default and description, read from source text without importing it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

import docstring_parser
import yaml

from lmod_train.cli.defaults import DEFAULTS
from lmod_train.cli.listing import known_classes
from lmod_train.cli.names import GROUPS
from lmod_train.cli.signatures import class_in, class_names, value_in
from lmod_train.core.errors import BadArgument
from lmod_train.core.shipped import configs_folder

WIDTH = 110
LONGEST = 700
"""Maximum characters of a constant's value in the text; a longer one is shown by name."""

_LITERAL = re.compile(r"Literal\[([^\]]*)\]")


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


def options_text(name: str) -> str:
    """Return a paragraph per option of a class.

    Args:
        name: A class path, a group of options (``data``, ``trainer``), or the name of a source, task or model config.

    Raises:
        BadArgument: The name is unknown.
    """
    path = class_path_of(name)
    ours = DEFAULTS.get(name, {})
    found = [replace(o, default=repr(ours[o.name])) if o.name in ours else o for o in options_of(path)]
    if not found:
        return f"{path} has no options."
    return "\n".join([path, *("\n".join(_paragraph(option)) for option in found)])


def class_path_of(name: str) -> str:
    """Return the class path of a name.

    Raises:
        BadArgument: The name is unknown.

    Example:
        >>> class_path_of("idrid"), class_path_of("data")
        ('lmod_train.data.sources.idrid.Idrid', 'lmod_train.data.datamodules.records.RecordsDataModule')
    """
    known = _known()
    module, dot, last = name.rpartition(".")
    if dot and (last in class_names(module) or class_in(module, last) is not None):
        return name
    if name not in known:
        near = get_close_matches(name, known, n=1)
        listed = "`python -m lmod_train list sources`, `list tasks` and `list models` print names and class paths"
        cure = f"did you mean `python -m lmod_train list options {near[0]}`?" if near else listed
        expected = f"a class path, the name of a source, task or model config, or one of {', '.join(GROUPS)}"
        raise BadArgument("list options", name, expected, cure)
    return known[name]


def options_of(path: str) -> list[Option]:
    """Return the options of a class, those of nested dataclasses included; empty if the class is not found."""
    module, _, name = path.rpartition(".")
    place = class_in(module, name)
    return [] if place is None else list(_nested(*place))


def _known() -> dict[str, str]:
    """Return name -> class path of the groups, sources, tasks and model configs."""
    found = dict(GROUPS)
    for base in ("Task", "Source"):
        found = {str(c.constants["name"]): c.path for c in reversed(known_classes(base))} | found
    for file in sorted((configs_folder() / "model").glob("*.yaml")):
        found.setdefault(file.stem, yaml.safe_load(file.read_text(encoding="utf-8"))["class_path"])
    return found


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
            yield Option(name, ast.unparse(field.annotation), _unparsed(value), described.get(name, ""))
        return
    init = _init(node)
    if init is not None:
        yield from _of_function(init, described)
    if init is None or init.args.kwarg is not None:
        for base in node.bases:
            place = class_in(module, base.id) if isinstance(base, ast.Name) else None
            yield from _of_class(*place) if place else ()


def _of_function(function: ast.FunctionDef, described: dict[str, str]) -> Iterator[Option]:
    arguments = function.args
    placed = [*arguments.posonlyargs, *arguments.args]
    values = [*[None] * (len(placed) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    for argument, value in zip([*placed, *arguments.kwonlyargs], values, strict=True):
        if argument.arg not in ("self", "root"):  # curation finds a source's root
            kind = ast.unparse(argument.annotation) if argument.annotation else "any"
            yield Option(argument.arg, kind, _unparsed(value), described.get(argument.arg, ""))


def _unparsed(value: ast.expr | None) -> str | None:
    return None if value is None else ast.unparse(value)


def _init(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)


def _described(node: ast.ClassDef) -> dict[str, str]:
    """Return option -> description from the docstrings of the class and of its constructor."""
    documented = [ast.get_docstring(node), (init := _init(node)) and ast.get_docstring(init)]
    parsed = [docstring_parser.parse(text, style=docstring_parser.DocstringStyle.GOOGLE) for text in documented if text]
    return {p.arg_name: " ".join((p.description or "").split()) for one in parsed for p in one.params}


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _plainly(module: str, kind: str) -> str:
    """Return a type as text, the words of a choice in braces."""

    def written(word: re.Match[str]) -> str:
        value = value_in(module, word[0])
        text = "" if value is None else ast.unparse(value)
        return text if text.startswith("Literal[") else word[0]

    text = re.sub(r"\b[A-Z]\w+", written, kind)
    return _LITERAL.sub(lambda found: "{" + found[1].replace("'", "") + "}", text)


def _resolved(module: str, default: str | None) -> str | None:
    """Return a default as text, a constant by its value unless that is long."""
    value = value_in(module, default) if default and default.isidentifier() else None
    text = ast.unparse(value) if value is not None else default
    return default if text is not None and len(text) > LONGEST else text


def _paragraph(option: Option) -> Iterator[str]:
    default = "required" if option.default is None else f"default {option.default}"
    yield f"  {option.name}: {option.kind}, {default}"
    yield from textwrap.wrap(option.description, WIDTH, initial_indent="      ", subsequent_indent="      ")
