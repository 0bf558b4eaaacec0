"""One run folder for several processes: shards of an evaluation, and what may change when one is continued."""

import copy
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from lmod_train.cli import experiment
from lmod_train.cli.run_config import compare, settled
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import BadArgument, FolderBusy, LinkInFolder, RunConflict
from lmod_train.core.shipped import configs_folder
from tests import forks

QUIET = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
CONFIG = configs_folder() / "scripted.yaml"


@pytest.fixture(scope="module")
def options(curated):
    return ["validate", "--config", str(CONFIG), "--data.curated", str(curated), "--data.split", "all", *QUIET]


def scores(run):
    return [(s.task, s.subset, s.metric, s.n, s.value, s.low, s.high) for _, _, s in read_scores(Run(run).scores)]


def lines(run):
    return [line for file in Run(run).replies.iterdir() for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(options, tmp_path_factory):
    """A run of one process, to be compared with and not to be changed."""
    folder = tmp_path_factory.mktemp("one process") / "whole"
    experiment.run([*options, "--run", str(folder)])
    return folder


def test_shards_in_turn_give_the_scores_of_one_process_and_ask_each_record_once(options, tmp_path, whole, capsys):
    run = tmp_path / "parts"
    for shard in ("1/3", "3/3", "2/3"):
        experiment.run([*options, "--run", str(run), "--data.shard", shard])
    assert scores(run) == scores(whole)
    assert len(lines(run)) == len(lines(whole)) == len(read_replies(Run(run).replies))
    assert sorted(f.name for f in Run(run).replies.iterdir()) == [f"rank-{i}of3-0.jsonl" for i in (1, 2, 3)]
    said = [line for line in capsys.readouterr().out.splitlines() if "records have a reply" in line]
    n = len(lines(whole))
    assert said[-1] == f"{run}: {n} of {n} records have a reply"
    assert len(said) == 3, "each shard in turn found the folder free"


def test_any_division_continues_any_other(options, tmp_path, whole):
    run = tmp_path / "mixed"
    experiment.run([*options, "--run", str(run), "--data.shard", "2/2"])
    half = len(lines(run))
    assert 0 < half < len(lines(whole))
    experiment.run([*options, "--run", str(run), "--data.shard", "1/3"])
    experiment.run([*options, "--run", str(run), "--trainer.devices", "1", "--data.eval_batch_size", "3"])
    assert scores(run) == scores(whole)
    assert len(lines(run)) == len(lines(whole)), "a record that another part has answered is not asked again"
    config = yaml.safe_load(Run(run).config.read_text())
    assert config["data"]["shard"] == "", "the folder belongs to no shard"


def start(options, *more):
    return forks.start(["-m", "lmod_train", *options, *more], Path.cwd())


def test_three_processes_at_once_fill_one_folder_and_one_of_them_scores(options, tmp_path, whole):
    run = tmp_path / "together"
    parts = [start(options, "--run", str(run), "--data.shard", f"{i}/3") for i in (1, 2, 3)]
    ended = [part.ended() for part in parts]
    said = [part.stdout + part.stderr for part in ended]
    assert [part.returncode for part in ended] == [0, 0, 0], said
    n = len(lines(whole))
    assert any(f"{n} of {n} records have a reply" in text for text in said)
    assert scores(run) == scores(whole)
    assert len(lines(run)) == n
    assert not list(run.glob(".shard-*"))


def test_a_killed_shard_is_continued_by_the_same_command(options, tmp_path, whole):
    run = tmp_path / "killed"
    slow = ["--run", str(run), "--data.shard", "1/2", "--data.eval_batch_size", "1"]
    part = start(options, *slow)
    while part.process.exitcode is None and not (list(Run(run).replies.glob("*")) and lines(run)):
        time.sleep(0.01)
    part.process.kill()
    part.ended()
    before = set(lines(run))
    for shard in ("1/2", "2/2"):
        experiment.run([*options, "--run", str(run), "--data.shard", shard])
    assert scores(run) == scores(whole)
    assert before <= set(lines(run))
    assert len(lines(run)) - len(lines(whole)) in (0, 1), "at most the line that the kill had cut"


RESOLVED = {"data": {"shard": "1/2", "limit": 3}, "trainer": {"devices": 1}}


def test_shards_share_the_folder_but_not_with_another_command(tmp_path, monkeypatch):
    monkeypatch.setattr("lmod_train.cli.run_config.WAIT", 0.3)
    second = {**RESOLVED, "data": {**RESOLVED["data"], "shard": "2/2"}}
    with settled(tmp_path, RESOLVED, "validate"):
        with settled(tmp_path, second, "validate"):
            pass
        unsharded = {**RESOLVED, "data": {**RESOLVED["data"], "shard": ""}}
        with pytest.raises(FolderBusy), settled(tmp_path, unsharded, "validate"):
            pass
        other = {**second, "data": {"shard": "2/2", "limit": 4}}
        with pytest.raises(RunConflict, match=r"data\.limit: 3 -> 4"), settled(tmp_path, other, "validate"):
            pass
    with settled(tmp_path, unsharded, "validate"), pytest.raises(FolderBusy), settled(tmp_path, second, "validate"):
        pass
    with settled(tmp_path, other, "validate"):
        pass  # nothing was replied, so that the folder may be used otherwise


def test_one_shard_is_asked_by_one_process(tmp_path):
    from tests.core.test_lock import end, hold

    with settled(tmp_path, RESOLVED, "validate"):
        pass
    first = hold(Run(tmp_path).lock_of("1/2"))
    with pytest.raises(FolderBusy, match=r"shard-1of2"), settled(tmp_path, RESOLVED, "validate"):
        pass
    end(first)


def test_a_training_has_no_shards(curated, tmp_path):
    chosen = ["--config", str(configs_folder() / "cnn_glaucoma.yaml"), "--data.curated", str(curated), *QUIET]
    with pytest.raises(BadArgument, match=r"data\.shard='1/2'.*\n.*--trainer\.devices"):
        experiment.run(["fit", *chosen, "--run", str(tmp_path / "fit"), "--data.shard", "1/2"])


def test_devices_of_a_training_do_not_change_when_it_is_continued(tmp_path):
    trained = {"data": {"shard": ""}, "trainer": {"devices": 1}}
    with settled(tmp_path, trained, "fit"):
        Run(tmp_path).checkpoints.mkdir()
    more = {"data": {"shard": ""}, "trainer": {"devices": 2}}
    with pytest.raises(RunConflict, match=r"trainer\.devices: 1 -> 2"), settled(tmp_path, more, "fit"):
        pass
    with settled(tmp_path, more, "validate"):
        pass


def test_the_tasks_of_a_slurm_array_are_shards(tmp_path):
    script = configs_folder().parent / "scripts" / "slurm" / "validate.sbatch"
    echo = tmp_path / "python"
    echo.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    echo.chmod(0o755)
    array = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8", "PYTHON": str(echo)}
    asked = ["bash", str(script), "--config", "zero_shot", "--run", "with blank"]
    ran = subprocess.run(asked, env={**os.environ, **array}, capture_output=True, text=True, check=True)
    expected = ["-m", "lmod_train", "validate", "--config", "zero_shot", "--run", "with blank", "--data.shard", "3/8"]
    assert ran.stdout.splitlines() == expected
    alone = subprocess.run(asked, capture_output=True, text=True)
    assert alone.returncode and "sbatch" in alone.stderr


def test_ways_of_asking_may_change_but_not_beside_another_process(tmp_path):
    def asks(shard, wordings):
        return {"data": {"shard": shard, "asking": {"wordings": wordings}}}

    def stated():
        return yaml.safe_load(Run(tmp_path).config.read_text())["data"]["asking"]["wordings"]

    with settled(tmp_path, asks("1/2", 1), "validate"):
        other = settled(tmp_path, asks("2/2", 2), "validate")
        with pytest.raises(RunConflict, match=r"data\.asking\.wordings: 1 -> 2"), other:
            raise AssertionError("its records would be others")
    (Run(tmp_path).replies / "rank-0.jsonl").parent.mkdir(exist_ok=True)
    (Run(tmp_path).replies / "rank-0.jsonl").write_text("{}\n")
    assert stated() == 1
    for shard, wordings in (("", 2), ("2/2", 3)):
        with settled(tmp_path, asks(shard, wordings), "validate"):
            assert stated() == wordings


VLM = "lmod_train.models.modules.conversation.VisionLanguageModel"
OLD = {
    "data": {"shard": "", "tasks": [{"class_path": "lmod_train.tasks.anatomy.Anatomy", "init_args": {}}]},
    "model": {"class_path": VLM, "init_args": {"checkpoint": "small_base", "optimisation": {"lr": 0.001}}},
    "trainer": {"devices": 1},
}
"""Configuration of a run of a version with few options."""


def changed(path, value):
    new = copy.deepcopy(OLD)
    *way, last = path
    place = new
    for step in way:
        place = place[step] if isinstance(place, list) else place.setdefault(step, {})
    place[last] = value
    return new


ARGS, TASK = ("model", "init_args"), ("data", "tasks", 0, "init_args")


@pytest.mark.parametrize(
    ("path", "default", "other"),
    [
        pytest.param((*ARGS, "max_tokens"), 2048, 1024, id="option"),
        pytest.param((*ARGS, "images"), {"fit": None, "tiles": None}, {"fit": "crop"}, id="nested options"),
        pytest.param((*ARGS, "optimisation", "betas"), [0.9, 0.999], [0.9, 0.95], id="one of nested options"),
        pytest.param((*ARGS, "lora"), {"rank": 128, "dropout": 0.05}, {"rank": 8}, id="optional nested options"),
        pytest.param((*TASK, "options"), None, {"CFP": ["optic disc"]}, id="option of a class in a list"),
        pytest.param(("data", "variant"), "", "x", id="option of the data"),
        pytest.param(("tripwires", "limits"), {"empty": 0.5}, {"empty": 0.1}, id="options of the command"),
    ],
)
def test_a_run_of_an_earlier_version_goes_on_where_new_options_have_their_defaults(tmp_path, path, default, other):
    Run(tmp_path).write_config(OLD)
    defaults = {"data": {"variant": ""}, "tripwires": {"limits": {"empty": 0.5}}}
    compare(tmp_path, changed(path, default), "fit", defaults=defaults)
    with pytest.raises(RunConflict, match=re.escape(".".join(map(str, path)))):
        compare(tmp_path, changed(path, other), "fit", defaults=defaults)


def test_a_value_that_a_run_has_does_not_change_to_its_default(tmp_path):
    Run(tmp_path).write_config(OLD)
    for path, value in (((*ARGS, "optimisation", "lr"), 2e-4), (("trainer", "devices"), "auto")):
        with pytest.raises(RunConflict):
            compare(tmp_path, changed(path, value), "fit", defaults={"trainer": {"devices": "auto"}})


def test_options_that_a_run_has_left_out_do_not_come_back_with_their_defaults(tmp_path):
    """A run without adapters is not one with the default adapters, and the other way round."""
    lora = (*ARGS, "lora")
    rank = {"rank": 128, "dropout": 0.05}
    for was, now in ((None, rank), (rank, None)):
        Run(tmp_path).write_config(changed(lora, was))
        compare(tmp_path, changed(lora, was), "fit")
        with pytest.raises(RunConflict, match=r"lora"):
            compare(tmp_path, changed(lora, now), "fit")


def test_the_defaults_of_a_command_are_those_of_its_parser(options, tmp_path, whole):
    own = shutil.copytree(whole, tmp_path / "own")
    config = Run(own).read_config()
    for key in ("tripwires", "evaluation", "checkpoint"):
        config.pop(key)
    Run(own).write_config({**config, "data": {k: v for k, v in config["data"].items() if k != "regime"}})
    experiment.run([*options, "--run", str(own)])
    with pytest.raises(RunConflict, match=r"tripwires\.limits\.empty: None -> 0\.9"):
        experiment.run([*options, "--run", str(own), "--tripwires.limits.empty", "0.9"])


@pytest.mark.parametrize("shard", ["", "1/2"])
def test_a_run_with_a_link_in_the_place_of_checkpoints_is_refused_before_it_begins(shard: str, tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "RUN").mkdir()
    (tmp_path / "RUN" / "checkpoints").symlink_to(tmp_path / "outside")
    resolved = {**RESOLVED, "data": {**RESOLVED["data"], "shard": shard}}
    with pytest.raises(LinkInFolder), settled(tmp_path / "RUN", resolved, "validate"):
        pass
