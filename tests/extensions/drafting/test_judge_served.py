"""A judge behind the server of transformers, a process of its own, and the same judge without a server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.extension import PACKAGE
from tests.judged import make_run

SMALL_BASE = PACKAGE / "models" / "chat" / "small_base"
OPTIONS = ["--trainer.accelerator", "cpu", "--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Run `transformers serve` with a checkpoint and yield its base URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = str(Path(sys.executable).with_name("transformers"))
    command = [program, "serve", str(folder), "--device", "cpu", "--dtype", "float32", "--port", port]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1"}, **quiet) as process:  # type: ignore[call-overload]
        try:
            _wait(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(360):
        assert process.poll() is None, "the server has ended"
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.5)
    raise AssertionError(f"{url} did not answer")


def verdicts(judge: Run) -> dict[str, tuple[str, object]]:
    return {p.record.id: (p.reply.reply, p.answer) for p in read_predictions(judge.predictions)}


@pytest.mark.slow
def test_a_served_judge_is_stored_resumed_and_replies_as_the_same_weights_do_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = make_run(Path("run"), ["The disc is pale.", "The disc is pink.", "", "Cataract."])
    with served(SMALL_BASE) as url:
        model = ["--model", "openai", "--model.backend.base_url", url, "--model.backend.model", str(SMALL_BASE)]
        model += ["--model.backend.max_new_tokens", "12", "--prompt", "ophthalwechat"]
        assert cli.main(["judge", "run", *model, "--name", "served", *OPTIONS]) == 0
        assert cli.main(["judge", "run", *model, "--name", "served", "--attacks", "1", *OPTIONS]) == 0
    lines = run.judge("served").replies_of(0).read_bytes()
    assert cli.main(["judge", "run", *model, "--name", "served", *OPTIONS]) == 0, "nothing is left to ask of a server"
    assert run.judge("served").replies_of(0).read_bytes() == lines
    here = ["--model", "zero_shot_judge.yaml", "--prompt", "ophthalwechat"]
    Path("zero_shot_judge.yaml").write_text(
        "class_path: lmod_train.models.modules.frozen.Frozen\ninit_args:\n  backend:\n"
        "    class_path: lmod_train.models.backends.huggingface.HuggingFace\n"
        f"    init_args: {{checkpoint: {SMALL_BASE}, max_new_tokens: 12}}\n"
    )
    assert cli.main(["judge", "run", *here, "--name", "here", *OPTIONS]) == 0
    assert verdicts(run.judge("served")) == verdicts(run.judge("here")) and len(verdicts(run.judge("here"))) == 3
    scores = {s.metric: s.n for _, _, s in read_scores(run.scores) if s.subset == "all"}
    assert scores["accuracy_judged:served"] == scores["accuracy_judged:here"] == 4
    assert scores["attack_unjudged:served:empty"] == 1
