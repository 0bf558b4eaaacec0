"""The short help of Lightning's commands: the most used options, and commands that print all others."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from lmod_train.cli.catalogue import Option, options_of
from lmod_train.cli.defaults import DEFAULTS
from lmod_train.cli.names import GROUPS

WHOLE = "--help_all"
"""Option that prints every option of a command, with the help texts of the libraries."""

WIDTH = 110
COLUMN = 34

RUN = {
    "--config NAME|FILE": "Experiment: YAML file, or name of a shipped one (`list configs`).",
    "--run DIR": "Folder of the run; default runs/<config>/<command>. The same command again continues the run.",
    "--model NAME|FILE": "Another model: YAML file, or name of a shipped one (`list models`).",
    "--model.init_args.KEY VALUE": "Option KEY of the model (`list options MODEL`).",
    "--seed_everything N": "Seed of all random numbers; default 0.",
    "--seeds N|LIST": "One run for each seed, 0 to N-1 or those of a list, in RUN/seed_0, RUN/seed_1 ...",
    "--folds K": "Cross-validation: one run for each of K folds of patients, in RUN/fold_1ofK ...",
    "--trust MODULE": "Your module with task classes of the records, or checkpoint folder allowed to run code.",
}
BEGINNING = "Checkpoint of another run to start from; an interrupted run continues from its own last.ckpt."
ANSWERING = "Checkpoint to evaluate, e.g. RUN/checkpoints/last.ckpt; default: the model without training."
"""Help of `--ckpt_path` in `fit` and in the other commands."""

DATA = ("curated", "tasks", "batch_size", "eval_batch_size", "limit", "subset", "balance", "workers")
ASKING = ("curated", "tasks", "eval_batch_size", "split", "limit", "subset", "workers")
TRAINER = {
    "accelerator WORD": "cpu, gpu or auto.",
    "devices N": "Number of devices, or auto for all.",
    "precision WORD": "32-true, bf16-mixed, 16-mixed or bf16-true.",
    "strategy WORD": "Distribution over devices: auto, ddp, fsdp or a class path; see configs/trainer.",
}
TRAINING = {
    "max_epochs N": "Maximum epochs; 1000 if neither this nor max_steps is set.",
    "max_steps N": "Maximum optimiser steps; default: no limit.",
    "accumulate_grad_batches N": "Batches per optimiser step; the global batch is devices x batch_size x this.",
    "gradient_clip_val N": "Maximum norm of the gradient; default: no clipping.",
    "check_val_every_n_epoch N": "Validate every N epochs.",
}
"""Options of Lightning's Trainer, described more briefly than in its docstring."""

CHECKS = {
    "--doctor.refuse false": "Train even if a check before the first step fails.",
    "--tripwires.every N": "Check a sample of the model's replies every N optimiser steps; default 200.",
    "--checkpoint.every_n_train_steps N": "Save a checkpoint every N optimiser steps; default 20.",
}
MORE = {
    "list options data": "all --data.KEY; also trainer, tripwires, checkpoint, ...",
    "list options llava_med_lora": "all --model.init_args.KEY of a model (`list models`)",
}
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
