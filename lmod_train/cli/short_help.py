"""The short help of Lightning's commands: the most used options, and commands that print all others."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from lmod_train.cli.catalogue import Option, options_of
from lmod_train.cli.defaults import DEFAULTS
from lmod_train.cli.names import GROUPS
from lmod_train.core.package_data import package_data

WHOLE = "--help_all"
"""Option that prints every option of a command, with the help texts of the libraries."""

WIDTH = 110
COLUMN = 34

_TEXTS = package_data(__file__, "texts.yaml")
RUN: dict[str, str] = _TEXTS["run"]
BEGINNING = "Checkpoint of another run to start from; an interrupted run continues from its own last.ckpt."
ANSWERING = "Checkpoint to evaluate, e.g. RUN/checkpoints/last.ckpt; default: the model without training."
"""Help of `--ckpt_path` in `fit` and in the other commands."""

DATA = ("curated", "tasks", "batch_size", "eval_batch_size", "limit", "subset", "balance", "workers")
ASKING = ("curated", "tasks", "eval_batch_size", "split", "limit", "subset", "workers")
TRAINER: dict[str, str] = _TEXTS["trainer"]
TRAINING: dict[str, str] = _TEXTS["training"]
"""Options of Lightning's Trainer, described more briefly than in its docstring."""

CHECKS: dict[str, str] = _TEXTS["checks"]
MORE: dict[str, str] = _TEXTS["more"]
METAVARS = {"int": "N", "float": "N", "bool": "true|false", "Path": "PATH", "list": "[FILE,...]"}
"""Start of a type -> placeholder of its value; a choice shows its words."""


def short_help(command: str, described: str) -> str:
    """Return the help of one of Lightning's commands on about one screen.

    Args:
        command: ``fit``, ``doctor``, ``validate``, ``test`` or ``predict``.
        described: Description of the command, one sentence.
    """
    trains = command in ("fit", "doctor")
    parts = [f"usage: python -m lmod_train {command} --config NAME|FILE [--OPTION VALUE ...]", described]
    parts.append(_group("the run", RUN | {"--ckpt_path FILE": BEGINNING if trains else ANSWERING}))
    data = {o.name: o for o in options_of(GROUPS["data"])}
    parts.append(_group("the data", dict(_line(data[name]) for name in (DATA if trains else ASKING))))
    trainer = {"--trainer NAME|FILE": "Another trainer: YAML file, or name of a shipped one (configs/trainer)."}
    known = {o.name: o for o in options_of(GROUPS["trainer"])}
    for name, words in (TRAINER | TRAINING if trains else TRAINER).items():
        trainer[f"--trainer.{name}"] = f"{words}{_default(known[name.split()[0]])}"
    parts.append(_group("the devices and the training" if trains else "the devices", trainer))
    parts += [_group("checks and checkpoints", CHECKS)] if trains else []
    return "\n\n".join([*parts, _more(command)])


def _line(option: Option) -> tuple[str, str]:
    """Return an option of `data` with the first sentence of its description and its default."""
    sentence = option.description.partition(". ")[0].rstrip(".") + "."
    value = next((word for kind, word in METAVARS.items() if option.kind.startswith(kind)), "WORD")
    value = option.kind.replace(" ", "") if option.kind.startswith("{") else value
    return f"--data.{option.name} {value}", f"{sentence}{_default(option)}".replace("``", "")


def _default(option: Option) -> str:
    default = DEFAULTS["trainer"].get(option.name, option.default)
    return "" if default in (None, "None", "''", "-1") else f" Default {str(default).strip(chr(39))}."


def _group(title: str, options: dict[str, str]) -> str:
    return "\n".join([f"{title}:", *(line for pair in options.items() for line in _wrapped(*pair))])


def _wrapped(option: str, words: str) -> Iterator[str]:
    head, blank = f"  {option}".ljust(COLUMN), " " * COLUMN
    if len(head) > COLUMN or not head.endswith(" "):
        yield head.rstrip()
        head = blank
    yield from textwrap.wrap(words, WIDTH, initial_indent=head, subsequent_indent=blank)


def _more(command: str) -> str:
    pointers = MORE | {f"{command} {WHOLE}": "all options of this command (long)"}
    width = max(map(len, pointers)) + 2
    return "\n".join(
        ["more options:", *(f"  python -m lmod_train {typed.ljust(width)}{what}" for typed, what in pointers.items())]
    )
