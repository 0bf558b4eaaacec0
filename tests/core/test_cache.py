"""The cache of arrays: what is kept is read back; files appear whole, whoever is killed, late or out of room."""

import errno
import os
import random
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

from lmod_train.core import cache as module
from lmod_train.core.cache import Cache, mapped
from lmod_train.core.errors import BadArgument, LinkInFolder
from lmod_train.core.files import STALE

ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
NAMED = np.zeros((), [("hidden_states.1.3", "<u2", (4, 5)), ("last_hidden_state", "<f4", (2,))])


def cache_in(folder):
    return Cache(folder, "model.init_args.some", "value", "choose another")


def files(folder):
    return sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())


@pytest.mark.parametrize(
    "array", [ROWS, NAMED, ROWS.T, ROWS[:0], np.float64(3.5), np.ones((2, 3), bool), np.array(["a", "ß"])]
)
def test_what_is_kept_is_read_back_and_cannot_be_written_to(tmp_path, array):
    cache = cache_in(tmp_path / "made")
    assert cache.read("ab/one") is None
    cache.keep("ab/one", array)
    for found in (cache.read("ab/one"), cache_in(tmp_path / "made").read("ab/one"), np.load(cache.file("ab/one"))):
        assert (found.shape, found.dtype) == (np.shape(array), array.dtype) and found.tobytes() == array.tobytes()
    assert not cache.read("ab/one").flags.writeable and files(tmp_path) == ["made/ab/one.npy"]


@pytest.mark.parametrize("array", [ROWS, NAMED])
def test_a_damaged_file_is_missing_and_kept_anew(tmp_path, array):
    cache = cache_in(tmp_path)
    cache.keep("one", array)
    file, good = cache.file("one"), cache.file("one").read_bytes()
    for damaged in (b"", good[:5], good[:-1], good + b"\0", b"no array", good[:6] + b"\2" + good[7:]):
        file.write_bytes(damaged)
        assert cache.read("one") is None
        cache.keep("one", array)
        assert file.read_bytes() == good
    np.save(file, np.array([{}] * 3), allow_pickle=True)
    assert cache.read("one") is None


@pytest.mark.parametrize("array", [ROWS, NAMED])
@pytest.mark.parametrize("tries", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_header_damaged_in_any_place_never_raises(tmp_path, array, tries):
    cache = cache_in(tmp_path)
    cache.keep("one", array)
    file, good = cache.file("one"), cache.file("one").read_bytes()
    missing = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python, which reads a header as a literal
        for seed in range(tries):
            draw, bytes_ = random.Random(seed), bytearray(good)
            for _ in range(draw.randint(1, 4)):
                bytes_[draw.randrange(128)] = draw.choice([draw.randrange(256), *b"()[]{}',:0123456789-<fuO\\\"#\n "])
            file.write_bytes(bytes_)
            missing += mapped(file) is None
    assert missing > tries // 2


def test_a_whole_file_of_a_faster_process_stays_and_one_that_does_not_fit_goes(tmp_path):
    cache = cache_in(tmp_path)
    cache.keep("one", ROWS)
    first, seen = cache.file("one").stat().st_ino, cache.read("one")
    cache_in(tmp_path).keep("one", ROWS + 1)
    assert cache.file("one").stat().st_ino == first and np.array_equal(cache.read("one"), ROWS)
    for other in (ROWS[:2], ROWS.astype(np.float64)):
        cache.keep("one", other)
        assert np.array_equal(cache.read("one"), other) and cache.read("one").dtype == other.dtype
    assert np.array_equal(seen, ROWS), "mapped before it was replaced"
    assert files(tmp_path) == ["one.npy"]


def test_a_file_system_without_hard_links_is_written_to_all_the_same(tmp_path, monkeypatch):
    def unable(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", unable)
    cache_in(tmp_path).keep("one", ROWS)
    assert np.array_equal(cache_in(tmp_path).read("one"), ROWS) and files(tmp_path) == ["one.npy"]


def test_a_full_disk_names_the_option_and_leaves_nothing(tmp_path, monkeypatch):
    def full(stream, *_, **__):
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.np, "save", full)
    with pytest.raises(BadArgument, match=r"model\.init_args\.some='value'.*No space left.*\nNext: choose another"):
        cache_in(tmp_path).keep("ab/one", ROWS)
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_computed(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadArgument, match=r"model\.init_args\.some='value'.*file.*\nNext: choose another"):
        cache_in(tmp_path / "file")


def test_a_complete_cache_is_read_where_nothing_can_be_removed(tmp_path, monkeypatch):
    cache_in(tmp_path).keep("one", ROWS)

    def read_only(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(module, "sweep", read_only)
    assert np.array_equal(cache_in(tmp_path).read("one"), ROWS)


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from lmod_train.core.cache import Cache

def half(stream, array, **_):
    stream.write(b"half of it"), stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)

cache = Cache(Path(sys.argv[1]), "a", "b", "c")
cache.keep("ab/done", np.ones(3))
np.save = half
cache.keep("ab/one", np.ones(3))
"""


def test_a_killed_process_leaves_what_it_had_done_and_a_part_that_goes_after_a_day(tmp_path):
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    (part,) = (tmp_path / "ab").glob(".*.part")
    cache = cache_in(tmp_path)
    assert cache.read("ab/one") is None and np.array_equal(cache.read("ab/done"), np.ones(3)) and part.exists()
    os.utime(part, (0, part.stat().st_mtime - STALE - 60))
    cache_in(tmp_path)
    assert files(tmp_path) == ["ab/done.npy"]


SEVERAL = """
import sys
from pathlib import Path
import numpy as np
from lmod_train.core.cache import Cache

cache, total = Cache(Path(sys.argv[1]), "a", "b", "c"), 0
for i in range(200):
    name = f"{i % 3}/{i}"
    found = cache.read(name)
    if found is None:
        cache.keep(name, np.full(2000, i))
        found = cache.read(name)
    total += int(found.sum())
print(total)
"""


def test_processes_that_fill_one_folder_at_once_all_get_everything(tmp_path):
    begun = [
        subprocess.Popen([sys.executable, "-c", SEVERAL, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=60)[0] for process in begun] == [f"{2000 * sum(range(200))}\n"] * 3
    assert files(tmp_path) == sorted(f"{i % 3}/{i}.npy" for i in range(200))


def test_nothing_is_kept_behind_a_link(tmp_path):
    (tmp_path / "outside").mkdir()
    cache = cache_in(tmp_path / "made")
    cache.keep("one", ROWS)
    (tmp_path / "made" / "ab").symlink_to(tmp_path / "outside")
    with pytest.raises(LinkInFolder):
        cache.keep("ab/two", ROWS)
    assert files(tmp_path / "outside") == []
