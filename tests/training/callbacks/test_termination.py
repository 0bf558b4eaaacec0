"""SIGTERM ends a run whole, with status 143, and the same command goes on."""

import functools
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from lmod_train.cli import experiment
from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.shipped import configs_folder
from lmod_train.models.modules.base import LmodModule
from lmod_train.training.callbacks.termination import Terminated

CONFIGS = configs_folder()
QUIET = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
SMALL = ["--model.init_args.side", "16", "--data.batch_size", "4", "--checkpoint.every_n_train_steps", "100"]
SMALL += ["--trainer.max_epochs", "2", "--trainer.check_val_every_n_epoch", "1"]


def arguments(name, config, curated, *options):
    return [name, "--config", str(CONFIGS / config), "--data.curated", str(curated), *QUIET, *map(str, options)]


@pytest.fixture(autouse=True)
def listening():
    before = signal.getsignal(signal.SIGTERM)
    yield
    assert signal.getsignal(signal.SIGTERM) == before, "the handler before is back"


def ask_to_end(patched, hook, when):
    """Send the signal to this process as a hook of the module is called for the n-th time."""
    real, calls = getattr(LmodModule, hook), []

    def call(self, *arguments):
        calls.append(1)
        if len(calls) == when:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(self, *arguments)

    patched.setattr(LmodModule, hook, call)


def last(run):
    return torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)


def fitting(accumulated):
    sizes = ["--data.batch_size", 1, "--data.eval_batch_size", 2]
    return [*SMALL, *sizes, "--trainer.accumulate_grad_batches", accumulated, "--run"]


@pytest.fixture(scope="module")
def quiet(curated, tmp_path_factory):
    """Return a function from the number of batches of a step to the folder of a run that nothing disturbed."""

    @functools.cache
    def run(accumulated):
        folder = tmp_path_factory.mktemp("undisturbed") / "quiet"
        experiment.run(arguments("fit", "cnn_glaucoma.yaml", curated, *fitting(accumulated), folder))
        return folder

    return run


@pytest.mark.parametrize("accumulated", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_fit_saves_the_step_it_is_in_and_goes_on_to_the_same_end(curated, tmp_path, monkeypatch, quiet, accumulated):
    options = fitting(accumulated)
    with monkeypatch.context() as patched, pytest.raises(Terminated) as ended:
        ask_to_end(patched, "on_train_batch_start", 3)
        experiment.run(arguments("fit", "cnn_glaucoma.yaml", curated, *options, tmp_path / "ended"))
    assert ended.value.code == 143
    assert last(tmp_path / "ended")["global_step"] == {1: 3, 2: 2}[accumulated]
    experiment.run(arguments("fit", "cnn_glaucoma.yaml", curated, *options, tmp_path / "ended"))
    undisturbed, went_on = (last(run) for run in (quiet(accumulated), tmp_path / "ended"))
    assert undisturbed["global_step"] == went_on["global_step"] > 3
    assert all(torch.equal(undisturbed["state_dict"][k], v) for k, v in went_on["state_dict"].items()), "to the bit"
    replies = [read_replies(run / "replies") for run in (quiet(accumulated), tmp_path / "ended")]
    assert {k: r.reply for k, r in replies[0].items()} == {k: r.reply for k, r in replies[1].items()}


def test_a_validation_inside_fit_begins_again(curated, tmp_path, monkeypatch, quiet):
    options = fitting(2)
    with monkeypatch.context() as patched, pytest.raises(Terminated):
        ask_to_end(patched, "validation_step", 1)
        experiment.run(arguments("fit", "cnn_glaucoma.yaml", curated, *options, tmp_path / "ended"))
    half = read_replies(tmp_path / "ended" / "replies")
    experiment.run(arguments("fit", "cnn_glaucoma.yaml", curated, *options, tmp_path / "ended"))
    whole, ended = (read_replies(run / "replies") for run in (quiet(2), tmp_path / "ended"))
    assert 0 < len(half) < len(whole) and {k: r.reply for k, r in whole.items()} == {
        k: r.reply for k, r in ended.items()
    }
    scores, again = ((run / "scores.csv").read_text() for run in (quiet(2), tmp_path / "ended"))
    assert scores.replace("quiet", "ended") == again


@pytest.mark.parametrize("command", ["validate", "test", "predict"])
def test_an_evaluation_keeps_every_reply_and_asks_none_twice(curated, tmp_path, monkeypatch, command):
    options = ["--data.eval_batch_size", 1, "--run", tmp_path / "here"]
    with monkeypatch.context() as patched, pytest.raises(Terminated) as ended:
        ask_to_end(patched, f"{command.replace('validate', 'validation')}_step", 2)
        experiment.run(arguments(command, "scripted.yaml", curated, *options))
    assert ended.value.code == 143
    file = tmp_path / "here" / "replies" / "rank-0.jsonl"
    before = file.read_text().splitlines()
    experiment.run(arguments(command, "scripted.yaml", curated, *options))
    after = file.read_text().splitlines()
    assert len(before) >= 2 and after[: len(before)] == before
    assert len(after) == len(read_replies(tmp_path / "here" / "replies")), "none twice"


def wait_for(path, process):
    for _ in range(1200):
        if path.exists():
            return
        assert process.poll() is None, "it ended before"
        time.sleep(0.1)
    raise AssertionError(f"no {path}")


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("whom", ["the first process", "all of them"])
def test_processes_that_were_started_end_together_with_status_143(curated, tmp_path, devices, whom):
    options = ["--trainer.devices", devices, "--trainer.strategy", "ddp" if devices > 1 else "auto"]
    options += [*SMALL, "--trainer.max_epochs", 200, "--trainer.check_val_every_n_epoch", 200]
    options += ["--checkpoint.every_n_train_steps", 5, "--run", tmp_path / "here"]
    command = [sys.executable, "-m", "lmod_train", *arguments("fit", "cnn_glaucoma.yaml", curated, *options)]
    steps = []
    for _ in range(2):
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            file = tmp_path / "here" / "checkpoints" / "last.ckpt"
            before = file.stat().st_mtime_ns if file.exists() else 0
            wait_for(file, process)
            while file.exists() and file.stat().st_mtime_ns == before:
                time.sleep(0.1)
            os.kill(process.pid, signal.SIGTERM) if whom.startswith("the") else os.killpg(process.pid, signal.SIGTERM)
            said = process.communicate(timeout=120)[1]
        assert process.returncode == 143, said
        assert "terminated at step" in said and said.count("terminated") == 1
        steps.append(last(tmp_path / "here")["global_step"])
    assert 0 < steps[0] < steps[1], "the same command continued"
