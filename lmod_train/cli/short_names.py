"""What a short name stands for, as in ``--config quickstart``, ``--model small_base_lora`` and ``--tasks sex,icdr``.

A name is that of a shipped config, of a task of the curated folder, or of a class that `list` prints. One item in the
place of a list, ``--data.tasks configs/task/chain.yaml``, becomes a list of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from lmod_train.cli.catalogue import datamodules, known_classes, shipped_classes
from lmod_train.cli.typed import CONFIGS, config_of, options, value_of, values_of, yaml_of
from lmod_train.core.errors import ArtifactError, BadArgument, did_you_mean
from lmod_train.core.shipped import config_files, config_folders, shipped_as

FOLDERS = {"--config": "", "-c": "", "--model": "model", "--trainer": "trainer"}
"""Option -> subfolder of the configs it names; ``curate --config`` names those in ``configs/curate``."""

DATA = "--data"
"""Option of Lightning's commands that names the class of the datamodule."""

TASKS = "--data.tasks"
"""Option of Lightning's commands whose value is a list of tasks; they can be those of a curated folder, too."""

LISTS = {("curate", "--tasks"): "task", ("curate", "--sources"): "source", ("report", "--sections"): "section"}
"""Command and option whose value is a list of classes -> what it names. With ``+`` an option adds to the list."""

_NAME = re.compile(r"[\w-]+")

_ITEM = re.compile(r"[^\[\]{}\"':,\n]+")

_BASES = {"task": "Task", "source": "Source"}

Resolved = Callable[[str], str | None]
"""Function that returns what a name stands for; None for an unknown one."""


def by_name(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with names replaced by paths of files and classes.

    A file of that name in the working folder has precedence. Unknown names of configs and models are left to
    `check_names`.

    Args:
        command: The command, e.g. ``fit`` or ``curate``.
        arguments: The arguments after the command.

    Raises:
        BadArgument: A task, source or section of this name does not exist.
        Untrusted: A task of the curated folder is of a class outside this package that is not trusted.
    """
    plain = _replaced(arguments, partial(_config, command))
    return _replaced(plain, partial(_list, command, plain))


def by_short_name(command: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with paths of shipped configs replaced by their names, for printing.

    Args:
        command: The command, e.g. ``fit`` or ``curate``.
        arguments: The arguments after the command.
    """

    def short(option: str, value: str) -> str:
        name = Path(value).stem
        with suppress(BadArgument):
            return name if by_name(command, [option, name])[1] == value else value
        return value

    return _replaced(arguments, short)


def data_class(arguments: Sequence[str]) -> str:
    """Return the path of the class of the datamodule that a command names; empty if it names none.

    Args:
        arguments: The arguments after the command, names of configs replaced by paths.

    Raises:
        BadArgument: There is no class of this package with the name.

    Example:
        >>> data_class(["--data", "GlaucomaDataModule"])
        'lmod_train.data.datamodules.named.GlaucomaDataModule'
    """
    named = ""
    for option in sorted(options(arguments), key=lambda option: option.key not in CONFIGS):
        tree: object = None
        with suppress(BadArgument):  # of a config, which its reader refuses
            if option.key in CONFIGS:
                tree = config_of(option).get("data")
            elif option.key == "data":
                tree = yaml_of(option.value)
        given = tree.get("class_path") if isinstance(tree, Mapping) else tree
        named = str((option.value if option.key == "data.class_path" else given) or named)
    if not named or "." in named:
        return named
    known = datamodules()
    if named not in known:
        cure = did_you_mean(DATA, [named], known, f"one of {', '.join(known)}")
        raise BadArgument(DATA, named, "the name of a datamodule, or the path of your own class", cure)
    return known[named]


def _replaced(arguments: Sequence[str], meant: Callable[[str, str], str]) -> list[str]:
    """Return the arguments with `meant` (option, value) in the place of each value."""
    found: list[str] = []
    for option in options(arguments):
        if not (option.head and option.value):
            found += option.words
        elif len(option.words) == 1:
            found.append(f"{option.head}={meant(option.head, option.value)}")
        else:
            found += [option.head, meant(option.head, option.value)]
    return found


def _config(command: str, option: str, name: str) -> str:
    """Return the path of a shipped config; any other value unchanged."""
    own = option == "--config" and any((folder / command).is_dir() for folder in config_folders())
    folder = command if own else FOLDERS.get(option)
    return (_shipped(folder, name) or _of_checkout(name) if folder is not None else None) or name


def _shipped(folder: str, name: str) -> str | None:
    """Return the path of a shipped config; None without one, or if the working folder has a file of that name."""
    file = config_files(folder).get(name)
    return str(file) if file and not _is(Path.is_file, name) else None


def _of_checkout(name: str) -> str | None:
    """Return the path of a shipped config named as in a checkout, ``configs/task/sex.yaml``, from any folder.

    None for another name, or if the working folder has a file of that name.
    """
    file = None if _is(Path.is_file, name) else shipped_as(name)
    return str(file) if file else None


def _list(command: str, arguments: Sequence[str], option: str, value: str) -> str:
    """Return the value of an option that names a list of classes; any other value unchanged."""
    head = option.removesuffix("+")
    kind = "task" if head == TASKS and command != "curate" else LISTS.get((command, head))
    names = _names(value) if kind else []
    if not kind or not names:
        return value
    resolve: Resolved = _section if kind == "section" else partial(_class, kind)
    if head == TASKS and any(_NAME.fullmatch(name) and not _is(Path.is_file, name) for name in names):
        resolve = _of_folder(arguments, resolve)
    found = [_item(head, kind, name, resolve) for name in names]
    if len(found) > 1 or value.strip().startswith("["):
        return value if found == names else f"[{', '.join(found)}]"
    is_list = option == head and (_is_one(Path(found[0])) or not found[0].endswith((".yaml", ".yml", ".json")))
    return f"[{found[0]}]" if is_list and not _is(Path.is_dir, found[0]) else found[0]


def _is(kind: Callable[[Path], bool], name: str) -> bool:
    """Return whether a file or folder has this name; False for a text that is too long for a name, such as options."""
    with suppress(OSError):
        return kind(Path(name))
    return False


def _names(value: str) -> list[str]:
    """Return the items of ``a,b`` or ``[a, b]``; none for YAML of another form.

    Example:
        >>> _names("a, b"), _names("[configs/a.yaml]"), _names("[{class_path: a.B}]"), _names("null")
        (['a', 'b'], ['configs/a.yaml'], [], [])
    """
    text = value.strip()
    if _is(Path.is_file, value):
        return [value]
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    items = [item.strip() for item in inner.split(",") if item.strip()]
    return items if text != "null" and all(map(_ITEM.fullmatch, items)) else []


def _item(option: str, kind: str, name: str, resolve: Resolved) -> str:
    """Return what one item of a list stands for; paths of files and classes unchanged.

    Raises:
        BadArgument: A name is unknown.
    """
    if not _NAME.fullmatch(name) or _is(Path.is_file, name):
        return _of_checkout(name) or name
    found = resolve(name)
    if found is None:
        raise _unknown(option, kind, name, known_names(kind))
    return found


def _unknown(option: str, kind: str, name: str, known: Sequence[str]) -> BadArgument:
    """Return the error of a name that nothing has, with the closest one."""
    every = f"one of {', '.join(known)}" if kind == "section" else f"`python -m lmod_train list {kind}s` lists them"
    cure = did_you_mean(option, [name], known, every)
    return BadArgument(option, name, f"the name of a {kind}, a YAML file or a class path", cure)


def known_names(kind: str) -> list[str]:
    """Return the names of shipped tasks, sources or sections, and of tasks and sources of the working folder."""
    if kind == "section":
        return sorted(_sections())
    return sorted(config_files(kind).keys() | {str(found.constants["name"]) for found in known_classes(_BASES[kind])})


def _class(kind: str, name: str) -> str | None:
    """Return the shipped config of a task or source, or the path of the class that has this name."""
    if (file := _shipped(kind, name)) is not None:
        return file
    found = [c.path for c in known_classes(_BASES[kind]) if name in (c.constants["name"], c.name)]
    return found[0] if found else None


def _section(name: str) -> str | None:
    """Return the class path of a section."""
    return _sections().get(name)


def _sections() -> dict[str, str]:
    """Return the name of each section of this package, its own or that of its module -> its class path."""
    found = [c for c in reversed(shipped_classes("Section")) if "Section" in c.bases]  # of one name, the first
    return {str(c.constants.get("name") or c.path.split(".")[-2]): c.path for c in found}


def _of_folder(arguments: Sequence[str], otherwise: Resolved) -> Resolved:
    """Return a function that looks a task up in the curated folder of a command first, then by `otherwise`."""
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.data.datamodules.folder_tasks import names_with_records, rebuilt_tasks, stated_tasks

    curated = value_of("data.curated", arguments)
    try:
        manifest = read_manifest(Path(curated)) if curated else {}
        known, stated = names_with_records(manifest), stated_tasks(manifest)
    except ArtifactError:  # `check_names` refuses the folder
        return lambda name: otherwise(name) or name

    def resolve(name: str) -> str | None:
        if name not in known:
            found = otherwise(name)
            if found is None and name in stated:
                expected = f"a task with records in {curated}, where this one has none: {', '.join(known)}"
                cure = f"name others: `{TASKS} {','.join(known)}`" if known else f"see {curated}/dropped.csv"
                raise BadArgument(TASKS, name, expected, cure)
            if found is None:
                raise _unknown(TASKS, "task", name, [*known, *known_names("task")])
            return found
        ((path, settings),) = rebuilt_tasks(Path(curated), [name], tuple(values_of(arguments, "--trust"))).values()
        return json.dumps({"class_path": path, "init_args": settings})

    return resolve


def _is_one(file: Path) -> bool:
    """Return whether a file holds one task, not a list; False for what cannot be read, which the parser refuses."""
    return file.suffix in (".yaml", ".yml") and isinstance(yaml_of(str(file)), dict)
