"""Makes a command of a typed function: parameters before ``*`` are positional arguments, the others options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import docstring_parser

from lmod_train.cli.names import check_classes, check_configs, check_trusted
from lmod_train.cli.parser import Refusing
from lmod_train.cli.typed import in_order, options
from lmod_train.core.extension import joined
from lmod_train.core.shipped import configs_folder

HANDED_ON = ("--trainer", "--seed_everything", "--ckpt_path")
"""Options of `validate` without a dot that a model that is asked and its devices may need."""
OTHERS = "others"
"""Parameter of a command that asks a model: the options of `validate` that were typed."""


def call(
    function: Callable[..., Any], command: str, arguments: Sequence[str], others: Sequence[str] | None = None
) -> int:
    """Parse arguments by the signature and docstring of a function, call it, and return the exit status.

    Args:
        function: The function; it returns None, or the status.
        command: The words by which it is typed.
        arguments: Its own arguments.
        others: Options of `validate` that a function which asks a model takes too; None for other functions.
    """
    values = values_of(function, command, arguments)
    return (function(**values) if others is None else function(others, **values)) or 0


def parted(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command's own arguments, and the options of model and devices with their values.

    Example:
        >>> parted(["RUN", "--model", "openai", "--model.backend.model", "m", "--trainer.devices=1"])
        (['RUN', '--model', 'openai'], ['--model.backend.model', 'm', '--trainer.devices=1'])
    """
    own: list[str] = []
    others: list[str] = []
    for option in options(arguments):
        handed_on = option.head.startswith("--") and ("." in option.head or option.head in HANDED_ON)
        (others if handed_on else own).extend(option.words)
    return own, others


def values_of(function: Callable[..., Any], command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Return parameter -> value of a function, parsed by its signature and docstring.

    Defaults are read from ``configs/<command>/default.yaml`` if it exists; ``--config`` replaces single keys of it.
    """
    parser = parser_of(function, command)
    if "--config" in parser._option_string_actions:
        check_configs(arguments, _settings_of(function, command))
    check_classes(arguments)
    if "--config" in parser._option_string_actions:
        arguments = in_order(arguments)
    parsed = parser.parse_args(list(arguments))
    check_trusted(parsed.get("trust") or ())
    values = parser.instantiate(parsed)
    return {name: value for name, value in vars(values).items() if name not in ("config", "__default_config__")}


def parser_of(function: Callable[..., Any], command: str) -> Refusing:
    """Return the parser of one command."""
    defaults = configs_folder() / _settings_of(function, command) / "default.yaml"
    forms = ", ".join(f"{form} --help" for form in joined("options") if form.startswith(f"{command} --"))
    parser = Refusing(
        prog=f"python -m lmod_train {command}",
        epilog=f"Of extensions, each with its own help: {forms}" if forms else None,
        description=(inspect.getdoc(function) or "").partition("\nArgs:")[0],
        default_config_files=[str(defaults)] if defaults.exists() else [],
    )
    types, described = get_type_hints(function), _described(function)
    placed = (p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD)
    positional = [p for p in placed if p.name != OTHERS]
    for parameter in positional:
        kind, about = types[parameter.name], described.get(parameter.name)
        if get_origin(kind) is Literal:
            parser.add_argument(parameter.name, choices=get_args(kind), help=about)
        elif get_origin(kind) is list:
            count: dict[str, Any] = (
                {"nargs": "+"} if parameter.default is parameter.empty else {"nargs": "*", "default": []}
            )
            parser.add_argument(parameter.name, type=get_args(kind)[0], help=about, **count)
        elif parameter.default is not parameter.empty:
            parser.add_argument(parameter.name, type=kind, nargs="?", default=parameter.default, help=about)
        else:
            parser.add_argument(parameter.name, type=kind, help=about)
    if defaults.parent.is_dir():
        text = f"YAML file of these options; its keys replace the defaults, which are in {defaults}."
        parser.add_argument("--config", action="config", help=text)
    repeatable = [name for name, kind in types.items() if kind == list[str] | None]
    apart: set[str | int] = {OTHERS, *repeatable, *(p.name for p in positional)}
    several = [name for name, kind in types.items() if kind == list[Path] | None and name not in apart]
    apart.update(several)
    parser.add_function_arguments(function, skip=apart, as_group=False, as_positional=False, sub_configs=True)
    for name in repeatable:  # `--trust A --trust B`
        metavar = "MODULE" if name == "trust" else name.upper()
        parser.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=described.get(name))
    for name in several:  # `--verify A B`
        parser.add_argument(f"--{name}", type=Path, nargs="+", metavar="FILE", help=described.get(name))
    for action in parser._actions:  # `--strict` means `--strict true`
        if getattr(action, "_typehint", None) is bool:
            action.nargs, action.const = "?", True
    return parser


def _settings_of(function: Callable[..., Any], command: str) -> str:
    """Return the command whose configs a function reads: the main one, if it hands ``**settings`` on to it."""
    hands_on = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    return command.partition(" --")[0] if hands_on else command


def _described(function: Callable[..., Any]) -> dict[str, str | None]:
    """Return parameter -> description from the function's docstring."""
    documented = docstring_parser.parse(function.__doc__ or "", style=docstring_parser.DocstringStyle.GOOGLE)
    return {parameter.arg_name: parameter.description for parameter in documented.params}
