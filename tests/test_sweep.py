"""The sweeps that are shipped: wandb takes them, their grids are those meant, their commands run, offline."""

from __future__ import annotations

import itertools
import os
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonargparse import Namespace

from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.shipped import configs_folder
from lmod_train.core.types import Reply
from lmod_train.tasks.parsed_replies import parse_replies
from tests import forks
from tests.report.make import curate, records
from tests.test_configs import written_in

CONFIGS = configs_folder()
ROOT = CONFIGS.parent
SWEEPS = {file.stem: file for file in sorted((CONFIGS / "sweep").glob("*.yaml"))}
KEYS = {
    "command", "controller", "description", "early_terminate", "entity", "imageuri", "job", "method", "metric", "name",
    "parameters", "prior_runs", "program", "project", "run_cap", "scheduler",
}  # fmt: skip
"""Top-level keys of a sweep, https://docs.wandb.ai/guides/sweeps/sweep-config-keys (the installed wandb has no schema:
it sends a config to the server and is told)."""

RUNS = {"quickstart": 4, "tuning": 12, "cnn": 6, "retfound": 12}
"""Sweep -> commands of its grid."""

LANGUAGE = ["--model.init_args.checkpoint={tiny}", "--model.init_args.max_new_tokens=32"]
TINY = {
    "quickstart": LANGUAGE,
    "tuning": [
        *LANGUAGE, "--model.init_args.dtype=float32", "--trainer.strategy=auto", "--trainer.precision=32-true",
        "--data.global_batch=0", "--data.workers=0",
        "--data.tasks=[configs/task/anatomy.yaml, configs/task/glaucoma.yaml, configs/task/four_way.yaml]",
    ],
    "cnn": ["--trainer.check_val_every_n_epoch=1"],
    "retfound": [
        "--model.init_args.weights=random", "--model.init_args.size=tiny", "--model.init_args.image_size=64",
        "--trainer.precision=32-true", "--data.workers=0", "--data.batch_size=4",
    ],
}  # fmt: skip
"""Sweep -> what makes one of its commands small enough for this machine."""


def sweep(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load(SWEEPS[name].read_text(encoding="utf-8")))


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


def value_at(tree: Any, key: str) -> Any:
    """Return what lies at a dotted key, a part of several values as a dictionary."""
    found = reduce(lambda inner, name: inner[name], key.split("."), tree)
    return found.as_dict() if isinstance(found, Namespace) else found


def meant(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return what the values of a grid say: a text in braces is a part of several values."""
    return {k: yaml.safe_load(v) if str(v).startswith("{") else v for k, v in chosen.items()}


def test_every_sweep_is_examined():
    assert SWEEPS.keys() == RUNS.keys() == TINY.keys()


@pytest.mark.parametrize("name", RUNS)
def test_keys_and_values_are_those_that_wandb_documents(name: str):
    config = sweep(name)
    assert set(config) <= KEYS and {"program", "method", "parameters", "command"} <= set(config)
    assert config["method"] == "grid", "a grid has an end; bayes and random have none without run_cap"
    assert set(config["metric"]) == {"name", "goal"} and config["metric"]["goal"] in ("maximize", "minimize")
    for parameter, values in config["parameters"].items():
        assert set(values) == {"values"} and len(set(values["values"])) == len(values["values"]) > 1, parameter
    chosen = [tuple(c.items()) for c in grid(config)]
    assert len(set(chosen)) == len(chosen) == RUNS[name]


@pytest.mark.parametrize("name", RUNS)
def test_the_metric_is_one_that_an_evaluation_logs(name: str):
    prefix, task, metric = sweep(name)["metric"]["name"].split("/")
    asked = [r for r in records(8) if r.task == task]
    room, _, named = asked[0].task_class.rpartition(".")
    made = getattr(import_module(room), named)()
    likely = {r.id: {c: float(c in r.answer.split()) for c in r.choices} for r in asked}
    replies = {r.id: Reply(r.id, r.answer, likelihoods=likely[r.id]) for r in asked}
    assert prefix == "val"
    scores = made.score(parse_replies(made, asked, replies))
    assert metric in {s.metric for s in scores if s.subset == "all" and s.value}


def test_a_command_is_that_of_the_front_door():
    config = sweep("quickstart")
    assert command_of(config, grid(config)[0]) == [
        "/usr/bin/env", "python", "-m", "lmod_train", "fit", "--config", "configs/quickstart.yaml",
        "--trainer", "configs/trainer/wandb.yaml",
        "--model.init_args.lora={rank: 8, alpha: 16, dropout: 0.0}", "--model.init_args.optimisation.lr=0.001",
    ]  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_each_command_is_its_experiment_with_the_chosen_values_and_wandb(name: str, monkeypatch: pytest.MonkeyPatch):
    """Parsed by the front door: what is chosen arrives, and nothing of another logger stays."""
    from lmod_train.cli.doctor import Parsed
    from lmod_train.cli.experiment import options

    monkeypatch.chdir(ROOT)
    config, chosen = sweep(name), grid(sweep(name))[-1]
    words = command_of(config, chosen)
    arguments = words[words.index("fit") :]
    parsed = Parsed(ExitStack(), **options(), args=arguments).config["fit"]
    assert written_in({key: value_at(parsed, key) for key in chosen}, meant(chosen))
    logger = parsed.trainer.logger
    assert logger.class_path == "lightning.pytorch.loggers.WandbLogger"
    assert (logger.init_args.name, logger.init_args.project) == (None, config["project"])
    written = yaml.safe_load((ROOT / arguments[2]).read_text(encoding="utf-8"))
    trainer = CONFIGS / "trainer" / "wandb.yaml" if "--trainer" in arguments else CONFIGS / written["trainer"]
    own = yaml.safe_load(trainer.read_text(encoding="utf-8"))
    kept = {k: v for k, v in own.items() if not isinstance(v, dict | list)}
    assert {k: parsed.trainer[k] for k in kept} == kept, "a sweep trains as its experiment does"
    assert [c.class_path for c in parsed.trainer.callbacks or []] == [c["class_path"] for c in own.get("callbacks", [])]


def test_each_run_of_a_sweep_has_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch):
    from lmod_train.cli.defaults import default_run

    config = ["configs/quickstart.yaml"]
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
    hashes = {r.image: sha256((made / r.image[0]).read_bytes()).hexdigest() for r in records(8)}
    asked = [replace(r, split="val" if r.key in "01" else "train", image_sha256=(hashes[r.image],)) for r in records(8)]
    write_records(made / "records" / "all.parquet", asked)
    return made


def start(name: str, number: int, curated: Path, checkpoint: Path, folder: Path) -> Path:
    """Run one command of a grid as the agent would, at a tiny size; return its run folder."""
    config = sweep(name)
    command = command_of(config, grid(config)[number])
    assert command[:2] == ["/usr/bin/env", "python"]
    command += [
        f"--data.curated={curated}", "--trainer.accelerator=cpu", "--trainer.devices=1", "--trainer.max_epochs=1",
        "--trainer.limit_train_batches=1", "--trainer.limit_val_batches=1",
        *(word.format(tiny=checkpoint) for word in TINY[name]),
    ]  # fmt: skip
    # WANDB_SERVICE, where another test has left it, would send the run to that test's service and not to its own.
    inherited = {k: v for k, v in os.environ.items() if k != "WANDB_SERVICE"}
    environment = inherited | {"WANDB_MODE": "offline", "WANDB_RUN_ID": f"tiny{number}", "HF_HUB_OFFLINE": "1"}
    if not (folder / "configs").exists():
        (folder / "configs").symlink_to(CONFIGS)
    done = forks.run(command[2:], folder, environment)
    assert done.returncode == 0, done.stderr[-4000:]
    experiment = Path(command[command.index("--config") + 1]).stem
    return folder / "runs" / experiment / f"fit-tiny{number}"


def check(name: str, run: Path, number: int) -> None:
    config = sweep(name)
    written, chosen = yaml.safe_load((run / "config.yaml").read_text()), grid(config)[number]
    assert written_in({key: value_at(written, key) for key in chosen}, meant(chosen))
    assert len(read_replies(run / "replies")) > 0
    _, task, metric = config["metric"]["name"].split("/")
    rows = [row for _, _, row in read_scores(run / "scores.csv")]
    assert metric in {row.metric for row in rows if row.task == task}
    assert list(run.glob("wandb/offline-run-*/run-*.wandb")), "what `wandb sync` sends"


@pytest.mark.parametrize("name", [pytest.param("quickstart", marks=pytest.mark.slow), "cnn"])
def test_a_command_of_the_grid_trains_offline(name: str, curated: Path, tiny: Path, tmp_path: Path):
    check(name, start(name, 0, curated, tiny, tmp_path), 0)


@pytest.mark.slow
def test_every_other_command_trains_offline_beside_it(curated: Path, tiny: Path, tmp_path: Path):
    runs = [start("quickstart", number, curated, tiny, tmp_path) for number in (1, 2, 3)]
    for number, run in zip((1, 2, 3), runs, strict=True):
        check("quickstart", run, number)
    assert len(set(runs)) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tuning", "retfound"])
def test_a_command_of_a_large_model_trains_offline_with_a_small_one(
    name: str, curated: Path, tiny: Path, tmp_path: Path
):
    check(name, start(name, 0, curated, tiny, tmp_path), 0)
