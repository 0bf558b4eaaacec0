"""The table: rows as computed, in pieces that appear whole, found again by whoever comes next, shared by many."""

import errno
import os
import pickle

import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import STALE
from lmod_train.models.vision import table as module
from lmod_train.models.vision.table import PIECES, table

NAMES = [f"n{i:02}" for i in range(10)]
LIKE = np.empty((0, 2), np.float32)


class Compute:
    """Number and square of each name; notes what it is asked, and stops where it is told."""

    def __init__(self, stops_at=None):
        self.asked, self.stops_at = [], stops_at

    def __call__(self, names):
        if len(self.asked) == self.stops_at:
            raise KeyboardInterrupt
        self.asked.append(list(names))
        numbers = [int(name[1:]) for name in names]
        return np.array([(n, n * n) for n in numbers], np.float32)


def expected(names):
    return [[float(n[1:]), float(n[1:]) ** 2] for n in names]


def files(folder):
    return sorted(f.name for f in folder.rglob("*") if f.is_file())


@pytest.mark.parametrize("size", [1, 3, 10, 99])
@pytest.mark.parametrize("kept", [True, False])
def test_rows_are_those_computed_whatever_the_pieces(tmp_path, size, kept):
    found = table(NAMES, LIKE, Compute(), tmp_path / "t" if kept else None, size)
    wanted = ["n07", "n00", "n09", "n07", "n03"]
    assert found.take(wanted).tolist() == expected(wanted) and found.take(wanted).dtype == np.float32
    assert (len(found), found.names, "n03" in found, "x" in found) == (10, NAMES, True, False)
    assert len(files(tmp_path)) == (-(-10 // size) if kept else 0)
    with pytest.raises(KeyError):
        found.take(["x"])


def test_what_is_taken_is_a_copy(tmp_path):
    found = table(NAMES, LIKE, Compute(), tmp_path, 4)
    found.take(NAMES)[:] = -1
    assert found.take(NAMES).tolist() == expected(NAMES)


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    stopped, again, third = Compute(stops_at=2), Compute(), Compute()
    with pytest.raises(KeyboardInterrupt):
        table(NAMES, LIKE, stopped, tmp_path, 3)
    assert files(tmp_path) == ["000-of-004.npy", "001-of-004.npy"]
    assert table(NAMES, LIKE, again, tmp_path, 3).take(NAMES).tolist() == expected(NAMES)
    assert again.asked == [NAMES[6:9], NAMES[9:]]
    table(NAMES, LIKE, third, tmp_path, 3)
    assert third.asked == []


def test_a_process_begins_with_its_share_and_ends_with_what_others_left(tmp_path):
    dead, mine = Compute(stops_at=1), Compute()
    with pytest.raises(KeyboardInterrupt):
        table(NAMES, LIKE, dead, tmp_path, 1, share=(0, 2))
    found = table(NAMES, LIKE, mine, tmp_path, 1, share=(1, 2))
    asked = [names[0] for names in mine.asked]
    assert dead.asked == [["n00"]] and asked[:5] == NAMES[5:] and sorted(asked[5:]) == NAMES[1:5]
    assert found.take(NAMES).tolist() == expected(NAMES)


def test_a_piece_that_another_has_opened_is_not_replaced(tmp_path):
    first = []

    def late(names):
        first.append(table(NAMES, LIKE, Compute(), tmp_path, 99))  # another process, while this one computes
        first.append((tmp_path / "000-of-001.npy").stat().st_ino)
        return Compute()(names)

    found = table(NAMES, LIKE, late, tmp_path, 99)
    assert (tmp_path / "000-of-001.npy").stat().st_ino == first[1] and files(tmp_path) == ["000-of-001.npy"]
    assert found.take(NAMES).tolist() == first[0].take(NAMES).tolist() == expected(NAMES)


def test_a_file_system_without_hard_links_is_written_to_all_the_same(tmp_path, monkeypatch):
    def unable(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", unable)
    assert table(NAMES, LIKE, Compute(), tmp_path, 4).take(NAMES).tolist() == expected(NAMES)
    assert len(files(tmp_path)) == 3


@pytest.mark.parametrize("processes", [1, 3, 7, 40])
def test_the_shares_are_everything_once(processes):
    turns = [module._turns(11, (rank, processes)) for rank in range(processes)]
    assert all(sorted(order) == list(range(11)) for order in turns)
    shares = [range(rank * 11 // processes, (rank + 1) * 11 // processes) for rank in range(processes)]
    assert [i for share in shares for i in share] == list(range(11))
    assert all(order[: len(share)] == list(share) for order, share in zip(turns, shares, strict=True))


def test_helpers_do_not_go_the_same_way():
    helping = [tuple(module._turns(100, (rank, 4))[25:29]) for rank in range(4)]
    assert len(set(helping)) == 4


@pytest.mark.parametrize(
    "damage",
    [b"", b"no array", None, np.zeros((3, 2), np.float64), np.zeros((3, 3), np.float32), np.array([{}] * 3)],
)
def test_a_piece_that_does_not_fit_is_computed_again(tmp_path, damage):
    table(NAMES, LIKE, Compute(), tmp_path, 3)
    file = tmp_path / "001-of-004.npy"
    if isinstance(damage, np.ndarray):
        np.save(file, damage)
    else:
        file.write_bytes(file.read_bytes()[:-4] if damage is None else damage)
    again = Compute()
    assert table(NAMES, LIKE, again, tmp_path, 3).take(NAMES).tolist() == expected(NAMES)
    assert again.asked == [NAMES[3:6]]


def test_many_rows_make_longer_pieces_and_not_more(tmp_path):
    names = [f"n{i}" for i in range(2 * PIECES + 1)]
    found = table(names, LIKE, Compute(), tmp_path, 1)
    assert len(files(tmp_path)) == -(-len(names) // 3) <= PIECES
    assert found.take(names[-2:]).tolist() == expected(names[-2:])


@pytest.mark.parametrize("kept", [True, False])
def test_another_process_gets_the_table(tmp_path, kept):
    found = table(NAMES, LIKE, Compute(), tmp_path if kept else None, 4)
    sent = pickle.dumps(found)
    assert pickle.loads(sent).take(NAMES).tolist() == expected(NAMES)
    assert (found.take(NAMES[:1]).tobytes() in sent) == (not kept)


def test_no_names_are_an_empty_table_that_is_not_written(tmp_path):
    found = table([], LIKE, Compute(stops_at=0), tmp_path / "t", 4)
    assert len(found) == 0 and found.take([]).shape == (0, 2) and found.take([]).dtype == np.float32
    assert not (tmp_path / "t").exists()


def test_what_a_killed_process_left_goes_after_a_day_and_not_before(tmp_path):
    old, young = tmp_path / ".old.part", tmp_path / ".young.part"
    for left in (old, young):
        left.touch()
    os.utime(old, (0, old.stat().st_mtime - STALE - 60))
    table(NAMES, LIKE, Compute(), tmp_path, 4)
    assert not old.exists() and young.exists()


def test_a_full_disk_is_told_and_leaves_no_half_piece(tmp_path, monkeypatch):
    def full(stream, rows, **_):
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.np, "save", full)
    with pytest.raises(BadArgument, match=r"model\.init_args\.cache.*\n?.*No space left"):
        table(NAMES, LIKE, Compute(), tmp_path, 4)
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path):
    (tmp_path / "t").write_text("a file where the folder should be")
    with pytest.raises(BadArgument, match=r"model\.init_args\.cache.*memory"):
        table(NAMES, LIKE, Compute(), tmp_path / "t", 4)
