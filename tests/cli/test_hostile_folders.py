"""Hostile folders and tables, some of each kind, through every command that takes one: five counts stay at zero.

Each attack is put into a copy of a good folder, and the command runs in a process of its own, so that its memory, its
time and its traceback are seen. What it must not do is looked for in the files: nothing was executed, nothing that lies
outside was sent or copied, nothing outside was changed, no metadata of an image was passed on, and it ended by itself.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import resource
import select
import shutil
import socket
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image
from threadpoolctl import threadpool_limits

from lmod_train import cli
from lmod_train.core.shipped import configs_folder
from tests.hostile_folders import ASKED, ATTACKS, HIDDEN, SECRET, Attack, edit_manifest, make_secret
from tests.hostile_tables import TABLES
from tests.writing import CPU, WAYS, Way, copied, standing

MOST_MB, MOST_ROOM = 1500, 2**33
"""Megabytes that a command may take, and bytes at which it gets no more, so that the others here have theirs."""

MOST_SECONDS, MOST_IDLE = 240, 60
"""A command is stopped when it has computed, or waited, for longer: other work on this machine stops none."""


@dataclass(frozen=True)
class Ended:
    """How a command ended; `status` is -9 if it was stopped, as it would never have ended."""

    status: int
    megabytes: int
    printed: str


TAKES = {
    "curated": ("export-llava", "blind", "answers-blank", "subset", "export-hugging_face", "verify", "validate",
                "export-sharegpt", "export-vlmevalkit", "export-lmms_eval", "test", "predict", "fit", "doctor"),
    "run": ("rescore", "judge-people", "judge-sheet", "pack", "judge-model", "report", "report-one-file"),
    "draft": ("review-blank", "review-sheets", "judge-captions", "review-captions-blank", "review-captions"),
    "captions": ("captions",),
    "pack": ("verify",),
    "checkpoint": ("apply-delta",),
    "raw": ("curate", "curate-continued", "import"),
    "photographs": ("curate",),
    "talk": ("import",),
    "table": ("table",),
    "plan": ("table-plan",),
    "spreadsheet": ("answers", "judge-people", "review-sheets", "captions"),
}  # fmt: skip
"""Kind of folder -> the commands that take it; the first two share all but heavy attacks in the quick part."""

QUICK = 2


def find(name: str) -> Way:
    return next(way for way in WAYS if way.name == name)


def cases() -> Iterator[Any]:
    """Yield each command with its share of the attacks of the quick part, and, slow, with all others."""
    for kind, names in TAKES.items():
        attacks = [one for one in (*ATTACKS, *TABLES) if one.kind == kind]
        quick, few = [one for one in attacks if not one.heavy], names[:QUICK]
        for name in names:
            share = quick[few.index(name) :: len(few)] if name in few else []
            if share:
                yield pytest.param(name, share, id=f"{kind}-{name}")
            if rest := [one for one in attacks if one not in share]:
                yield pytest.param(name, rest, id=f"{kind}-{name}-rest", marks=pytest.mark.slow)


def test_the_quick_part_holds_every_attack_that_is_not_heavy():
    shares = [one for case in cases() if not case.marks for one in case.values[1]]
    assert len(shares) == len(set(shares)) and {*shares} == {one for one in (*ATTACKS, *TABLES) if not one.heavy}


@pytest.mark.parametrize(("name", "attacks"), list(cases()))
def test_no_attack_of_a_folder_succeeds(
    name: str, attacks: list[Attack], before: Callable[[Way], Path], tmp_path: Path
):
    way, wrong = find(name), []
    for attack in attacks:
        here, outside = tmp_path / "here", own_files(tmp_path / "outside")
        shutil.copytree(before(way), here, symlinks=True)
        attack.plant(here, outside)
        there, precious = tree(here), tree(outside)
        ended = run(here, way.typed)
        wrong += [f"{attack.name}: {fault}" for fault in faults(here, there, ended)]
        wrong += [f"{attack.name}: wrote outside"] if tree(outside) != precious else []
        shutil.rmtree(here)
        shutil.rmtree(outside)
    assert wrong == []


def faults(here: Path, before: dict[str, str], ended: Ended) -> Iterator[str]:
    """Yield what a command did that it must not do."""
    if (here.parent / "mark").exists():
        yield "executed"
    if "Traceback" in ended.printed or ended.status not in (0, 2, 3):
        yield f"status {ended.status}: {ended.printed[-1500:]}"
    if ended.megabytes > MOST_MB:
        yield f"{ended.megabytes} MB"
    if "\x1b[2J" in ended.printed:
        yield "cleared the terminal"
    for path, content in tree(here).items():
        file = Path(path)
        if before.get(path) != content and file.is_file() and not file.is_symlink():
            yield from (f"{what} in {file.name}" for what in found_in(file))


def found_in(file: Path) -> list[str]:
    """Return which secrets a written file holds, packed ones too."""
    data = file.read_bytes()
    texts = [data]
    if file.suffix == ".parquet":
        rows = pq.read_table(file).to_pylist()
        texts += [repr(rows).encode()]
        texts += [i["bytes"] for row in rows for i in row.get("images") or () if isinstance(i, dict)]
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as opened:
            texts += [opened.read(name) for name in opened.namelist()]
    return sorted({what for text in texts for what in found_in_text(text)})


def found_in_text(data: bytes) -> Iterator[str]:
    for what, word in (("content of another file", SECRET), ("metadata of an image", HIDDEN)):
        if word in data:
            yield what
    pictures = [base64.b64decode(m) for m in re.findall(rb"base64,([A-Za-z0-9+/]{100,}=*)", data)]
    for picture in (data, *pictures):
        if is_photograph(picture):
            yield "another photograph"
        if picture is not data and HIDDEN in picture:
            yield "metadata of an image"


# ------------------------------------------------------------------------------------------ requests to a server


OPEN = {"redistributable": True}


@pytest.mark.parametrize("which", ["good", "metadata", "links", "folder of links", "names", "closed", "stated twice"])
def test_a_server_outside_receives_images_without_metadata_and_nothing_else(which: str, before, tmp_path: Path):
    here, outside = tmp_path / "here", own_files(tmp_path / "outside")
    shutil.copytree(before(find("export-llava")), here)
    if which != "closed":
        edit_manifest(here, lambda m: [source.update(OPEN) for source in m["sources"].values()])
    else:
        edit_manifest(here, lambda m: [source.update(redistributable="true") for source in m["sources"].values()])
    ASKED[which](here, outside)
    with listening() as (port, bodies):
        url = f"http://server.example.org:{port}/v1"
        model = ["--model", str(configs_folder() / "model/openai.yaml"), "--model.backend.base_url", url]
        model += ["--model.backend.model", "m", "--model.backend.pace.attempts", "1", "--run", "RUN", *CPU]
        tasks = ["--data.tasks", f"[{configs_folder() / 'task/four_way.yaml'}]", "--data.curated", "CURATED"]
        ended = run(here, ("test", *model, *tasks, "--trainer.logger", "false"), at_home)
    assert ended.status == (0 if which in ("good", "metadata") else 2), ended.printed
    assert "Traceback" not in ended.printed
    sent = [base64.b64decode(m) for body in bodies for m in re.findall(rb"base64,([A-Za-z0-9+/]{100,}=*)", body)]
    assert bool(sent) == (which in ("good", "metadata"))
    assert [what for body in bodies for what in found_in_text(body)] == []
    assert not [image for image in sent if b"Exif" in image or b"ICC_PROFILE" in image or b"http://ns.adobe" in image]


def at_home() -> None:
    """Let the name of a server outside lead to this machine, which has no certificate for it."""
    import lmod_train.models.backends.openai as client

    os.environ["OPENAI_API_KEY"] = "sk-test"
    client.check_encrypted = lambda *_: None
    real = socket.getaddrinfo

    def found(host: Any, *more: Any, **named: Any) -> Any:
        return real("127.0.0.1" if "example.org" in str(host) else host, *more, **named)

    socket.getaddrinfo = found


@contextmanager
def listening() -> Iterator[tuple[int, list[bytes]]]:
    """Serve replies on this machine; yield the port, and the bodies of all requests as they come."""
    bodies: list[bytes] = []

    class Recording(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer({"choices": [{"message": {"role": "assistant", "content": "normal"}, "finish_reason": "stop"}]})

        def do_GET(self) -> None:
            self.answer({"data": [{"id": "m"}]})

        def answer(self, value: dict[str, Any]) -> None:
            text = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", **value}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Recording)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], bodies
    server.shutdown()
    server.server_close()


# ------------------------------------------------------------------------------------------------ surroundings


@pytest.fixture(scope="module")
def before(curated: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Way], Path]:
    """A function of a command that returns a working folder with what it reads."""
    made: dict[str, Path] = {}

    def of(way: Way) -> Path:
        key = way.prepare.__name__
        if key not in made:
            made[key] = tmp_path_factory.mktemp(key)
            with standing(made[key]):
                way.prepare(curated)
                if way.prepare is copied:
                    assert cli.main(["blind", "CURATED"]) == 0
        return made[key]

    return of


def own_files(outside: Path) -> Path:
    """Write files of the owner that no command is told of."""
    (outside / "run").mkdir(parents=True)
    (outside / "secret.txt").write_bytes(SECRET)
    (outside / "run" / "secret.csv").write_bytes(SECRET)
    make_secret(outside / "photograph.jpg")
    return outside


def is_photograph(data: bytes) -> bool:
    """Return whether the bytes of a file are that photograph, in any size and format."""
    try:
        small = Image.open(io.BytesIO(data)).convert("RGB").resize((8, 8), Image.Resampling.BOX)
    except Exception:  # no image, or a damaged one
        return False
    green = [small.getpixel((at % 8, at // 8)) for at in range(64) if (at // 8 + at) % 2]
    return all(isinstance(p, tuple) and p[1] > 150 and p[0] < 100 for p in green)


def tree(root: Path) -> dict[str, str]:
    """Return path -> hash of the content, or the target of a link; a file of gigabytes has its size."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[str(path)] = f"-> {path.readlink()}"
        elif path.is_file():
            size = path.stat().st_size
            found[str(path)] = str(size) if size > 2**28 else hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[str(path)] = "folder"
    return found


def run(here: Path, typed: tuple[str, ...], prepare: Callable[[], None] = lambda: None) -> Ended:
    """Run a command in a process of its own, which is stopped when it takes too long."""
    printed, computed, since = here.parent / "printed", 0.0, time.monotonic()
    process = os.fork()
    if process == 0:
        _child(here, typed, prepare, printed)
    held, ending = kilobytes(process), os.pidfd_open(process)
    while not select.select([ending], [], [], 1)[0]:
        if (now := seconds_of(process)) > computed:
            computed, since = now, time.monotonic()
        if computed > MOST_SECONDS or time.monotonic() - since > MOST_IDLE:
            os.kill(process, 9)
    os.close(ending)
    _, status, used = os.wait4(process, 0)
    grown = used.ru_maxrss - held
    return Ended(os.waitstatus_to_exitcode(status), grown // 1024, printed.read_text(errors="replace"))


def kilobytes(process: int) -> int:
    """Return how much memory a process has now; a new one begins with a copy of this one's."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() // 1024


def seconds_of(process: int) -> float:
    """Return how long a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _child(here: Path, typed: tuple[str, ...], prepare: Callable[[], None], printed: Path) -> None:
    status = 99
    try:
        file = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.chdir(here)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_ROOM, MOST_ROOM))
        import sys

        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        threadpool_limits(
            1
        )  # a fork has not the threads of OpenMP that its parent may have started, and waits for them
        prepare()
        status = cli.main(list(typed))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
