"""Measure the endpoint client against a local server: throughput, replicas, and kills.

    python scripts/benchmarks/endpoint.py throughput --n 1600     beside a bare asyncio loop at the same concurrency
    python scripts/benchmarks/endpoint.py replicas --n 800        two servers beside one; images on both
    python scripts/benchmarks/endpoint.py kills --n 30            SIGKILL or SIGTERM at random moments, and what the
                                                                  server counted
    python scripts/benchmarks/endpoint.py faults --n 20           1,000 questions to a server with 42 kinds of fault,
                                                                  Ctrl-C at random moments: all accounts are compared

The server is that of the tests (tests/models/backends/endpoint/server.py), a process of its own with a fixed delay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from PIL import Image

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.replies import has_failed, read_replies
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Message, Part, Record
from lmod_train.models.backends import openai
from lmod_train.models.backends.endpoint.fleet import Fleet, Replica
from lmod_train.models.backends.endpoint.pace import Pace
from lmod_train.models.backends.endpoint.request_batch import RequestBatch
from lmod_train.models.backends.openai import OpenAI
from lmod_train.scoring.completeness import Account, account_in
from lmod_train.tasks.glaucoma import Glaucoma

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.models.backends.endpoint.server import FAULTS, FORMS, STATUS, STRANGE, Plan

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "tests" / "models" / "backends" / "endpoint" / "server.py"
WORDS = ("GLAUCOMA", "NON-GLAUCOMA")


@dataclass(frozen=True)
class Served:
    """A running server: its base URL."""

    url: str

    def counts(self) -> dict[str, Counter[int]]:
        """Return how often each question was asked (`asked`) and wholly replied to (`sent`); the probe is -1."""
        stats = self._stats()
        return {name: Counter({int(n): c for n, c in stats[name].items()}) for name in ("asked", "sent")}

    def hits(self) -> int:
        """Return how many questions found their image among those that the server keeps."""
        return int(self._stats()["hits"])

    def wait(self) -> None:
        """Wait until the requests of a client that has ended are read and replied to."""
        time.sleep(0.1)
        while self._stats()["now"]:
            time.sleep(0.02)

    def _stats(self) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url.replace("/v1", "/stats"), timeout=30) as reply:
            return json.load(reply)


@contextmanager
def serving(records: Sequence[Record], **plan: Any) -> Iterator[Served]:
    """Run a server that knows the right answers."""
    command = [sys.executable, str(SERVER), json.dumps({"answers": [r.answer for r in records], **plan}), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Served(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        finally:
            process.kill()


def curated(folder: Path, n: int, images: int, side: int = 256) -> list[Record]:
    """Write a curated folder of `n` questions, `images` of them about one picture; return its records."""
    write_json(folder / "manifest.json", {"schema_version": SCHEMA_VERSION})
    noise = np.random.default_rng(0)
    drawn = [folder / f"{number}.jpg" for number in range(-(-n // images))]
    for file in drawn:
        Image.fromarray(noise.integers(0, 255, (side, side, 3), dtype=np.uint8)).save(file, quality=80)
    shown = [(file.name, sha256_of(file)) for file in drawn]
    records = [_record(i, *shown[i // images]) for i in range(n)]
    write_records(folder / "records" / "glaucoma.parquet", records)
    return records


def _record(i: int, image: str, sha256: str) -> Record:
    words = f"Does this eye have glaucoma? #{i}"
    return Record(
        id=f"glaucoma/p/{i:05}",
        task="glaucoma",
        task_class="lmod_train.tasks.glaucoma.Glaucoma",
        task_version=Glaucoma.version,
        source="phantom",
        key=str(i),
        modality="CFP",
        image=(image,),
        image_plain=(image,),
        image_sha256=(sha256,),
        split="test",
        group=str(i),
        language="en",
        messages=(Message("user", (Part("image"), Part("text", words))),),
        choices=WORDS,
        answer=WORDS[i % 2],
        phantom=True,
    )


class Took(NamedTuple):
    """Seconds by the clock, and of processor time in this process."""

    seconds: float
    processor: float


async def bare(url: str, bodies: Sequence[bytes], concurrency: int) -> Took:
    """Return what a loop takes without any logic: a connection a worker, the next body at once."""
    left = iter(bodies)
    host, port = url.removeprefix("http://").removesuffix("/v1").split(":")

    async def worker() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for body in left:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(answer.split(b"content-length:")[1].split(b"\r\n")[0])
            json.loads(await reader.readexactly(length))
        writer.close()

    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*[worker() for _ in range(concurrency)])
    return Took(time.perf_counter() - began, time.process_time() - used)


def ours(
    urls: Sequence[str], records: Sequence[Record], folder: Path, concurrency: int, batch: int, stream: bool = True
) -> Took:
    """Return what the backend takes, images read and probe answered before.

    Args:
        urls: Of the servers.
        records: What is asked.
        folder: Where their images are.
        concurrency: Requests in flight on each server.
        batch: Records in a batch.
        stream: Whether the next batch begins before the last has ended.
    """
    backend = OpenAI(urls[0], "m", replicas=list(urls[1:]), pace=Pace(concurrency=concurrency))
    batches = [backend.collate(records[i : i + batch], folder) for i in range(0, len(records), batch)]
    backend.respond(backend.collate([_record(10**6, *records[0].image, *records[0].image_sha256)], folder))
    began, used = time.perf_counter(), time.process_time()
    streams = [iter(batches)] if stream else [iter([one]) for one in batches]
    replies = [reply for several in streams for reply in backend.respond_stream(several)]
    took = Took(time.perf_counter() - began, time.process_time() - used)
    assert not any(reply.error for reply in replies), "the server of this measurement has no faults"
    return took


def throughput(n: int, work: Path, delay: float, concurrency: int) -> None:
    """Print requests a second of the bare loop and of the backend, their ratio, and processor time a request.

    The bare loop runs before and after, as other programs take the processor too; its mean counts.
    """
    records = curated(work, n, images=4)
    with serving(records, delay=delay) as server:
        requests = OpenAI(server.url, "m").collate(records, work)
        assert isinstance(requests, RequestBatch)
        bodies = [json.dumps({"model": "m", "messages": m}).encode() for m in requests.messages]
        bares = [asyncio.run(bare(server.url, bodies, concurrency))]
        streamed = ours([server.url], records, work, concurrency, batch=concurrency)
        large = ours([server.url], records, work, concurrency, 16 * concurrency, stream=False)
        small = ours([server.url], records, work, concurrency, 2 * concurrency, stream=False)
        bares.append(asyncio.run(bare(server.url, bodies, concurrency)))
    loop = Took(*(sum(column) / 2 for column in zip(*bares, strict=True)))
    batched = ((f"batches of {16 * concurrency}", large), (f"batches of {2 * concurrency}", small))
    for name, took in (("bare loop", loop), ("stream", streamed), *batched):
        share, processor = loop.seconds / took.seconds, 1e3 * took.processor / n
        print(f"{name}: {n / took.seconds:.1f} requests/s, {share:.3f} of the bare loop, {processor:.2f} ms a request")


class RoundRobin(Fleet):
    """Sends each request to the next server, whatever its image."""

    _next = 0

    def _chosen(self, images: tuple[str, ...]) -> Replica:
        self._next += 1
        return self.replicas[self._next % len(self.replicas)]


def replicas(n: int, work: Path, delay: float, concurrency: int) -> None:
    """Print how much faster two servers are than one, how many images both have seen, and their prefix hits."""
    records = curated(work, n, images=12)
    for fleet in (Fleet, RoundRobin):
        with (
            serving(records, delay=delay / 10, kept=2) as one,
            serving(records, delay=delay / 10, kept=2) as two,
            patch.object(openai, "Fleet", fleet),
        ):
            ours([one.url, two.url], records, work, concurrency, batch=concurrency)
            hits = one.hits() + two.hits()
        print(
            f"{fleet.__name__}: {hits / n:.1%} of the questions found their image on a server that keeps the last two"
        )
    with serving(records, delay=delay) as one:
        alone = ours([one.url], records, work, concurrency, batch=concurrency)
    with serving(records, delay=delay) as one, serving(records, delay=delay) as two:
        together = ours([one.url, two.url], records, work, concurrency, batch=concurrency)
        seen = [{i // 12 for i in server.counts()["asked"] if 0 <= i < n} for server in (one, two)]
    both = f"images on both: {len(seen[0] & seen[1])} of {-(-n // 12)}"
    print(f"two replicas: {alone.seconds / together.seconds:.2f} x one; {both}")


def kills(n: int, work: Path, delay: float, concurrency: int) -> None:
    """Kill a command `n` times while it asks, let it finish, and compare what the server sent with what the run holds.

    The server closes silent requests itself: a short time-out of the client would give up replies that are being sent
    on a slow machine. The key is searched for in all files of the run and in all output.
    """
    records = curated(work / "curated", 2 * MOST * n, images=4, side=16)
    run, draw = work / "run", random.Random(n)
    with serving(records, delay=delay, fault=0.1, silence=0.5) as server:
        command = test_command(server.url, work / "curated", run, concurrency)
        texts: list[str] = []
        lost = [_killed(command, run, server, draw, records, texts) for _ in range(n)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=_keyed())
        texts.append(done.stdout + done.stderr)
        sent = server.counts()["sent"]
    held = _held(run)
    twice = sum(c - 1 for i, c in sent.items() if i >= 0)
    assert done.returncode == 0, f"the last command ended with status {done.returncode}:\n{texts[-1]}"
    assert held == {r.id for r in records}, f"{len(records) - len(held)} replies are missing"
    assert max(lost) <= concurrency, f"{max(lost)} replies were lost at one kill, of {concurrency} in flight"
    assert twice == sum(lost), f"{twice} were asked twice, and {sum(lost)} were in flight"
    found, files = found_in([run], texts)
    assert not found, f"the key is in {found}"
    print(f"{n} kills: {len(held)} of {len(records)} replies held, {twice} asked twice, most at one kill {max(lost)}; "
          f"the key is in none of {files} files and {len(texts)} outputs")  # fmt: skip


def faults(n: int, work: Path, delay: float, concurrency: int) -> None:
    """Interrupt an evaluation `n` times at a server that fails in all its ways, finish it, and compare all accounts.

    A last but one command has a budget, so that records are not asked; the last ones run until nothing changes.
    """
    records = curated(work / "curated", 1000, images=4, side=16)
    plan = {"fates": FATES, "fault": 0.3, "faults": dict.fromkeys(KINDS, 1.0), "forms": ["", "", *FORMS]}
    plan |= {"silence": 4.0, "seed": n, "delay": delay}
    truth = Plan(answers=[r.answer for r in records], **plan)
    rejected = sum(STATUS[truth.fate(i)] == "failed" for i in range(len(records)))
    run, draw, texts = work / "run", random.Random(n), list[str]()
    pace = {"timeout": 1.5, "longest_wait": 0.2, "attempts": 3, "give_up_after": len(records)}
    options = [word for k, v in pace.items() for word in (f"--model.backend.pace.{k}", str(v))]
    with serving(records, **plan) as server:
        command = test_command(server.url, work / "curated", run, concurrency, *options, "--data.split", "all")
        command[3] = "validate"
        lost = [_interrupted(command, run, server, draw, records, texts) for _ in range(n)]
        account = _compared([*command, "--model.backend.budget.requests", "60"], run, server, records, texts)
        assert account[2], "some records were not asked"
        while True:
            before, account = account, _compared(command, run, server, records, texts)
            if account == before or account[1:] == (rejected, 0):
                break
        counted = server.counts()
    twice = sum(c - 1 for i, c in counted["sent"].items() if i >= 0)
    assert account == (len(records) - rejected, rejected, 0), f"{account}, of {rejected} that are always refused"
    assert twice == sum(lost), f"{twice} were paid twice, and {sum(lost)} were in flight"
    asked, told = counted["asked"].total(), [sum(column) for column in zip(*map(_told, texts), strict=True)]
    print(f"{len(records)} questions, {len(KINDS)} faults, {len(FORMS)} forms, {n} interruptions of {len(texts)} "
          f"commands, {asked} requests ({told[0]} told): {account} replied, failed, not asked in terminal, scores.csv, "
          f"page; {twice} paid twice, all in flight, most at one interruption {max(lost)}; prompt tokens paid "
          f"{100 * counted['sent'].total()}, told {told[1]}")  # fmt: skip


KINDS = (*FAULTS, *STRANGE)
FATES = {"right": 10.0, "wrong": 5.0, "refusing": 1.0, "filtered": 1.0, "cut": 1.0, "empty": 1.0, "rejected": 1.0}


def _interrupted(
    command: Sequence[str], run: Path, server: Served, draw: random.Random, records: Sequence[Record], texts: list[str]
) -> int:
    """Send Ctrl-C to a command, one of four while it starts; return how many of the replies sent to it are not held."""
    before, counted, until = _held(run), server.counts(), draw.randint(1, MOST)
    starting, began, out = draw.random() < 0.25, time.perf_counter(), run.parent / "output.txt"
    with out.open("w") as opened:
        process = subprocess.Popen(command, stdout=opened, stderr=opened, env=_keyed())
    while process.poll() is None and _more(server.counts(), counted, "asked").total() < until:
        if starting and time.perf_counter() - began > 8 * until / MOST:
            break
        time.sleep(0.01)
    time.sleep(draw.uniform(0, 0.1))
    running = process.poll() is None
    process.send_signal(signal.SIGINT)
    process.wait(30)
    texts.append(out.read_text())
    assert running and process.returncode in (130, -signal.SIGINT), f"status {process.returncode}:\n{texts[-1][-2000:]}"
    server.wait()
    now, held = server.counts(), _held(run)
    again = {records[i].id for i in _more(now, counted, "sent")} & before
    assert not again, f"paid although the run held a reply: {sorted(again)[:3]}"
    return sum(c for i, c in _more(now, counted, "sent").items() if records[i].id not in held)


def _told(text: str) -> tuple[int, int]:
    """Return the requests and prompt tokens that a command has printed."""
    found = re.search(r"([\d,]+) requests, ([\d,]+) prompt tokens", text)
    return (int(found[1].replace(",", "")), int(found[2].replace(",", ""))) if found else (0, 0)


def _compared(
    command: Sequence[str], run: Path, server: Served, records: Sequence[Record], texts: list[str]
) -> tuple[int, int, int]:
    """Run a command to its end; return how many replied, failed and were not asked, as all files must state."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=_keyed(), timeout=900)
    texts.append(done.stdout + done.stderr)
    assert done.returncode in (0, 3), f"status {done.returncode}:\n{texts[-1][-2000:]}"
    server.wait()
    line = re.search(r"(\d+) of (\d+) records have a reply(?:, (\d+) failed)?(?:, (\d+) not asked)?", done.stdout)
    assert line, texts[-1][-2000:]
    account = int(line[1]), int(line[3] or 0), int(line[4] or 0)
    stated = account_in([score for _, _, score in read_scores(run / "scores.csv")], "glaucoma")
    paid = {i for i, c in server.counts()["sent"].items() if i >= 0}
    held = {p.record.id for p in read_predictions(run / "predictions.parquet") if p.reply.finish_reason != "error"}
    report = [*command[:3], "report", str(run), "--out", str(run.parent / "page")]
    page = subprocess.run(report, check=True, capture_output=True, text=True, env=_keyed()).stdout
    written = "".join(f.read_text() for f in (run.parent / "page").rglob("*") if f.suffix in (".md", ".html", ".csv"))
    assert stated == Account(*account) and sum(account) == len(records), (stated, account)
    assert len(held) == len(_held(run)) == account[0] and {records[i].id for i in paid} >= held
    assert account[1] + account[2] == 0 or str(Account(*account)) in written + page, "the page states another account"
    return account


MOST = 40
"""Maximum number of requests after which a command is killed; half of the records are left for the last command."""


def test_command(url: str, folder: Path, run: Path, concurrency: int, *more: str) -> list[str]:
    """Return the command that asks a server about a curated folder; `more` are further options."""
    parts = {"--model": "model/openai.yaml", "--trainer": "trainer/cpu.yaml"}
    named = [word for option, file in parts.items() for word in (option, str(ROOT / "configs" / file))]
    endpoint = {"base_url": url, "model": "m", "pace.concurrency": concurrency}
    options = [word for key, value in endpoint.items() for word in (f"--model.backend.{key}", str(value))]
    data = ["--data.curated", str(folder), "--data.tasks", f"[{ROOT / 'configs/task/glaucoma.yaml'}]"]
    quiet = ["--data.eval_batch_size", str(concurrency), "--trainer.logger", "false", "--run", str(run)]
    return [sys.executable, "-m", "lmod_train", "test", *named, *options, *data, *quiet, *more]


SECRET = "sk-bench-0123456789abcdefABCDEF"


def _keyed() -> dict[str, str]:
    return {**os.environ, "OPENAI_API_KEY": SECRET, "OPENAI_LOG": "debug"}


def found_in(folders: Sequence[Path], texts: Sequence[str]) -> tuple[list[str], int]:
    """Return where the key, or 20 characters of it, is found, and the number of files."""
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    part = SECRET[:20].encode()
    named = [str(file) for file in files if part in file.read_bytes() or SECRET[:20] in str(file)]
    return named + [text for text in texts if SECRET[:20] in text], len(files)


def _killed(
    command: Sequence[str], run: Path, server: Served, draw: random.Random, records: Sequence[Record], texts: list[str]
) -> int:
    """Kill a command while it asks; return how many of the replies sent to it the run does not hold.

    Its output is appended to `texts`.

    Raises:
        AssertionError: The command ended before, or it asked a record again whose reply the run held.
    """
    before, counted, until = _held(run), server.counts(), draw.randint(1, MOST)
    out = run.parent / "output.txt"
    with out.open("w") as opened:
        process = subprocess.Popen(command, stdout=opened, stderr=opened, env=_keyed())
    while process.poll() is None and _more(server.counts(), counted, "asked").total() < until:
        time.sleep(0.01)
    time.sleep(draw.uniform(0, 0.1))
    ended = process.poll()
    process.send_signal(draw.choice((signal.SIGKILL, signal.SIGTERM)))
    process.wait()
    texts.append(out.read_text())
    assert ended is None, f"a command ended with status {ended} before it was killed:\n{texts[-1]}"
    server.wait()
    now, held = server.counts(), _held(run)
    again = {records[i].id for i in _more(now, counted, "asked")} & before
    assert not again, f"asked although the run held a reply: {sorted(again)[:3]}"
    return sum(c for i, c in _more(now, counted, "sent").items() if records[i].id not in held)


def _more(now: dict[str, Counter[int]], before: dict[str, Counter[int]], name: str) -> Counter[int]:
    """Return by how much the counts of the questions have grown, those that have."""
    return Counter({i: c for i, c in (now[name] - before[name]).items() if i >= 0})


def _held(run: Path) -> set[str]:
    """Return the ids whose reply is on the disk."""
    return {id for (id, _, _), reply in read_replies(run / "replies").items() if not has_failed(reply)}


def main() -> None:
    """Read the command line and measure."""
    measures = {
        "throughput": (throughput, 0.2, 32),
        "replicas": (replicas, 0.2, 8),
        "kills": (kills, 0.05, 8),
        "faults": (faults, 0.05, 8),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=measures)
    parser.add_argument("--n", type=int, default=200, help="Requests, or kills.")
    parser.add_argument("--delay", type=float, default=None, help="Seconds that the server takes for a reply.")
    parser.add_argument("--concurrency", type=int, default=None, help="Requests in flight on each server.")
    given = parser.parse_args()
    measure, delay, concurrency = measures[given.measure]
    with tempfile.TemporaryDirectory() as work:
        measure(given.n, Path(work), given.delay or delay, given.concurrency or concurrency)


if __name__ == "__main__":
    main()
