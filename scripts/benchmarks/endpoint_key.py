"""Let requests fail in every way in which a server, a message or a file may show the API key, and search for it.

    python scripts/benchmarks/endpoint_key.py [--n 20]

Servers answer with errors of every status, silence, half replies and garbage, and repeat the Authorization header in
their bodies and headers. Commands are given the key in places where it does not belong. Afterwards all files of the
runs and all that was printed or logged (with the client's own debug log) is searched for the key.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from endpoint import SECRET, curated, found_in, serving, test_command

from lmod_train.cli import main as command_line

FAULTS = ("silence", "half body", "half stream", "garbage", "error 200")
PLANS: list[dict[str, Any]] = [
    *({"status": s} for s in (400, 401, 403, 404, 422, 429, 500, 503)),
    *({"fault": 1.0, "faults": {fault: 1.0}} for fault in FAULTS),
    {},  # replies that repeat the key
]


@contextmanager
def captured(file: Path) -> Iterator[None]:
    """Write all output of this process, down to its file descriptors, to a file within the block."""
    saved = os.dup(1), os.dup(2)
    with file.open("ab") as out:
        sys.stdout.flush()
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(saved[0], 1)
            os.dup2(saved[1], 2)


def asked(work: Path, url: str, run: str, n: int, *more: str) -> None:
    """Run a command on a server; its output is appended to ``output.txt``."""
    limits = {"attempts": 1, "timeout": 2.5, "give_up_after": n + 1}
    options = [word for k, v in limits.items() for word in (f"--model.backend.pace.{k}", str(v))]
    with captured(work / "output.txt"), suppress(SystemExit):  # as it ends for options that it does not know
        command_line([*test_command(url, work / "curated", work / run, 8, *options)[3:], *more])


def main() -> None:
    """Read the command line, fail, and search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20, help="Failing calls of each kind.")
    given = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = SECRET
    with tempfile.TemporaryDirectory() as folder:
        work, calls = Path(folder), 0
        logging.basicConfig(filename=work / "log.txt", level="DEBUG")
        records = curated(work / "curated", given.n, images=4, side=16)
        for i, plan in enumerate(PLANS):
            with serving(records, echo=True, **plan) as server:
                asked(work, server.url, f"run-{i}", given.n)
                failing = sum(count for n, count in server.counts()["asked"].items() if n >= 0)
            assert failing, f"no record was asked: {(work / 'output.txt').read_text(errors='replace')[-1000:]}"
            calls += failing
        nobody = "http://127.0.0.1:9/v1"
        urls = [f"http://u:{SECRET}@127.0.0.1:9/v1", f"{nobody}?key={SECRET}", f"http://127.0.0.1:9/{SECRET}/v1",
                f"htp://{SECRET}", SECRET]  # fmt: skip
        for i, url in enumerate(urls):
            asked(work, url, f"url-{i}", given.n)
        for option in ("key_variable", "extra", "system_prompt", "replicas", "model"):
            value = {"extra": f"{{api_key: {SECRET}}}", "replicas": f"[{SECRET}]"}.get(option, SECRET)
            asked(work, nobody, option, given.n, f"--model.backend.{option}", value)
        found, files = found_in([work], [])
        for file in found:
            lines = Path(file).read_bytes().split(b"\n")
            print(f"found in {file}:", *(line[:300] for line in lines if SECRET.encode()[:20] in line), sep="\n  ")
        printed = (work / "output.txt").read_text(errors="replace") + (work / "log.txt").read_text(errors="replace")
        assert not found, f"the key is in {len(found)} of {files} files"
        assert "[key]" in printed or any(b"[key]" in f.read_bytes() for f in work.rglob("*.jsonl"))
        print(f"{calls} failing calls, {len(urls) + 5} wrong commands: the key is in none of {files} files and outputs")


if __name__ == "__main__":
    main()
