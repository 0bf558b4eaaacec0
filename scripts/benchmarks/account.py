"""Compare what an evaluation reports with the truth, against a server that answers badly at known rates.

    python scripts/benchmarks/account.py [--n 600] [--lmms LMMS/bin/python] [--inspect INSPECT/bin/python]

The server (tests/models/backends/endpoint/server.py) decides by a seed which question it answers rightly or wrongly,
refuses, truncates, withholds, leaves empty, or rejects for good, and which attempts meet a fault: 429 with Retry-After,
500, 503, garbage, silence, half replies, half streams, closed connections. So the right account is known, whatever is
repeated. This package asks until a further run changes nothing; its account and accuracies must equal the truth.
lmms-eval and inspect-ai ask the same questions once with their own retries, each in an environment of its own:

    python -m venv LMMS && LMMS/bin/pip install lmms-eval==0.7.3
    python -m venv INSPECT && INSPECT/bin/pip install inspect-ai==0.3.285 openai

Both read replies by the functions that `export --format lmms_eval` writes. Their accuracy is over what they count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from endpoint import ROOT, Served, curated, serving, test_command

from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.types import Record

sys.path.insert(0, str(ROOT))
from tests.models.backends.endpoint.server import STATUS, Plan

HERE = Path(__file__).parent
FATES = dict.fromkeys(STATUS, 1.0) | {"right": 12.0, "wrong": 6.0}
OPTIONS = ("--model.backend.pace.timeout", "2", "--model.backend.pace.longest_wait", "0.5")


class Trial:
    """One share of faults: its questions, its server's plan, and a folder.

    Args:
        records: The questions.
        folder: Where results are written.
        fault: Share of attempts that meet a fault.
        seed: Of the plan.
    """

    def __init__(self, records: Sequence[Record], folder: Path, fault: float, seed: int) -> None:
        self.records, self.folder, self.fault = records, folder, fault
        self.options: dict[str, Any] = {"fates": FATES, "fault": fault, "seed": seed, "silence": 6.0}
        plan = Plan(answers=[r.answer for r in records], **self.options)
        self.fates = [plan.fate(i) for i in range(len(records))]
        self.account = Counter(plan.truth())

    def serving(self) -> Any:
        """Run a fresh server within a block."""
        return serving(self.records, **self.options)

    def strict(self) -> float:
        """Return the share of all questions that the server answers rightly."""
        return self.fates.count("right") / len(self.fates)

    def answered(self) -> float:
        """Return the share of the answered questions that the server answers rightly."""
        return self.fates.count("right") / self.account["answered"]


def ours(trial: Trial, curated_folder: Path) -> None:
    """Print the account and accuracies of this package after as many runs as change something.

    Raises:
        AssertionError: They are not the truth, or a question was asked again after its reply.
    """
    run, began = trial.folder / f"ours-{trial.fault}", time.perf_counter()
    failed = [len(trial.records) + 1]
    with trial.serving() as server:
        while len(failed) < 2 or failed[-1] < failed[-2]:
            subprocess.run(test_command(server.url, curated_folder, run, 16, *OPTIONS), check=True, capture_output=True)
            found = Counter(p.status for p in read_predictions(run / "predictions.parquet"))
            failed.append(found["failed"])
        sent = server.counts()["sent"]
    scores = {s.metric: s.value for _, _, s in read_scores(run / "scores.csv") if s.subset == "all"}
    print(f"faults {trial.fault:.0%}  truth         {dict(sorted(trial.account.items()))}")
    print(f"            ours          {dict(sorted(found.items()))}  runs {len(failed) - 1}")
    _row("ours", trial, scores["accuracy_strict"], "of all", began)
    answered = scores["accuracy_answered"]
    print(f"            ours          accuracy of answered {answered:.4f}, truth {trial.answered():.4f}")
    assert found == trial.account and max(c for i, c in sent.items() if i >= 0) == 1
    assert abs(float(scores["accuracy_strict"] or 0) - trial.strict()) < 1e-6


def _row(name: str, trial: Trial, reported: float | None, over: str, began: float, more: str = "") -> None:
    error = float("nan") if reported is None else reported - trial.strict()
    seconds = time.perf_counter() - began
    print(f"            {name:13} accuracy {over} {reported if reported is None else f'{reported:.4f}'}, "
          f"truth {trial.strict():.4f} ({error:+.4f})  {seconds:.0f} s{more}", flush=True)  # fmt: skip


def lmms(python: Path, trial: Trial, exported: Path) -> None:
    """Print the accuracy that lmms-eval reports."""
    out, began = trial.folder / f"lmms-{trial.fault}", time.perf_counter()
    with trial.serving() as server:
        arguments = f"model_version=m,base_url={server.url},api_key=none,num_concurrent=16"
        options = ["--model", "openai", "--model_args", arguments, "--tasks", "lmod_glaucoma", "--log_samples"]
        options += ["--include_path", str(exported), "--output_path", str(out), "--batch_size", "1"]
        done = _peer([python, "-m", "lmms_eval", "eval", *options], HF_HOME=str(trial.folder / "hf"))
        asked = _asked(server)
    reported = next(out.rglob("*_results.json"), None)
    if reported is None:
        print(f"            lmms-eval     reports nothing: {_last(done)}")
        return
    accuracy = json.loads(reported.read_text())["results"]["lmod_glaucoma"]["accuracy_strict,none"]
    lines = [json.loads(line) for line in next(out.rglob("*samples*.jsonl")).read_text().splitlines()]
    marked = sum("LMMS_EVAL_REQUEST_FAILED" in json.dumps(line) for line in lines)
    _row("lmms-eval", trial, accuracy, "of all", began, f"; {asked} requests; {marked} error texts scored as replies")


def inspect(python: Path, trial: Trial, curated_folder: Path, exported: Path) -> None:
    """Print the accuracy that inspect-ai reports, of the samples that it scores."""
    out, began = trial.folder / f"inspect-{trial.fault}", time.perf_counter()
    samples = trial.folder / "samples.json"
    samples.write_text(json.dumps([_sample(r, curated_folder) for r in trial.records]))
    with trial.serving() as server:
        named = {"PEER_BASE_URL": server.url, "PEER_API_KEY": "none"}
        given = ["-T", f"samples={samples}", "-T", f"reader={exported / 'utils.py'}"]
        options = ["--model", "openai-api/peer/m", "--no-fail-on-error", "--max-connections", "16", "--display", "none"]
        options += ["--attempt-timeout", "4", "--max-retries", "6", "--log-format", "json", "--log-dir", str(out)]
        inspect_ai = python.with_name("inspect")
        done = _peer([inspect_ai, "eval", "account_inspect.py", *given, *options], **named)
        asked = _asked(server)
    log = json.loads(next(iter(out.glob("*.json"))).read_text()) if out.exists() else {}
    if not log.get("results"):
        print(f"            inspect-ai    reports nothing: {_last(done)}")
        return
    (score,) = log["results"]["scores"]
    scored = log["results"]["completed_samples"]
    accuracy = score["metrics"]["accuracy"]["value"]
    _row("inspect-ai", trial, accuracy, f"of the {scored} scored", began, f"; {asked} requests")


def _sample(record: Record, folder: Path) -> dict[str, Any]:
    text = record.messages[0].parts[-1].text
    return {"id": record.id, "text": text, "image": str(folder / record.image[0]), "target": record.answer,
            "choices": list(record.choices)}  # fmt: skip


def _peer(command: Sequence[Any], **environment: str) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"NO_PROXY": "127.0.0.1"} | environment
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, env=own, cwd=HERE)


def _asked(server: Served) -> int:
    return sum(count for i, count in server.counts()["asked"].items() if i >= 0)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr + done.stdout).strip().splitlines()
    return f"exit status {done.returncode}: {lines[-1][:200] if lines else ''}"


def main() -> None:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=600, help="Questions.")
    parser.add_argument("--faults", type=float, nargs="+", default=[0.0, 0.1, 0.3], help="Shares of attempts.")
    parser.add_argument("--seed", type=int, default=0, help="Of fates and faults.")
    parser.add_argument("--lmms", type=Path, help="Python of an environment with lmms-eval.")
    parser.add_argument("--inspect", type=Path, help="Python of an environment with inspect-ai.")
    given = parser.parse_args()
    for name in ("lmms", "inspect"):
        if getattr(given, name) is None:
            print(f"--{name} not given: compared without it")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        records = curated(work / "curated", given.n, images=4, side=32)
        exported = work / "exported"
        export = [
            sys.executable,
            "-m",
            "lmod_train",
            "export",
            str(work / "curated"),
            "--to",
            "lmms_eval",
            "--for_own_use",
            "true",
        ]
        subprocess.run([*export, "--out", str(exported)], check=True, capture_output=True)
        for fault in given.faults:
            trial = Trial(records, work, fault, given.seed)
            ours(trial, work / "curated")
            if given.lmms:
                lmms(given.lmms.absolute(), trial, exported)
            if given.inspect:
                inspect(given.inspect.absolute(), trial, work / "curated", exported)


if __name__ == "__main__":
    main()
