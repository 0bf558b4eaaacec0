"""The README is true: its commands run, in its order, and print what it says they print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.cli.listing import PACKAGE, configs_folder

README = PACKAGE.parent / "README.md"
BLOCK = re.compile(r"^```bash run\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.M | re.S)
TINY = {"--n 64": "--n 24", "--run FIT": "--run FIT --trainer.max_epochs 1 --trainer.check_val_every_n_epoch 1"}


def expected(line: str) -> str:
    """Return the pattern of a line: its numbers may differ, with the spaces before them, and ``...`` is anything."""
    loose = re.sub(r"(?:\\ )+", " +", re.escape(line).replace(r"\.\.\.", ".*"))
    return re.sub(r"\d+", r"\\d+", loose)


def missing(shown: str, printed: str) -> list[str]:
    """List the lines of `shown` that are not printed, in this order; other lines may stand between them."""
    left = iter(printed.splitlines())
    return [line for line in shown.splitlines() if not any(re.fullmatch(expected(line), real) for real in left)]


def run(command: str, folder: Path) -> str:
    for written, tiny in TINY.items():
        command = command.replace(written, tiny)
    program, *arguments = shlex.split(command)
    assert program == "python"
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def test_marked_blocks_run_and_print_what_is_shown(tmp_path: Path):
    (tmp_path / "configs").symlink_to(configs_folder())
    blocks = list(BLOCK.finditer(README.read_text(encoding="utf-8")))
    assert len(blocks) == README.read_text(encoding="utf-8").count("bash run\n") >= 6
    for block in blocks:
        printed = "".join(run(command, tmp_path) for command in block["commands"].splitlines())
        assert missing(block["shown"] or "", printed) == [], printed


def test_every_command_is_in_the_readme_and_every_command_of_the_readme_exists():
    named = set(re.findall(r"python -m lmod_train ([a-z]+)", README.read_text(encoding="utf-8")))
    assert named <= {*cli.PLAIN, *cli.LIGHTNING}
    assert {*cli.PLAIN} <= named


def test_every_file_the_readme_names_exists_or_is_said_to_be_being_built():
    text = README.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:configs|lmod_train|tests|scripts)/[\w/.]+\.\w+)`", text)) | {"LICENSE", "Dockerfile"}
    assert [name for name in sorted(named) if not (PACKAGE.parent / name).exists()] == []


@pytest.mark.parametrize(
    ("shown", "printed", "left"),
    [
        ("a 12 b\n", "x\na 7 b\ny\n", []),
        ("a (...)\n", "a (z z)\n", []),
        ("two\none\n", "one\ntwo\n", ["one"]),
        ("a.b\n", "axb\n", ["a.b"]),
        ("| 10 | b |\n", "|  4 | b |\n", []),
        ("a b\n", "ab\n", ["a b"]),
    ],
)
def test_the_comparison_can_fail(shown: str, printed: str, left: list[str]):
    assert missing(shown, printed) == left
