"""Leave requests at a service in batches, kill the command at random moments, move the run, and count what was paid.

    python scripts/benchmarks/batches.py --n 1000 --kills 3

The service is that of the tests (tests/models/backends/endpoint/batch_server.py), on this machine. A command gets
SIGKILL a random time after its first request; the run folder is then copied elsewhere, where the last commands collect
the rest.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from endpoint import ROOT, curated, test_command

sys.path.insert(0, str(ROOT))
from lmod_train.core.artifacts.replies import read_replies
from tests.models.backends.endpoint.batch_server import BatchServer, serving_batches
from tests.models.backends.endpoint.server import Plan


def killed(command: Sequence[str], folder: Path, server: BatchServer, draw: random.Random) -> bool:
    """Run a command and kill it up to 2 s after its first request; return whether it was still running."""
    before = sum(server.sent.values())
    with (folder / "output.txt").open("a") as out, subprocess.Popen(command, cwd=folder, stdout=out, stderr=out) as one:
        while one.poll() is None and sum(server.sent.values()) == before:
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 2.0))
        running = one.poll() is None
        one.send_signal(signal.SIGKILL)
    return running


def measure(interface: str, n: int, kills: int, work: Path) -> None:
    """Print how often each request was answered and written, after kills and a move of the folders."""
    here, there, draw = work / "here", work / "there", random.Random(n)
    records = curated(here / "curated", n, images=4, side=32)
    with serving_batches(BatchServer(Plan(answers=[r.answer for r in records]), looks=2)) as server:
        own = ["--model.backend.batches.interface", interface, "--model.backend.batches.requests", str(n // 10)]
        command = test_command(
            server.url, Path("curated"), Path("run"), 32, *own, "--model.backend.batches.wait", "0.2"
        )
        hit = sum(killed(command, here, server, draw) for _ in range(kills))
        shutil.copytree(here, there)
        status = 3
        for _ in range(5):
            if status:
                status = subprocess.run(command, cwd=there, check=False, capture_output=True, env=os.environ).returncode
        paid = Counter(server.paid.values())
        lines = sum(1 for file in there.glob("run/replies/*.jsonl") for _ in file.open())
        held = len(read_replies(there / "run/replies"))
    print(
        f"{interface}: {n} requests in {len(server.batches)} batches, {hit} of {kills} kills while it ran, one move: "
        f"status {status}, {held} replies held in {lines} lines, times that a request was answered: {dict(paid)}"
    )
    assert paid == {1: n} and held == lines == n and status == 0


def main() -> None:
    """Read the command line and measure both interfaces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="Requests.")
    parser.add_argument("--kills", type=int, default=3, help="Commands that are killed.")
    given = parser.parse_args()
    for interface in ("openai", "anthropic"):
        with tempfile.TemporaryDirectory() as work:
            measure(interface, given.n, given.kills, Path(work))


if __name__ == "__main__":
    main()
