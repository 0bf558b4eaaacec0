"""Kill `validate` of chains in a cascade at random moments, 20 times, and compare with an undisturbed run.

    python scripts/benchmarks/chain_kills.py --work build/chain_kills

A local server replies to each prompt with a letter and a confidence that depend on its words only, and writes down what
it was asked. A prompt of a later stage contains the model's earlier answers, so a lost or changed answer would show as
a prompt that the undisturbed run does not ask. No stage may be asked again whose reply was stored, no reply may be
stored twice, and the scores must be equal. Requests without a stored reply are counted: more than `--concurrency` a
kill mean that a reply was lost which had arrived, and the script ends with 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from forked import finish, kill_while_asking, lmod, load, quiet
from kills import asked_twice, figures, lines

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


def words_of(body: dict[str, Any]) -> str:
    """Return the text of a request, images excluded."""
    parts = [part for message in body["messages"] for part in message["content"]]
    return "\n".join(part if isinstance(part, str) else part.get("text", "") for part in parts)


def reply_to(words: str) -> str:
    """Return a reply that depends on the words only; one in twelve has no letter."""
    drawn = int(hashlib.sha256(words.encode()).hexdigest(), 16)
    if drawn % 12 == 0:
        return "The image shows an eye."
    return f"Answer: {'ABCD'[drawn % 4]}; Confidence: {drawn % 101}%"


def serve(log: Path, delay: float) -> None:
    """Answer requests until the process is killed; print the port first, and write a line for each request."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # the name is the library's
            words = self.rfile.read(int(self.headers["Content-Length"]))
            text = words_of(body := json.loads(words))
            digest = hashlib.sha256(json.dumps(body["messages"], sort_keys=True).encode()).hexdigest()
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{digest}\n")
            time.sleep(delay)
            self.answer(reply_to(text))

        def do_GET(self) -> None:
            self.answer("OK")

        def answer(self, text: str) -> None:
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            made = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
            data = json.dumps({**made, "usage": usage, "data": [{"id": "m"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


@contextmanager
def serving(log: Path, delay: float) -> Iterator[str]:
    """Run the server in a process of its own, and yield its address."""
    log.touch()
    command = [sys.executable, __file__, "--work", str(log), "--serve", "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def asked(log: Path) -> Counter[str]:
    """Return how often the server was asked each prompt."""
    return Counter(log.read_text(encoding="utf-8").split())


def validate(curated: Path, run: Path, url: str, concurrency: int) -> list[str]:
    """Return a command that asks chains in a cascade."""
    data = ("--config", CONFIGS / "xpcr.yaml", "--data.curated", curated, "--data.split", "all")
    server = ("--model", "openai", "--model.backend.base_url", url, "--model.backend.model", "m")
    pace = ("--model.backend.pace.concurrency", concurrency, "--data.eval_batch_size", 12)
    quiet_ = ("--data.regime", "cas_all", "--trainer.logger", "false", "--trainer.accelerator", "cpu")
    return lmod("validate", *data, *server, *pace, *quiet_, "--run", run)


def disturbed(command: Sequence[str], run: Path, log: Path, a: argparse.Namespace) -> tuple[Counter[str], int]:
    """Return the number of kills by moment, and the largest number of requests that one left without a stored reply."""
    moments, kills, flying = random.Random(a.seed), Counter[str](), 0
    while kills.total() < a.kills and len(lines(run)) < a.total:
        had, before = len(lines(run)), asked(log).total()
        kill_while_asking(
            command, lambda: asked(log).total(), moments, 1.6 * a.total * a.delay / a.concurrency / a.kills
        )
        new = asked(log).total() - before
        kills["asking" if new else "starting"] += 1
        flying = max(flying, new - (len(lines(run)) - had))
    return kills, flying


def main() -> None:
    """Disturb the cascade; exit with 1 if a stored stage was asked again, words differ, or the scores do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of its own; emptied first")
    parser.add_argument("--phantoms", type=int, default=60, help="OIMHS phantoms to ask about")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--delay", type=float, default=0.25, help="seconds that the server takes to reply")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.serve:
        return serve(a.work, a.delay)
    work = a.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    load()
    quiet(lmod("phantom", "--out", work / "raw", "--n", a.phantoms, "--sources", "oimhs"))
    quiet(lmod("curate", "--config", CONFIGS / "curate" / "xpcr_own.yaml", "--raw", work / "raw", "--out", work / "c"))
    with serving(work / "first.txt", a.delay) as url:
        quiet(validate(work / "c", work / "first", url, a.concurrency))
    a.total = len(lines(work / "first"))
    with serving(work / "second.txt", a.delay) as url:
        command = validate(work / "c", work / "second", url, a.concurrency)
        kills, flying = disturbed(command, work / "second", work / "second.txt", a)
        finish(command)
    first, second = asked(work / "first.txt"), asked(work / "second.txt")
    again, strange = second.total() - first.total(), len(set(second) - set(first))
    stored, same = asked_twice(work / "second"), figures(work / "first") == figures(work / "second")
    print(f"{kills['asking']} kills while asking, {kills['starting']} while starting, {a.total} stages: {again} "
          f"requests asked again (at most {flying} a kill, {a.concurrency} in flight), {strange} in other words, "
          f"{stored} stored twice, scores {'equal' if same else 'DIFFERENT'}")  # fmt: skip
    sys.exit(0 if same and not strange and not stored and flying <= a.concurrency else 1)


if __name__ == "__main__":
    main()
