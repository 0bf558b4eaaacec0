"""The short help fits on a screen or two, and what it prints to be typed is accepted."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.catalogue import parameters_of
from lmod_train.cli.commands import LIGHTNING
from lmod_train.cli.names import GROUPS
from lmod_train.cli.short_help import WHOLE, short_help
from tests import forks

COMMANDS = list(LIGHTNING)


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_short_and_says_what_the_command_does(command: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert LIGHTNING[command] in text and text.startswith(f"usage: python -m lmod_train {command} ")
    assert text.count("\n") <= 70 and max(map(len, text.splitlines())) <= 120
    assert "Namespace(" not in text and "None" not in text and "``" not in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_exists(command: str):
    options = re.findall(r"^  --([\w.]+)", short_help(command, ""), re.M)
    assert len(options) == len(set(options)) >= 15
    for group, _, name in (option.partition(".") for option in options):
        if name and group in GROUPS:
            assert name in (parameters_of(GROUPS[group]) or ()), f"{group}.{name}"
    single = {o for o in options if "." not in o}
    assert single == {"config", "run", "model", "seed_everything", "seeds", "folds", "trust", "ckpt_path", "trainer"}


def test_the_defaults_are_those_of_the_classes():
    text = short_help("fit", "")
    assert re.search(r"--data.batch_size N +Number of questions in a training batch, per device\. Default 16.\n", text)
    assert "--data.balance {none,class,modality,class_modality}\n" in text


SLOW = {"test", "predict"}
"""Commands whose short help differs from that of `validate` in its name alone."""


@pytest.mark.parametrize("command", [pytest.param(c, marks=pytest.mark.slow if c in SLOW else []) for c in COMMANDS])
def test_the_commands_that_it_prints_can_be_typed(command: str, capsys: pytest.CaptureFixture[str]):
    typed = re.findall(r"^  python -m lmod_train (.+?)  +", short_help(command, ""), re.M)
    assert len(typed) == 3 and typed[-1] == f"{command} {WHOLE}"
    for line in typed[:-1]:
        assert cli.main(shlex.split(line)) == 0
    assert "  max_new_tokens: int, default 512\n" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["validate", "doctor"])
def test_the_long_form_is_reachable_and_dumps_no_objects(command: str, tmp_path: Path):
    done = forks.run(["-m", "lmod_train", command, WHOLE], tmp_path)
    assert done.returncode == 0
    usage, described, *_ = done.stdout.split("\n\n")
    assert usage == f"usage: python -m lmod_train {command} --config NAME|FILE [--OPTION VALUE ...]"
    assert " ".join(described.split()) == LIGHTNING[command]
    for option in ("--trainer.detect_anomaly", "--data.max_questions", "--read_back.at_most", "--model"):
        assert option in done.stdout
    assert "Namespace(" not in done.stdout and "<lmod_train" not in done.stdout and done.stderr == ""


def test_the_short_form_loads_no_torch():
    code = "import sys; from lmod_train import cli; cli.main(['fit', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "lightning", "transformers"} & set(done.stdout.splitlines()[-1].split())
