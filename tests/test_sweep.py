"""The sweep that is shipped: wandb takes it, its grid is the one meant, and each command it makes trains, offline."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmod_train import artifacts
from lmod_train.cli.listing import configs_folder
from tests.report.make import curate, records
from tests.scoring.make import prediction

CONFIGS = configs_folder()
SWEEP = CONFIGS / "sweep" / "quickstart.yaml"
ROOT = CONFIGS.parent
KEYS = {
    "command", "controller", "description", "early_terminate", "entity", "imageuri", "job", "method", "metric", "name",
    "parameters", "prior_runs", "program", "project", "run_cap", "scheduler",
}  # fmt: skip
"""Top-level keys of a sweep, https://docs.wandb.ai/guides/sweeps/sweep-config-keys (the installed wandb has no schema:
it sends a config to the server and is told)."""

SETTINGS = ("model.init_args.lora.rank", "model.init_args.optimisation.lr")


def sweep() -> dict[str, Any]:
    return dict(yaml.safe_load(SWEEP.read_text(encoding="utf-8")))


def grid(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values, as wandb's grid search visits them."""
    names = sorted(config["parameters"])
    return [
        dict(zip(names, chosen, strict=True))
        for chosen in itertools.product(*(config["parameters"][name]["values"] for name in names))
    ]


def command_of(config: dict[str, Any], chosen: dict[str, Any]) -> list[str]:
    """Return what `wandb agent` starts, by wandb's own functions; what it puts for a macro is in `wandb_agent.py`."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

    told: dict[str, Any] = create_sweep_command_args({"args": {k: {"value": v} for k, v in chosen.items()}})
    told |= {"interpreter": ["python"], "program": [config["program"]], "env": ["/usr/bin/env"]}
    parts = [str(part) for part in create_sweep_command(list(config["command"]))]
    expanded = [told[p[2:-1]] if p.startswith("${") and p.endswith("}") else [p] for p in parts]
    return [word for words in expanded for word in words]


def test_keys_and_values_are_those_that_wandb_documents():
    config = sweep()
    assert set(config) <= KEYS and {"program", "method", "parameters", "command"} <= set(config)
    assert config["method"] == "grid", "a grid has an end; bayes and random have none without run_cap"
    assert set(config["metric"]) == {"name", "goal"} and config["metric"]["goal"] in ("maximize", "minimize")
    for name, parameter in config["parameters"].items():
        assert set(parameter) == {"values"} and len(set(parameter["values"])) == len(parameter["values"]) > 1, name


def test_the_metric_is_one_that_an_evaluation_logs():
    from lmod_train.tasks.four_way import FourWay

    prefix, task, metric = sweep()["metric"]["name"].split("/")
    scores = FourWay().score([prediction("1", "normal", "DISEASE: normal", task=task, choices=FourWay().choices)])
    assert (prefix, task) == ("val", FourWay.name)
    assert metric in {s.metric for s in scores if s.subset == "all"}


def test_the_grid_is_every_pair_and_each_command_is_that_of_the_front_door():
    config = sweep()
    chosen = grid(config)
    assert sorted(tuple(c[s] for s in SETTINGS) for c in chosen) == [(8, 0.001), (8, 0.003), (16, 0.001), (16, 0.003)]
    assert command_of(config, chosen[0]) == [
        "/usr/bin/env", "python", "-m", "lmod_train", "fit", "--config", "configs/quickstart.yaml",
        "--trainer", "configs/trainer/wandb.yaml",
        "--model.init_args.lora.rank=8", "--model.init_args.optimisation.lr=0.001",
    ]  # fmt: skip
    for file in ("configs/quickstart.yaml", "configs/trainer/wandb.yaml"):
        assert (ROOT / file).is_file()


def test_each_run_of_a_sweep_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch):
    from jsonargparse import Namespace

    from lmod_train.cli.experiment import default_run

    config = Namespace(config=["configs/quickstart.yaml"])
    monkeypatch.delenv("WANDB_RUN_ID", raising=False)
    assert default_run(config, "fit") == Path("runs/quickstart/fit")
    folders = set()
    for name in ("a1b2", "c3d4"):
        monkeypatch.setenv("WANDB_RUN_ID", name)
        folders.add(default_run(config, "fit"))
    assert folders == {Path("runs/quickstart/fit-a1b2"), Path("runs/quickstart/fit-c3d4")}


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight photographs, two of them for validation, each asked by every task."""
    made = curate(tmp_path_factory.mktemp("curated"), n=8)
    asked = [replace(r, split="val" if r.key in "01" else "train") for r in records(8)]
    for task in ("anatomy", "four_way", "glaucoma"):
        artifacts.write_records(made / "records" / f"{task}.parquet", [r for r in asked if r.task == task])
    return made


def start(number: int, curated: Path, checkpoint: Path, folder: Path) -> Path:
    """Run one command of the grid as the agent would, at a tiny size; return its run folder."""
    config = sweep()
    command = command_of(config, grid(config)[number])
    assert command[1] == "python"
    command[1] = sys.executable  # the agent's `python` is the one it was started with
    command += [
        f"--data.curated={curated}", f"--model.init_args.checkpoint={checkpoint}",
        "--model.init_args.max_new_tokens=4", "--trainer.accelerator=cpu",
        "--trainer.max_epochs=1", "--trainer.limit_train_batches=1", "--trainer.limit_val_batches=1",
    ]  # fmt: skip
    # WANDB_SERVICE, where another test has left it, would send the run to that test's service and not to its own.
    inherited = {k: v for k, v in os.environ.items() if k != "WANDB_SERVICE"}
    environment = inherited | {"WANDB_MODE": "offline", "WANDB_RUN_ID": f"tiny{number}", "HF_HUB_OFFLINE": "1"}
    if not (folder / "configs").exists():
        (folder / "configs").symlink_to(CONFIGS)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "runs" / "quickstart" / f"fit-tiny{number}"


def check(run: Path, number: int) -> None:
    settings = yaml.safe_load((run / "config.yaml").read_text())["model"]["init_args"]
    chosen = grid(sweep())[number]
    assert {"model.init_args.lora.rank": settings["lora"]["rank"]} | {
        "model.init_args.optimisation.lr": settings["optimisation"]["lr"]
    } == chosen
    assert len(artifacts.read_replies(run / "replies")) > 0
    assert {row.metric for _, _, row in artifacts.read_scores(run / "scores.csv")} >= {"accuracy_strict"}
    assert list(run.glob("wandb/offline-run-*/run-*.wandb")), "what `wandb sync` sends"


def test_a_command_of_the_grid_trains_offline(curated: Path, tiny: Path, tmp_path: Path):
    check(start(0, curated, tiny, tmp_path), 0)


@pytest.mark.slow
def test_every_other_command_trains_offline_beside_it(curated: Path, tiny: Path, tmp_path: Path):
    runs = [start(number, curated, tiny, tmp_path) for number in (1, 2, 3)]
    for number, run in zip((1, 2, 3), runs, strict=True):
        check(run, number)
    assert len(set(runs)) == 3
