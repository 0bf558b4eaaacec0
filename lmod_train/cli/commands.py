"""Every command and what it runs: those of the main path, and those that extensions add, told in the same record."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.extension import Extension, doubled, extensions, leave_out, loaded, merged, named, present
from lmod_train.core.package_data import package_data

LIGHTNING: dict[str, str] = package_data(__file__, "texts.yaml")["lightning"]
"""Commands that import torch and Lightning -> what they do."""

MAIN = Extension(
    name="main",
    about="The path from raw datasets to the report of a model.",
    commands={
        "phantom": "lmod_train.cli.phantoms:phantom",
        "curate": "lmod_train.cli.curation:curate",
        "report": "lmod_train.cli.report:report",
        "list": "lmod_train.cli.listing:show",
        "subset": "lmod_train.cli.curation:subset",
        "export": "lmod_train.cli.formats:export",
        "rescore": "lmod_train.cli.report:rescore",
    },
)
"""Commands of the main path that are not Lightning's."""

FIRST = ("phantom", "curate", "fit", "validate", "report", "list")
"""The commands of the main path, in the order of use."""


def commands(of: Sequence[Extension] | None = None) -> dict[str, str]:
    """Return the whole name of each command that is not Lightning's -> ``module:function``.

    Args:
        of: Extensions; None for all.

    Example:
        >>> commands()["curate"]
        'lmod_train.cli.curation:curate'
    """
    found, owners = dict(MAIN.commands), dict.fromkeys((*LIGHTNING, *MAIN.commands), "the main path")
    for one in extensions() if of is None else of:
        own = {**one.commands, **one.asking}
        for name in list(own):
            if owner := next((owner for other, owner in owners.items() if _clash(name, other)), ""):
                leave_out(one, "commands", name, owner)
                del own[name]
        found |= own
        owners |= dict.fromkeys(own, one.name)
    return found


def _clash(name: str, other: str) -> bool:
    """Return whether two commands cannot be told apart: they are one, or one is the group of the other.

    Example:
        >>> [_clash("draft ask", other) for other in ("draft ask", "draft", "draft review", "ask")]
        [True, True, False, False]
    """
    return f"{name} ".startswith(f"{other} ") or f"{other} ".startswith(f"{name} ")


def asks(command: str) -> bool:
    """Return whether a command of an extension asks a model, and so takes the options of `validate` too."""
    path = commands().get(command)
    return any(path == one.asking.get(command) for one in extensions()) and path is not None


def groups() -> dict[str, dict[str, str]]:
    """Return each group of commands, such as ``weights`` -> the name in the group -> ``module:function``."""
    found: dict[str, dict[str, str]] = {}
    for name, path in commands().items():
        group, _, rest = name.partition(" ")
        if rest:
            found.setdefault(group, {})[rest] = path
    return found


def chosen(command: str, arguments: Sequence[str]) -> tuple[str, Callable[..., Any]]:
    """Return the name and function of what was typed: an option such as ``curate --table`` may choose another one.

    Args:
        command: Whole name of a command.
        arguments: The words after it.
    """
    own, typed = _function(command, commands()[command]), {word.partition("=")[0] for word in arguments}
    every = merged("options", [f"{command} --{parameter}" for parameter in signature(own).parameters])
    chosen = {name: path for name, path in every.items() if {*name.rsplit(" ", 1)} <= {command, *typed}}
    meant = {name: _function(name, path) for name, path in chosen.items()}
    if not meant:
        return command, own
    options = {name.rpartition("--")[2] for name in meant}  # `curate --table T --sheet S` means the sheet of a workbook
    return max(meant.items(), key=lambda one: len(options & signature(one[1]).parameters.keys()))


def _function(name: str, path: str) -> Callable[..., Any]:
    """Return the function of a command or option.

    Raises:
        BadArgument: It is of an extension, and cannot be imported.
    """
    if path in MAIN.commands.values():
        return named(path)  # type: ignore[no-any-return]
    for function in loaded([path]):
        return function  # type: ignore[no-any-return]
    module = path.partition(".")[0]
    cure = f"repair the extension, or do without it; `{shlex.join(['pip', 'show', module])}` says which package it is"
    raise BadArgument("command", name, f"{path} to be a function that can be imported", cure)


def whole_name(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the whole name of the command as the first one.

    Example:
        >>> whole_name(["list", "tasks"])
        ['list', 'tasks']
    """
    whole = " ".join(arguments[:2])
    return [whole, *arguments[2:]] if whole in commands() else list(arguments)


def overview() -> str:
    """Return the text of ``--help``: the main path with what each command does, then the others by name."""
    first = "\n".join(f"  {name:<10}{LIGHTNING.get(name) or _about(MAIN.commands[name])}" for name in FIRST)
    others = [name for name in (*LIGHTNING, *_short(MAIN.commands)) if name not in FIRST]
    known = commands(present())
    added = "\n".join(f"  {one.name:<15}{_added(one, known)}" for one in present())
    refused = f"\n\nerror of every other command: {doubled()}" if doubled() else ""
    return (
        "usage: python -m lmod_train COMMAND [options]\n\n"
        "Train and evaluate vision-language models on eye images.\n\n"
        f"the main path, in the order of use:\n{first}\n\n"
        f"also: {', '.join(others)}\n\n"
        f"extensions:\n{added}\n\n"
        "`python -m lmod_train COMMAND --help` says what a command does, and shows its options.\n"
        "`--follow_links` with any command follows links that lead out of a curated folder."
        f"{refused}"
    )


def _added(one: Extension, known: Mapping[str, str]) -> str:
    """Return what an extension is about, and the commands and options that it adds."""
    own = {name: path for name, path in {**one.commands, **one.asking}.items() if known.get(name) == path}
    names = [*_short(own), *one.options]
    return f"{one.about}: {', '.join(names)}" if names else one.about


def _short(held: Mapping[str, str]) -> list[str]:
    """Return the names of commands, those of a group as one, e.g. ``weights convert|merge``."""
    found: dict[str, list[str]] = {}
    for name in held:
        group, _, rest = name.partition(" ")
        found.setdefault(group, []).extend([rest] if rest else [])
    return [f"{group} {'|'.join(names)}" if names else group for group, names in found.items()]


def group_overview(group: str) -> str:
    """Return the text of the ``--help`` of a group: its commands with what they do."""
    own = groups()[group]
    width = max(map(len, own)) + 2
    held = "\n".join(f"  {name:<{width}}{_about(path)}" for name, path in own.items())
    return (
        f"usage: python -m lmod_train {group} COMMAND [options]\n\ncommands:\n{held}\n\n"
        f"`python -m lmod_train {group} COMMAND --help` says what a command does, and shows its options."
    )


def _about(path: str) -> str:
    function = next(loaded([path]), _about)
    return (function.__doc__ or "").partition("\n")[0]
