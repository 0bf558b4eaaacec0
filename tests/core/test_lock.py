"""One process a folder, shown with real second processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lmod_train.core import lock
from lmod_train.core.errors import BadArgument, FolderBusy
from lmod_train.core.lock import is_empty, locked, shared

HOLD = """
import os, sys, time
from pathlib import Path
from lmod_train.core.lock import locked
with locked(Path(sys.argv[1]), "--run"):
    print("held", flush=True)
    {then}
"""


def hold(folder: Path, then: str = "sys.stdin.read()", **environment: str) -> subprocess.Popen[str]:
    """Start a process that holds the folder's lock until its input is closed."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", HOLD.format(then=then), str(folder)]
    process = subprocess.Popen(command, env={**os.environ, **environment}, **pipes)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.communicate()
    assert process.returncode == 0


def test_a_second_process_is_told_who_holds_the_folder_and_gets_it_afterwards(tmp_path: Path):
    first = hold(tmp_path)
    with pytest.raises(FolderBusy) as refused, locked(tmp_path, "--run"):
        pass
    told = str(refused.value).splitlines()
    assert len(told) == 2
    assert f"process {first.pid} on {os.uname().nodename}, since 20" in told[0]
    assert re.search(rf"kill {first.pid}` on .*--run DIR", told[1])
    end(first)
    with locked(tmp_path, "--run"):
        assert not is_empty(tmp_path.parent) and is_empty(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_frees_the_folder_though_its_forked_workers_live_on(tmp_path: Path):
    forked = "child = os.fork()\n    child or print(os.getpid(), flush=True)\n    time.sleep(60)"  # once it is forked
    first = hold(tmp_path, forked)
    assert first.stdout is not None
    worker = int(first.stdout.readline())
    first.kill()
    first.wait()
    try:
        os.kill(worker, 0)
        assert (tmp_path / lock.NAME).exists()
        with locked(tmp_path, "--run"):
            pass
    finally:
        os.kill(worker, signal.SIGKILL)


def test_other_ranks_of_one_run_are_let_in(tmp_path: Path):
    first = hold(tmp_path, RANK="0", LOCAL_RANK="0")
    end_at_once = "pass"
    for rank in ({"LOCAL_RANK": "1"}, {"RANK": "8", "LOCAL_RANK": "0"}, {"NODE_RANK": "1"}, {"SLURM_PROCID": "3"}):
        end(hold(tmp_path, end_at_once, **rank))
    with pytest.raises(FolderBusy), locked(tmp_path, "--run"):
        pass
    end(first)


def test_a_block_within_a_block_shares_the_lock(tmp_path: Path):
    with locked(tmp_path, "--run"):
        with locked(tmp_path / "x" / "..", "run"):
            pass
        assert (tmp_path / lock.NAME).exists()
    assert not (tmp_path / lock.NAME).exists()


def test_a_folder_that_stays_empty_is_removed_and_a_file_is_refused(tmp_path: Path):
    with locked(tmp_path / "new", "--out"):
        assert (tmp_path / "new").is_dir()
    assert not (tmp_path / "new").exists()
    with locked(tmp_path / "new", "--out"):
        (tmp_path / "new" / "kept").write_text("")
    assert [f.name for f in (tmp_path / "new").iterdir()] == ["kept"]
    with (
        pytest.raises(BadArgument, match=r"(?s)--out.*this is a file.*`--out DIR`"),
        locked(tmp_path / "new" / "kept", "--out"),
    ):
        pass


def test_a_lock_that_was_removed_while_it_was_waited_for_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real, seen = lock._is, []

    def removed_meanwhile(file: int, path: Path) -> bool:
        if not seen:
            path.unlink()
        seen.append(path)
        return real(file, path)

    monkeypatch.setattr(lock, "_is", removed_meanwhile)
    with locked(tmp_path, "--run"):
        assert len(seen) == 2
        code = HOLD.format(then="pass")
        second = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
        assert "FolderBusy" in second.stderr


def test_of_many_that_start_at_once_one_gets_in_at_a_time(tmp_path: Path):
    """Each that gets in writes a file, waits, and removes it: nobody ever finds another's."""
    then = (
        "mine = Path(sys.argv[1]) / 'inside'\n    assert not mine.exists()\n    mine.write_text('')\n    "
        "time.sleep(0.01)\n    mine.unlink()"
    )
    loop = f"""
import sys, time
sys.argv[1:] = [{str(tmp_path)!r}]
from lmod_train.core.errors import FolderBusy
entered = 0
for _ in range(60):
    try:
        exec({HOLD.format(then=then)!r})
        entered += 1
    except FolderBusy:
        time.sleep(0.005)
print(entered)
"""
    started = [subprocess.Popen([sys.executable, "-c", loop], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate()[0].split() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert sum(int(words[-1]) for words in said) > 0


def test_a_filesystem_without_locks_is_said_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(file: int, operation: int) -> None:
        raise OSError(lock._NO_LOCKS[0], "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with pytest.warns(UserWarning, match="has no locks"), locked(tmp_path, "--run"):
        pass


def test_a_shared_lock_lets_others_share_and_keeps_those_out_who_want_it_alone(tmp_path: Path):
    with shared(tmp_path, "--run"), shared(tmp_path, "--run"), pytest.raises(FolderBusy), locked(tmp_path, "--run"):
        pass
    with locked(tmp_path, "--run"):
        pass
    first = hold(tmp_path)
    began = time.monotonic()
    with pytest.raises(FolderBusy), shared(tmp_path, "--run", wait=0.5):
        pass
    assert time.monotonic() - began >= 0.5
    end(first)
    with shared(tmp_path, "--run", wait=0.5):
        pass


def test_a_shared_lock_waits_for_the_process_that_holds_it_alone(tmp_path: Path):
    first = hold(tmp_path, then="time.sleep(1)")
    with shared(tmp_path, "--run", wait=60):
        assert first.wait() == 0


@pytest.mark.parametrize("silent", [0.0, 60.0])
def test_a_process_that_waits_long_prints_for_whom_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], silent: float
):
    monkeypatch.setattr("lmod_train.core.lock.SILENT", silent)
    first = hold(tmp_path, then="time.sleep(1)")
    with shared(tmp_path, "--run", wait=60):
        end(first)
    lines = [line for line in capsys.readouterr().err.splitlines() if "Waiting up to 60 s" in line]
    assert len(lines) == (0 if silent else 1) and all(f"process {first.pid}" in line for line in lines)


def test_forked_workers_do_not_hold_a_shared_lock(tmp_path: Path):
    begun, begins = os.pipe()
    with shared(tmp_path, "--run"):
        worker = os.fork()
        if not worker:
            os.write(begins, b"!")
            time.sleep(60)
            os._exit(0)
    os.read(begun, 1)
    try:
        with locked(tmp_path, "--run"):
            pass
    finally:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
