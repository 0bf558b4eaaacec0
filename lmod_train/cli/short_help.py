"""The short help of Lightning's commands: the options that people use, and where the others are printed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from lmod_train.cli.class_options import Option, options_of
from lmod_train.cli.defaults import DEFAULTS
from lmod_train.cli.names import GROUPS

WHOLE = "--help_all"
"""Option that prints every option of a command, with the text of the libraries they come from."""

WIDTH = 110
COLUMN = 34

RUN = {
    "--config NAME|FILE": "Experiment: a YAML file, or the name of a shipped one (`list configs`).",
    "--run DIR": "Folder of the run; runs/<config>/<command> where left out. The same command again continues it.",
    "--model NAME|FILE": "Model instead of the experiment's: YAML file, or name of a shipped one (`list models`).",
    "--model.init_args.KEY VALUE": "An option of the model's class.",
    "--seed_everything N": "Seed of every random number; default 0.",
    "--trust MODULE": "Module of yours whose task classes records may name, or checkpoint folder that may run code.",
}
BEGINNING = "Checkpoint that the training begins from, e.g. of another run; its own last.ckpt continues by itself."
ANSWERING = "Checkpoint whose weights answer, e.g. RUN/checkpoints/last.ckpt; without it the model as it is."
"""What `--ckpt_path` names in `fit`, and in the other commands."""

DATA = ("curated", "tasks", "batch_size", "eval_batch_size", "limit", "subset", "balance", "workers")
ASKING = ("curated", "tasks", "eval_batch_size", "split", "limit", "subset", "workers")
TRAINER = {
    "accelerator WORD": "cpu, gpu or auto.",
    "devices N": "Number of devices, or auto for all.",
    "precision WORD": "32-true, bf16-mixed, 16-mixed or bf16-true.",
    "strategy WORD": "How a model is spread over devices: auto, ddp, fsdp, or a class; see `configs/trainer`.",
}
TRAINING = {
    "max_epochs N": "Epochs; 1000 where neither this nor max_steps is set.",
    "max_steps N": "Optimiser steps at most; -1 for no limit.",
    "accumulate_grad_batches N": "Batches an optimiser step; the global batch is devices x batch_size x this.",
    "gradient_clip_val N": "Largest norm of the gradient.",
    "check_val_every_n_epoch N": "Epochs between two validations.",
}
"""Options of Lightning's Trainer in our words, for its own take paragraphs."""

CHECKS = {
    "--doctor.refuse false": "Train although a check before the first step fails.",
    "--tripwires.every N": "Optimiser steps between two probes of the model's replies; default 200.",
    "--checkpoint.every_n_train_steps N": "Optimiser steps between two checkpoints; default 20.",
}
MORE = {
    "list options data": "every --data.KEY; likewise trainer, tripwires, checkpoint ...",
    "list options llava_med_lora": "every --model.init_args.KEY of a model (`list models`)",
}
METAVARS = {"int": "N", "float": "N", "bool": "true|false", "Path": "PATH", "list": "[FILE,...]"}
"""Beginning of a type -> what stands for its value; a choice stands for itself."""


def short_help(command: str, described: str) -> str:
    """Return the help of one of Lightning's commands on about one screen.

    Args:
        command: ``fit``, ``doctor``, ``validate``, ``test`` or ``predict``.
        described: What the command does, in a sentence.
    """
    trains = command in ("fit", "doctor")
    parts = [f"usage: python -m lmod_train {command} --config NAME|FILE [--OPTION VALUE ...]", described]
    parts.append(_group("the run", RUN | {"--ckpt_path FILE": BEGINNING if trains else ANSWERING}))
    data = {o.name: o for o in options_of(GROUPS["data"])}
    parts.append(_group("the data", dict(_line(data[name]) for name in (DATA if trains else ASKING))))
    trainer = {"--trainer NAME|FILE": "Trainer instead of the experiment's: a YAML file, or the name of a shipped one."}
    known = {o.name: o for o in options_of(GROUPS["trainer"])}
    for name, words in (TRAINER | TRAINING if trains else TRAINER).items():
        trainer[f"--trainer.{name}"] = f"{words}{_default(known[name.split()[0]])}"
    parts.append(_group("the devices and the training" if trains else "the devices", trainer))
    parts += [_group("checks and checkpoints", CHECKS)] if trains else []
    return "\n\n".join([*parts, _more(command)])


def _line(option: Option) -> tuple[str, str]:
    """Return an option of the data with the first sentence of its description and its default."""
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
    pointers = MORE | {f"{command} {WHOLE}": "every option, some 850 lines"}
    width = max(map(len, pointers)) + 2
    return "\n".join(
        ["more options:", *(f"  python -m lmod_train {typed.ljust(width)}{what}" for typed, what in pointers.items())]
    )
