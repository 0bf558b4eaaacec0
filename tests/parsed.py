"""Commands of this package, parsed down to their last option by the parsers that run them; nothing is started."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from typing import Any

from lmod_train import cli
from lmod_train.cli.commands import LIGHTNING, asks, chosen, commands, whole_name
from lmod_train.cli.parse import parser_of, parted
from lmod_train.cli.parser import Refusing
from lmod_train.cli.short_names import by_name, data_class
from lmod_train.core.shipped import configs_folder

SERIES = ("--seeds", "--folds")
"""Options of several runs, which the command line turns into commands of single runs before they are parsed."""

TABLE = "curate --table"
"""Name of the parser of `curate` with the option ``--table``."""


@cache
def lightning_parser(data: str = "") -> Any:
    """Return Lightning's parser with our classes behind it; it parses and builds nothing.

    Args:
        data: Class path of the data, where it is another one.
    """
    from lightning.pytorch.cli import LightningCLI

    from lmod_train.cli.doctor import Parsed
    from lmod_train.cli.experiment import options

    class Every(Parsed):
        subcommands = staticmethod(LightningCLI.subcommands)  # all, not only the typed one

    scripted, task = configs_folder() / "model" / "scripted.yaml", configs_folder() / "task" / "glaucoma.yaml"
    arguments = ["fit", "--data.curated", "c", "--data.tasks", f"[{task}]", "--model", str(scripted)]
    arguments += ["--data", data] if data else []
    return Every(ExitStack(), **options(), args=arguments).parser


@cache
def plain_parser(command: str) -> Any:
    """Return the parser of a command that is no command of Lightning."""
    name, _, option = command.partition(" --")
    found, function = chosen(name, [f"--{option}"] if option else [])
    return parser_of(function, found)


def parse(arguments: list[str]) -> None:
    """Parse the arguments of one of our commands, down to its last option.

    Raises:
        LmodError: An option is unknown, or a value is refused.
        SystemExit: The same, as the parsers say it.
    """
    command, *rest = whole_name([word for word in arguments if word != cli.FOLLOWING])
    rest = by_name(command, rest)
    if asks(command) and command != "dissect":
        own, others = parted(rest)
        plain_parser(command).parse_args(own)
        given = ["--data.curated", "c", "--data.tasks", "[]", "--model", str(configs_folder() / "model/openai.yaml")]
        lightning_parser().parse_args(["fit", *given, *others])
    elif command in commands() and chosen(command, rest)[0] != command:
        plain_parser(chosen(command, rest)[0]).parse_args(rest)
    elif command in commands():
        plain_parser(command).parse_args(rest)
    elif command in LIGHTNING:
        single = [w for before, w in zip(["", *rest], rest, strict=False) if not {before, w} & {*SERIES}]
        kind = data_class(single)
        parser, before = lightning_parser(kind), Refusing.data_class
        Refusing.data_class = kind  # as the command sets it, before configs are read
        try:
            parser.parse_args(["fit" if command == "doctor" else command, *single])
        finally:
            Refusing.data_class = before
    else:
        cli._refuse([command, *rest])


def options_of(parser: Any) -> set[str]:
    """Return the options of a parser, dashes and dots included."""
    return {option for action in parser._actions for option in action.option_strings}
