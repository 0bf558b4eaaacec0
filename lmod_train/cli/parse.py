"""A typed function becomes a command: what stands before its ``*`` is positional, the rest are options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Literal, get_args, get_origin, get_type_hints

import docstring_parser

from lmod_train.cli.listing import configs_folder
from lmod_train.cli.names import check_configs
from lmod_train.cli.own import check_trusted
from lmod_train.cli.refusal import Refusing


def call(function: Callable[..., None], command: str, arguments: Sequence[str]) -> None:
    """Parse the arguments by the function's own signature and docstring, build what it asks for, and call it.

    A file ``configs/<command>/default.yaml`` gives defaults where it exists; ``--config`` replaces them key by key.
    """
    parser = parser_of(function, command)
    if "--config" in parser._option_string_actions:
        check_configs(arguments)
    parsed = parser.parse_args(list(arguments))
    check_trusted(parsed.get("trust") or ())
    values = parser.instantiate(parsed)
    function(**{name: value for name, value in vars(values).items() if name not in ("config", "__default_config__")})


def parser_of(function: Callable[..., None], command: str) -> Refusing:
    """Return the parser of one command."""
    defaults = configs_folder() / command / "default.yaml"
    parser = Refusing(
        prog=f"python -m lmod_train {command}",
        description=(inspect.getdoc(function) or "").partition("\nArgs:")[0],
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
        elif parameter.default is not parameter.empty:
            parser.add_argument(parameter.name, type=kind, nargs="?", default=parameter.default, help=about)
        else:
            parser.add_argument(parameter.name, type=kind, help=about)
    if defaults.parent.is_dir():
        parser.add_argument("--config", action="config", help=f"YAML of these options, e.g. one of {defaults.parent}.")
    apart: set[str | int] = {"trust", *(p.name for p in positional)}
    parser.add_function_arguments(function, skip=apart, as_positional=False, fail_untyped=True, sub_configs=True)
    if "trust" in types:  # once a module, as it is typed where a message asks for it
        parser.add_argument("--trust", action="append", default=[], metavar="MODULE", help=said.get("trust"))
    for action in parser._actions:  # `--strict` as well as `--strict true`
        if getattr(action, "_typehint", None) is bool:
            action.nargs, action.const = "?", True
    return parser


def _said(function: Callable[..., None]) -> dict[str, str | None]:
    documented = docstring_parser.parse(function.__doc__ or "", style=docstring_parser.DocstringStyle.GOOGLE)
    return {parameter.arg_name: parameter.description for parameter in documented.params}
