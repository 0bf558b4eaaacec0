"""Kill `judge` at random moments until it has been killed 20 times, and compare with an undisturbed judge.

    python scripts/benchmarks/judge_kills.py --work build/judge_kills

The judge is the local server of the tests, which counts what it is asked. A reply that was stored before a kill may not
be asked for again, no reply may be stored twice, and the scores must be those of the undisturbed judge. The requests
that a kill leaves without a stored reply are counted; more than `--concurrency` mean that a reply was lost which had
arrived, and the script ends with 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

from forked import finish, kill_while_asking, lmod, load, quiet
from kills import asked_twice, figures, lines

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the server and the run are those of the tests

from tests.judged import make_run  # noqa: E402
from tests.models.backends.endpoint.server import Plan, Running, serving  # noqa: E402


def judge(run: Path, url: str, concurrency: int) -> list[str]:
    """Return a command that judges."""
    pace = ("--model.backend.pace.concurrency", concurrency, "--data.eval_batch_size", 4)
    server = ("--model", "openai", "--model.backend.base_url", url, "--model.backend.model", "judge")
    return lmod("judge", run, *server, *pace, "--trainer.logger", "false", "--trainer.accelerator", "cpu")


def judged(run: Path) -> set[int]:
    """Return the numbers of the replies with a stored judgement."""
    return {int(row["id"].split("/")[-2]) for row in lines(run / "judgements" / "judge")}


def asked(server: Running) -> Counter[int]:
    """Return how often the server was asked about each reply."""
    return Counter({int(n): count for n, count in server.stats()["asked"].items() if int(n) >= 0})


def main() -> None:
    """Disturb the judge; exit with 1 if a stored judgement was asked for again, or the scores differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of its own; emptied first")
    parser.add_argument("--n", type=int, default=160, help="replies to judge")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--concurrency", type=int, default=4)
    parser.add_argument("--delay", type=float, default=0.1, help="seconds that the server takes to reply")
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    shutil.rmtree(a.work, ignore_errors=True)
    plan = Plan([str(n % 3 != 0).upper() for n in range(a.n)], ["TRUE", "FALSE"], delay=a.delay)
    first, second = (make_run(a.work.resolve() / name, [f"pale #{n}" for n in range(a.n)]).folder for name in "ab")
    load()
    with serving(plan) as server:
        quiet(judge(first, server.url, a.concurrency))
    with serving(plan) as server:
        kills, again, flying = disturbed(second, server, a)
        twice = asked(server).total() - a.n
    stored = asked_twice(second / "judgements" / "judge")
    same = figures(first) == figures(second)
    print(f"{kills['asking']} kills while asking, {kills['starting']} while starting, {a.n} replies: "
          f"{again} stored judgements asked for again, {twice} requests asked again (at most {flying} a kill, "
          f"{a.concurrency} in flight), {stored} stored twice, scores {'equal' if same else 'DIFFERENT'}")  # fmt: skip
    sys.exit(0 if same and not again and not stored and flying <= a.concurrency else 1)


def disturbed(run: Path, server: Running, a: argparse.Namespace) -> tuple[Counter[str], int, int]:
    """Return the number of kills by what was killed, how often a stored judgement was asked for again, and the largest
    number of requests without a stored judgement that a kill left.
    """
    moments, kills, again, flying = random.Random(a.seed), Counter[str](), 0, 0
    command = judge(run, server.url, a.concurrency)
    while kills.total() < a.kills and len(judged(run)) < a.n:
        had, before = judged(run), asked(server)
        kill_while_asking(
            command, lambda: asked(server).total(), moments, 1.6 * a.n * a.delay / a.concurrency / a.kills
        )
        time.sleep(0.5)  # until the server has noticed
        new = asked(server) - before
        kills["asking" if new else "starting"] += 1
        again += sum(new[n] for n in had)
        flying = max(flying, new.total() - (len(judged(run)) - len(had)))
    had, before = judged(run), asked(server)
    print(f"{len(had)} of {a.n} judgements stored after {kills.total()} kills", flush=True)
    finish(command)
    return kills, again + sum((asked(server) - before)[n] for n in had), flying


if __name__ == "__main__":
    main()
