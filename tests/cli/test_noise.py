"""A run prints our lines and nothing that a library advertises or deprecates; a log of it has its four facts."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from lmod_train.cli.terminal import is_wanted, silenced
from lmod_train.core.shipped import configs_folder
from tests import forks

OURS = (
    r"doctor: \d+ checks, \d+ failures; wrote .*|(warn|ok|FAIL) .*|                    .*",
    r"best.ckpt: step \d+ of \d+, .*",
    r"training [\d,]+ of [\d,]+ parameters|probe at step \d+: .*|weights: .*, after \d+ optimiser steps",
    r"attention \w+, (the choice of transformers|as asked for)(; |:).*|.*: \d+ of \d+ records have a reply|wrote .*",
    r"\| .* \|",
    r"(Anatomy|Four-way diagnosis|Glaucoma): .* questions .*|next: `python -m lmod_train .*",
    r"(validated at )?step \d+ of \d+, loss [\d.]+, learning rate [\d.e-]+, .* left",
    r"Loaded model weights from .*|`Trainer.fit` stopped: .*",
    r".*The number of training batches \(\d+\) is smaller than the logging interval .*",
)
"""Patterns of lines that a run may print: ours, and Lightning's about checkpoints, the end and the logging interval."""


def printed(*arguments: object, folder: Path, imported: bool) -> list[str]:
    """Return the lines that a command prints where its output is redirected.

    Args:
        arguments: The command.
        folder: To stand in.
        imported: Whether the libraries are imported already, so that only what they print afterwards is seen.
    """
    command = ["-m", "lmod_train", *map(str, arguments)]
    if imported:
        done = forks.run(command, folder)
    else:
        done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]


def foreign(lines: list[str]) -> list[str]:
    return [line for line in lines if not any(re.fullmatch(pattern, line) for pattern in OURS)]


@pytest.mark.parametrize("imported", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_redirected_run_prints_no_foreign_line_and_states_step_loss_rate_and_time(
    imported: bool, curated: Path, tiny: Path, tmp_path: Path
):
    model = ["--model.init_args.checkpoint", tiny, "--doctor.refuse", "false", "--tripwires.stop", "false"]
    fit = printed(
        "fit", "--config", "quickstart", "--data.curated", curated, *model, "--run", "FIT", "--trainer.max_epochs", 1,
        "--trainer.check_val_every_n_epoch", 1, folder=tmp_path, imported=imported,
    )  # fmt: skip
    assert foreign(fit) == []
    (last,) = [line for line in fit if line.startswith("validated at step")]
    step, steps = map(int, re.findall(r"step (\d+) of (\d+)", last)[0])
    assert step == steps > 0 and last.endswith(", 0 s left") and "loss" in last and "learning rate" in last
    config = configs_folder() / "quickstart.yaml"
    again = ["--ckpt_path", "FIT/checkpoints/last.ckpt", "--run", "VALIDATED"]
    validated = printed(
        "validate", "--config", config, "--data.curated", curated, "--model.init_args.checkpoint", tiny, *again,
        folder=tmp_path, imported=True,
    )  # fmt: skip
    assert foreign(validated) == []
    assert sum(line.startswith("| glaucoma ") for line in validated) == 1
    assert not any(re.search(r"\d\.\d{6,}", line) for line in [*fit, *validated])


@pytest.mark.parametrize(
    "line", ["💡 Tip: For seamless cloud logging", "Collecting: 0 %", "  warnings.warn(", "val/hr │ 0.5714285969734192"]
)
def test_the_comparison_can_fail(line: str):
    assert foreign([line]) == [line]


def test_warnings_and_lines_of_ours_are_never_silenced():
    with silenced(is_terminal=False), warnings.catch_warnings(record=True) as caught:
        warnings.warn("3 records are too long and are left out of training", stacklevel=1)
        warnings.warn("`isinstance(treespec, LeafSpec)` is deprecated, use another", stacklevel=1)
        warnings.warn("The dirpath has changed", stacklevel=1)
        for name in ("val/chain/swa_mean", "train/loss"):  # the first is of all ranks, the second would not be
            warnings.warn(f"It is recommended to use `self.log({name!r}, ..., sync_dist=True)`", stacklevel=1)
    assert [str(w.message) for w in caught] == [
        "3 records are too long and are left out of training", "The dirpath has changed",
        "It is recommended to use `self.log('train/loss', ..., sync_dist=True)`",
    ]  # fmt: skip
    said = [logging.LogRecord("lightning", 20, "", 0, text, (), None) for text in ("probe at step 0", "Seed set to 3")]
    assert [is_wanted(record) for record in said] == [True, False]


def test_what_is_silenced_speaks_again_afterwards():
    from transformers.utils import logging as transformers

    before = [list(handler.filters) for handler in logging.getLogger("lightning").handlers]
    shown = transformers.is_progress_bar_enabled()
    with silenced(is_terminal=False):
        assert not transformers.is_progress_bar_enabled()
    assert [list(handler.filters) for handler in logging.getLogger("lightning").handlers] == before
    assert transformers.is_progress_bar_enabled() == shown
