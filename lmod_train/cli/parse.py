"""A typed function becomes a command: what stands before its ``*`` is positional, the rest are options."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

import docstring_parser
from jsonargparse import ArgumentParser

from lmod_train.cli.listing import configs_folder


class CommandParser(ArgumentParser):
    """Names the closest option when one is misspelt, and never takes an abbreviation for an option."""

    def error(self, message: str, *args: Any, **kwargs: Any) -> NoReturn:
        """Print the message with what was probably meant, and exit with status 2."""
        print(
            f"error: {message}{self._meant(message)}\nNext: `{self.prog} --help` shows every option.", file=sys.stderr
        )
        raise SystemExit(2)

    def _meant(self, message: str) -> str:
        known = sorted({name for action in self._actions for name in action.option_strings if name.startswith("--")})
        unknown = re.search(r"unrecognized arguments: (--[\w.-]+)|Option '([\w.-]+)' is not accepted", message)
        if unknown is None or f"--{unknown[2]}" in known:
            return ""
        name, dot, rest = (unknown[1] or f"--{unknown[2]}").partition(".")
        near = get_close_matches(name, known, n=1)
        return f" (did you mean {near[0]}{dot}{rest}?)" if near and near[0] != name else ""


def call(function: Callable[..., None], command: str, arguments: Sequence[str]) -> None:
    """Parse the arguments by the function's own signature and docstring, build what it asks for, and call it.

    A file ``configs/<command>/default.yaml`` gives defaults where it exists; ``--config`` replaces them key by key.
    """
    parser = parser_of(function, command)
    values = parser.instantiate(parser.parse_args(list(arguments)))
    function(**{name: value for name, value in vars(values).items() if name not in ("config", "__default_config__")})


def parser_of(function: Callable[..., None], command: str) -> CommandParser:
    """Return the parser of one command."""
    defaults = configs_folder() / command / "default.yaml"
    parser = CommandParser(
        prog=f"python -m lmod_train {command}",
        description=(inspect.getdoc(function) or "").partition("\nArgs:")[0],
        allow_abbrev=False,
        default_config_files=[str(defaults)] if defaults.exists() else [],
    )
    types, said = get_type_hints(function), _said(function)
    positional = [p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    for parameter in positional:
        kind, about = types[parameter.name], said.get(parameter.name)
        if get_origin(kind) is Literal:
            parser.add_argument(parameter.name, choices=get_args(kind), help=about)
        elif get_origin(kind) is list:
            parser.add_argument(parameter.name, type=get_args(kind)[0], nargs="+", help=about)
        else:
            parser.add_argument(parameter.name, type=kind, help=about)
    if defaults.parent.is_dir():
        parser.add_argument("--config", action="config", help=f"YAML of these options, e.g. one of {defaults.parent}.")
    parser.add_function_arguments(
        function, skip={p.name for p in positional}, as_positional=False, fail_untyped=True, sub_configs=True
    )
    for action in parser._actions:  # `--strict` as well as `--strict true`
        if getattr(action, "_typehint", None) is bool:
            action.nargs, action.const = "?", True
    return parser


def _said(function: Callable[..., None]) -> dict[str, str | None]:
    documented = docstring_parser.parse(function.__doc__ or "", style=docstring_parser.DocstringStyle.GOOGLE)
    return {parameter.arg_name: parameter.description for parameter in documented.params}
