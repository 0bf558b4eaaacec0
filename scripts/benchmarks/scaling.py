"""Measure one evaluation divided in every way: shards, devices, servers; each has to give the same scores.

    python scripts/benchmarks/scaling.py --curated CURATED --n 200 --out OUT.json

Every way is the whole command on the first `n` records of each task in the test split with the small base, and one
thread a process. Its second run asks nothing and gives the time of starting, loading and scoring, which is subtracted:
the rest is what records cost.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.replies import read_replies
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores

ROOT = Path(__file__).resolve().parents[2]
SMALL_BASE = ROOT / "lmod_train" / "models" / "chat" / "small_base"
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "WANDB_MODE": "offline"}


def seconds(commands: Sequence[Sequence[str]]) -> float:
    """Return the time in which commands that are started together end; raise if one fails."""
    began = time.perf_counter()
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "lmod_train", "validate", *c],
            env=ONE_THREAD,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for c in commands
    ]
    said = [process.communicate()[0] for process in running]
    if failed := [text for process, text in zip(running, said, strict=True) if process.returncode]:
        raise SystemExit(f"a command failed:\n{failed[0][-2000:]}")
    return time.perf_counter() - began


def measured(name: str, commands: Sequence[Sequence[str]], run: Path) -> dict[str, Any]:
    """Return seconds, tokens a second and seconds a record of one way, and its scores."""
    first, again = seconds(commands), seconds(commands)
    replies = read_replies(Run(run).replies)
    written = sum(1 for file in Run(run).replies.iterdir() for _ in file.open())
    if written != len(replies):
        raise SystemExit(f"{name}: {written} lines for {len(replies)} records, so that some were asked twice")
    asking = first - again
    tokens = sum(r.tokens_out or 0 for r in replies.values())
    return {
        "way": name,
        "records": len(replies),
        "seconds": round(first, 1),
        "seconds without records": round(again, 1),
        "seconds a record": round(asking / len(replies), 4),
        "tokens a second": round(tokens / asking, 1),
        "scores": [
            [s.task, s.subset, s.metric, s.n, s.value, s.low, s.high] for _, _, s in read_scores(Run(run).scores)
        ],
    }


@contextmanager
def servers(count: int) -> Iterator[list[str]]:
    """Run several `transformers serve` with the small base; yield their base URLs."""
    ports = [_free() for _ in range(count)]
    command = ["transformers", "serve", str(SMALL_BASE), "--device", "cpu", "--dtype", "float32", "--port"]
    program = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    quiet: Mapping[str, Any] = {"env": ONE_THREAD, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen([*program, str(port)], **quiet) for port in ports]
    try:
        for port in ports:
            _wait_for(f"http://127.0.0.1:{port}/health")
        yield [f"http://127.0.0.1:{port}/v1" for port in ports]
    finally:
        for process in running:
            process.kill()
            process.wait()


def _free() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def _wait_for(url: str, patience: float = 180.0) -> None:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.5)
    raise SystemExit(f"{url} did not answer within {patience:.0f} s")


def main() -> None:
    """Measure every way and print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--curated", type=Path, required=True, help="Curated folder with the quick start's tasks.")
    options.add_argument("--n", type=int, default=200, help="Records of each task.")
    options.add_argument("--parts", type=int, default=2, help="Shards, devices and servers.")
    options.add_argument("--no-servers", action="store_true", help="Leave the servers out, which are slow to start.")
    options.add_argument("--out", type=Path, default=None, help="File of the figures, JSON.")
    chosen = options.parse_args()
    place = Path(tempfile.mkdtemp())
    data = ["--data.curated", str(chosen.curated.resolve()), "--data.limit", str(chosen.n)]
    common = ["--config", "zero_shot", *data, "--trainer.logger", "false", "--trainer.enable_progress_bar", "false"]

    def way(folder: str, *more: str) -> list[str]:
        return [*common, "--run", str(place / folder), *more]

    def endpoint(folder: str, urls: Sequence[str]) -> list[str]:
        asked = ["--model", "openai", "--model.backend.base_url", urls[0], "--model.backend.model", str(SMALL_BASE)]
        others = ["--model.backend.replicas", json.dumps(urls[1:])] if len(urls) > 1 else []
        return way(folder, *asked, *others)

    n = chosen.parts
    seconds([way("warm")])  # reads weights and packages from the disk for the first time
    rows = [measured("one process", [way("one")], place / "one")]
    shards = [way("shards", "--data.shard", f"{i + 1}/{n}") for i in range(n)]
    rows.append(measured(f"--data.shard, {n} processes", shards, place / "shards"))
    devices = ["--trainer.devices", str(n), "--trainer.strategy", "ddp"]
    rows.append(measured(f"--trainer.devices {n}", [way("devices", *devices)], place / "devices"))
    for count in () if chosen.no_servers else (1, n):
        with servers(count) as urls:
            label = f"transformers serve, {count} replica{'s' * (count > 1)}"
            rows.append(measured(label, [endpoint(f"served{count}", urls)], place / f"served{count}"))
    reference = rows[0]["scores"]
    for row in rows:
        row["same scores"] = row.pop("scores") == reference
        row["speed"] = round(rows[0]["seconds a record"] / row["seconds a record"], 2)
        print("  ".join(f"{key}: {value}" for key, value in row.items()))
    if chosen.out:
        chosen.out.write_text(json.dumps(rows, indent=1))
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
