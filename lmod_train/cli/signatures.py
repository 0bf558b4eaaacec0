"""Parameters of classes, read from source text without importing it, as importing torch takes seconds."""

from __future__ import annotations

import ast
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path


def module_file(module: str) -> Path | None:
    """Return the file of a module without importing it, None if there is none.

    The working folder is searched after installed packages.

    Example:
        >>> module_file("lmod_train.cli.signatures").name, module_file("lmod_train.nowhere")
        ('signatures.py', None)
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


def class_names(module: str) -> tuple[str, ...]:
    """Return the names of the public classes a module defines, in order; empty if there is no such module."""
    tree = _tree(module)
    body = tree.body if tree else []
    return tuple(node.name for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))


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
    module, _, name = path.rpartition(".")
    node = _definition(module, name)
    if isinstance(node, ast.ImportFrom):
        return parameters_of(f"{node.module}.{name}", method) if node.module and not node.level else None
    if node is None:
        return None
    function = next((f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == method), None)
    own = _own(function) if function else ()
    if function is not None and function.args.kwarg is None:
        return own
    above = [_of_base(module, base, method) for base in node.bases]
    known = [names for names in above if names is not None]
    return None if len(known) < len(above) else tuple(dict.fromkeys([*own, *(n for names in known for n in names)]))


def class_in(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """Return the module that defines a class and the class's syntax tree, following imports; None if not found."""
    node = _definition(module, name)
    if isinstance(node, ast.ImportFrom):
        return class_in(node.module, name) if node.module and not node.level else None
    return None if node is None else (module, node)


def value_in(module: str, name: str) -> ast.expr | None:
    """Return the value a module assigns to a name, following imports; None if there is none."""
    tree = _tree(module)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets):
            return node.value
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            return node.value
        if isinstance(node, ast.ImportFrom) and node.module and not node.level and _brings(node, name):
            return value_in(node.module, name)
    return None


def _brings(node: ast.ImportFrom, name: str) -> bool:
    return any(alias.name == name and alias.asname is None for alias in node.names)


def _own(function: ast.FunctionDef) -> tuple[str, ...]:
    arguments = function.args
    return tuple(a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])[1:]


def _of_base(module: str, base: ast.expr, method: str) -> tuple[str, ...] | None:
    """Return the parameters of a base class by its name in the module; `ABC` and `object` have none."""
    if not isinstance(base, ast.Name):
        return None
    return () if base.id in ("ABC", "object") else parameters_of(f"{module}.{base.id}", method)


def _definition(module: str, name: str) -> ast.ClassDef | ast.ImportFrom | None:
    """Return the definition of a class in a module, or the statement that imports it."""
    tree = _tree(module)
    for node in tree.body if tree else ():
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
        if isinstance(node, ast.ImportFrom) and _brings(node, name):
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
