"""Files as bytes: whole or not at all, and hashes that a replaced file cannot fool."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from lmod_train.core import files


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Remember files of any size, at once, in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "LARGE", 0)
    monkeypatch.setattr(files, "SETTLED", -1.0)
    return tmp_path / "cache" / "lmod_train" / "sha256.json"


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "new" / "file.txt"
    with pytest.raises(ZeroDivisionError), files.write_durably(path) as beside:
        beside.write_text("half")
        assert not path.exists()
        raise ZeroDivisionError
    assert list(path.parent.iterdir()) == []
    for text in ("one", "two"):
        with files.write_durably(path) as beside:
            beside.write_text(text)
        assert path.read_text() == text
    with pytest.raises(ZeroDivisionError), files.write_durably(path) as beside:
        beside.write_text("half")
        raise ZeroDivisionError
    assert (path.read_text(), [f.name for f in path.parent.iterdir()]) == ("two", ["file.txt"])


def test_a_file_that_has_not_changed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_bytes(b"weights")
    os.utime(tmp_path / "a", (1, 1))  # reading it changes when it was read
    digest = hashlib.sha256(b"weights").hexdigest()
    assert files.remembered_sha256(tmp_path / "a") == digest
    monkeypatch.setattr(files, "sha256_of", lambda path: pytest.fail(f"{path} was read again"))
    assert files.remembered_sha256(tmp_path / "a") == digest
    monkeypatch.chdir(tmp_path)
    assert files.remembered_sha256(Path("a")) == digest


@pytest.mark.parametrize("how", ["in place", "by another file", "with its times set back"])
def test_other_bytes_of_the_same_size_are_noticed(tmp_path: Path, how: str):
    file = tmp_path / "a"
    file.write_bytes(b"one")
    before, about = files.remembered_sha256(file), file.stat()
    if how == "by another file":
        (tmp_path / "b").write_bytes(b"two")
        (tmp_path / "b").replace(file)
    else:
        file.write_bytes(b"two")
    if how == "with its times set back":
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert before == hashlib.sha256(b"one").hexdigest()
    assert files.remembered_sha256(file) == hashlib.sha256(b"two").hexdigest()


def test_a_file_that_has_just_changed_is_not_remembered(tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "SETTLED", 2.0)
    (tmp_path / "a").write_bytes(b"one")
    files.remembered_sha256(tmp_path / "a")
    assert not memory.exists()


def test_small_files_are_not_remembered(tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "LARGE", 10)
    (tmp_path / "a").write_bytes(b"small")
    assert files.remembered_sha256(tmp_path / "a") == hashlib.sha256(b"small").hexdigest()
    assert not memory.exists()


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"a": 1}', "null", "\x00"])
def test_a_damaged_memory_costs_time_only(tmp_path: Path, memory: Path, damage: str):
    (tmp_path / "a").write_bytes(b"one")
    memory.parent.mkdir(parents=True)
    memory.write_text(damage)
    assert files.remembered_sha256(tmp_path / "a") == hashlib.sha256(b"one").hexdigest()
    assert list(json.loads(memory.read_text())) == [str(tmp_path / "a")]


def test_a_home_that_cannot_be_written_to_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_bytes(b"one")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a" / "b"))
    assert files.remembered_sha256(tmp_path / "a") == hashlib.sha256(b"one").hexdigest()


def test_a_folder_is_known_by_names_and_content_wherever_it_lies(tmp_path: Path):
    def write(folder: Path, **content: str) -> str:
        folder.mkdir()
        for name, text in content.items():
            (folder / name).write_text(text)
        return files.content_sha256(folder)

    one = write(tmp_path / "one", a="x", b="y")
    assert one == write(tmp_path / "two", a="x", b="y")
    others = [write(tmp_path / "3", a="x"), write(tmp_path / "4", a="y", b="x"), write(tmp_path / "5", a="x", c="y")]
    assert len({one, *others}) == 4
    with pytest.raises(FileNotFoundError):
        files.content_sha256(tmp_path / "none")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_is_told_with_the_file():
    with (
        pytest.raises(OSError, match="No space"),  # of closing, which tries again
        Path("/dev/full").open("a", encoding="utf-8") as file,
        pytest.raises(OSError, match="No space left on device: '/dev/full'"),
    ):
        files.write_through(file, "a reply")


def test_what_is_written_through_is_there_before_the_file_is_closed(tmp_path: Path):
    with (tmp_path / "lines").open("a", encoding="utf-8") as file:
        files.write_through(file, "one\n")
        files.write_through(file, "two\n")
        assert (tmp_path / "lines").read_text() == "one\ntwo\n"


def test_the_hash_is_that_of_the_standard(tmp_path: Path):
    (tmp_path / "abc").write_bytes(b"abc")  # FIPS 180-2, appendix B.1
    assert files.sha256_of(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize("write", [files.write_beside, files.write_durably])
def test_a_folder_appears_whole_or_not_at_all(write, tmp_path: Path):
    out = tmp_path / "out"
    with pytest.raises(ZeroDivisionError), write(out) as part:
        (part / "deep").mkdir(parents=True)
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    out.mkdir()
    with write(out) as part:
        (part / "deep").mkdir(parents=True)
        (part / "deep" / "a.txt").write_text("a")
        assert not any(out.iterdir())
    assert [f.relative_to(tmp_path).as_posix() for f in tmp_path.rglob("*.txt")] == ["out/deep/a.txt"]
    with pytest.raises(OSError), write(out) as part:  # what is there is not lost
        part.mkdir()
    assert (out / "deep" / "a.txt").read_text() == "a" and [f.name for f in tmp_path.iterdir()] == ["out"]


def test_whole_waits_for_the_disk_before_it_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen = []
    monkeypatch.setattr(files.os, "fsync", lambda _: seen.append((tmp_path / "a").exists()))
    with files.write_durably(tmp_path / "a") as part:
        part.write_text("a")
    assert seen and not any(seen) and (tmp_path / "a").read_text() == "a"


def test_what_a_kill_left_of_a_path_is_removed_and_nothing_else(tmp_path: Path):
    (tmp_path / ".out [1].ab.part" / "deep").mkdir(parents=True)
    (tmp_path / ".out [1].cd.part").write_text("half")
    others = [tmp_path / ".out 1.ab.part", tmp_path / "out [1]", tmp_path / ".other.ab.part"]
    for other in others:
        other.write_text("kept")
    files.clear_parts(tmp_path / "out [1]")
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_only_what_is_old_is_swept(tmp_path: Path):
    old, young = tmp_path / ".a.part", tmp_path / ".b.part"
    for file in (old, young):
        file.write_text("half")
    os.utime(old, (0, 0))
    files.sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [young]


@pytest.mark.parametrize("write", [files.write_beside, files.write_durably])
def test_a_full_disk_names_the_file(write, tmp_path: Path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.parquet'"), write(tmp_path / "a.parquet"):
        raise full
    with pytest.raises(FileNotFoundError) as missing, write(tmp_path / "a.parquet"):
        (tmp_path / "nowhere").read_text()
    assert str(missing.value.filename).endswith("nowhere"), "a name that is given already stays"
