"""Whatever the files of a sample do, they cost that sample: errors, time, and the process that reads them."""

import csv
import ctypes
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import from_csv
from lmod_train.core.links import links_followed
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation import guard
from lmod_train.data.curation import image_files as images
from lmod_train.data.curation.guard import guarded
from lmod_train.data.curation.pipeline import curate
from tests.data.curation.world import Discs, Glaucoma, Regions
from tests.tabled import tabled

SAMPLE = Sample("s", "k", "CFP", Path("raw/secret/a.jpg"), "g", "CC0")
QUIET = {"longest_side": 100, "progress": False, "balance": []}


@tabled("error", [KeyError("x"), RecursionError(), MemoryError(), AssertionError("a"), StopIteration()])
def test_an_error_of_any_kind_costs_the_sample_alone(error):
    def read():
        raise error

    dropped = guarded(SAMPLE, read)
    assert isinstance(dropped, Dropped) and dropped.reason == "sample_unreadable" and dropped.key == "k"
    assert type(error).__name__ in dropped.detail


def test_an_error_of_ours_passes_and_a_result_is_returned():
    with pytest.raises(BadArgument):
        guarded(SAMPLE, lambda: (_ for _ in ()).throw(BadArgument("a", 1, "2", "3")))
    assert guarded(SAMPLE, lambda: 7) == 7


def test_what_takes_too_long_is_left_out_and_the_clock_is_put_back():
    def ring(number, frame):
        pytest.fail("the clock still runs")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        started = time.perf_counter()
        dropped = guarded(SAMPLE, lambda: time.sleep(60), seconds=0.2)
        assert time.perf_counter() - started < 30
        assert dropped.detail == "TookTooLong: its files were not read in 0.2 s"
        time.sleep(0.3)
        assert signal.getsignal(signal.SIGALRM) is ring
    finally:
        signal.signal(signal.SIGALRM, before)


def test_in_a_thread_time_is_not_limited():
    found = []
    thread = threading.Thread(target=lambda: found.append(guarded(SAMPLE, lambda: time.sleep(0.2) or 1, seconds=0.05)))
    thread.start()
    thread.join()
    assert found == [1]


def test_folders_and_addresses_are_not_told():
    error = OSError("raw/secret/a.jpg: <_io.BytesIO object at 0x7f00aa> of <Image at 0x7f12>")
    assert guard.detail_of(error, SAMPLE.own_image) == "OSError: a.jpg: 'a.jpg' of <Image>"


def trapped(real):
    """Return a reader that ends or stops its process over the files for which there is a trap."""

    def read(path, *rest):
        if path.suffix == ".png" and "masks" not in path.parts:
            trap = path.parent.parent / "traps" / path.stem
            kind = trap.read_text() if trap.exists() else ""
            if kind == "crash":
                ctypes.string_at(0)
            if kind == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if kind == "hangs":
                sum(range(10**12))  # in C, where no signal is heard
        return real(path, *rest)

    return read


def setting(*_):
    """Set the traps in a worker: it starts anew and imports this module with the plan's first task."""
    images.image_bytes = trapped(images.image_bytes)
    guard.guarded.__defaults__ = (1.0,)


class Trapping(Glaucoma):
    """Brings the traps along into the worker processes."""

    def __setstate__(self, state):
        self.__dict__.update(state)
        if not hasattr(images, "trapped"):
            images.trapped = True
            setting()


def test_a_worker_that_crashes_is_killed_or_hangs_costs_that_sample(tmp_path):
    source = Discs.write(tmp_path / "raw", 24)
    files = {s.key: s.image for s in source.samples() if isinstance(s, Sample)}
    keys = sorted(files)
    (tmp_path / "raw" / "traps").mkdir()
    for key, kind in ((keys[3], "crash"), (keys[4], "killed"), (keys[17], "hangs")):
        (tmp_path / "raw" / "traps" / files[key].stem).write_text(kind)
    curate([source], [Trapping()], tmp_path / "out", workers=2, **QUIET)
    with (tmp_path / "out" / "dropped.csv").open(newline="") as file:
        rows = {row["key"]: (row["reason"], row["step"]) for row in csv.DictReader(file)}
    assert rows == dict.fromkeys((keys[3], keys[4], keys[17]), ("reader_died", "read"))
    assert {r.key for r in read_records(tmp_path / "out" / "records")} == set(keys) - set(rows)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_hostile_files_are_listed_and_the_rest_is_curated(tmp_path, workers):
    source = Discs.write(tmp_path / "raw", 24)
    files = {s.key: s.image for s in source.samples() if isinstance(s, Sample)}
    keys = sorted(files)
    for key, harm in zip(keys[::3], HARMS, strict=False):
        files[key].unlink()
        harm(files[key])
    with links_followed(True):  # else the link to a device ends the command before a file is read
        curate([source], [Regions(), Glaucoma()], tmp_path / "out", workers=workers, **QUIET)
    with (tmp_path / "out" / "dropped.csv").open(newline="") as file:
        rows = {from_csv(row["key"]) for row in csv.DictReader(file)}
    assert rows == set(keys[::3])
    assert {r.key for r in read_records(tmp_path / "out" / "records")} == set(keys) - rows


def sparse(path):
    with path.open("wb") as file:
        file.truncate(10**12)


HARMS = (
    os.mkfifo,
    lambda path: path.symlink_to("/dev/zero"),
    Path.mkdir,
    sparse,
    lambda path: path.symlink_to(path.name),
    lambda path: path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n"),
    lambda path: path.write_bytes(np.random.default_rng(0).bytes(5000)),
    lambda path: path.write_bytes(b"BM" + b"\xff" * 5000),
)
