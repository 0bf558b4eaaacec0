"""`list sweep` prints what `wandb agent` would start, and refuses what is no grid."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from lmod_train import cli
from tests.test_sweep import RUNS, command_of, grid, sweep


@pytest.mark.parametrize("name", RUNS)
def test_the_commands_are_those_of_wandb_in_its_order_with_a_folder_each(name: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["list", "sweep", name]) == 0
    printed = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    config = sweep(name)
    agent = [command_of(config, chosen) for chosen in grid(config)]
    assert printed == [
        [*(words[1:] if words[0] == "/usr/bin/env" else words), "--run", f"runs/{name}/{number}"]
        for number, words in enumerate(agent, 1)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("method: random\nparameters: {a: {values: [1]}}", "method: grid"),
        ("method: grid\nparameters: {a: {min: 0, max: 1}}", "`values` for a"),
        ("method: grid", "`parameters` with their values"),
        ("method: grid\nparameters: {a: {values: [1]}}\ncommand: ['${args_json}']", "it has ${args_json}"),
        ("- a", "method: grid"),
        ("{", "a valid YAML file"),
    ],
)
def test_what_is_no_grid_is_refused(text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert cli.main(["list", "sweep", str(tmp_path / "mine.yaml")]) == 2
    said = capsys.readouterr().err
    assert expected in said and "correct" in said


def test_a_grid_of_ones_own_and_a_misspelt_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = "method: grid\nparameters: {b: {values: [1, 2]}, a: {value: x y}}"
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    assert cli.main(["list", "sweep", str(tmp_path / "mine.yaml")]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"python -m lmod_train fit '--a=x y' --b={n} --run runs/mine/{n}" for n in (1, 2)
    ]
    assert cli.main(["list", "sweep", "tunning"]) == 2
    assert "tuning" in capsys.readouterr().err
    assert cli.main(["list", "sweep"]) == 2
