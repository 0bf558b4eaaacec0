"""A complete checkpoint is on disk at every moment: after kills, on a full disk, on another file system than /tmp."""

import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint as shares

from lmod_train.core.errors import ArtifactError
from lmod_train.models.strategies.keeping import make_room, partial, put_in_place, set_aside, writing
from lmod_train.models.strategies.saved import AnyCheckpoint, damage, read, to_continue
from tests import forks

MEMORY = Path("/dev/shm")
WRITER = """
import sys, torch
from pathlib import Path
from lmod_train.models.strategies.saved import AnyCheckpoint
last, step = Path(sys.argv[1]), int(sys.argv[2])
while True:
    step += 1
    AnyCheckpoint().save_checkpoint({"global_step": step, "state_dict": {"w": torch.full((500_000,), step)}}, last)
    print(step, flush=True)
"""
"""Writes one checkpoint after another, and prints the number of each when it is complete."""


def checkpoint(step, size=1000):
    return {"global_step": step, "state_dict": {"w": torch.full((size,), float(step))}}


@pytest.fixture(params=["same", "another"])
def place(request, tmp_path, monkeypatch):
    """Yield a folder on the file system of temporary files, then one on another file system."""
    if request.param == "same":
        yield tmp_path
        return
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one file system")
    folder = MEMORY / f"lmod-train-{os.getpid()}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def test_two_are_kept_and_the_last_is_the_newest(place):
    last = place / "checkpoints" / "last.ckpt"
    for step in (1, 2, 3):
        AnyCheckpoint().save_checkpoint(checkpoint(step), last)
    assert [read(path)["global_step"] for path in (last, set_aside(last))] == [3, 2]
    assert len(list(last.parent.iterdir())) == 2
    AnyCheckpoint().save_checkpoint(checkpoint(1), last.with_name("best.ckpt"))
    AnyCheckpoint().save_checkpoint(checkpoint(2), last.with_name("best.ckpt"))
    assert len(list(last.parent.iterdir())) == 3, "of others than the last none is kept"


@pytest.mark.parametrize("step", range(5))
def test_after_a_kill_before_any_file_operation_a_complete_checkpoint_is_found(place, monkeypatch, step):
    """Stops before each call of rename and unlink, in their order."""
    last = place / "last.ckpt"
    for number in (1, 2):
        AnyCheckpoint().save_checkpoint(checkpoint(number), last)
    done = 0

    def counted(real):
        def call(*arguments, **options):
            nonlocal done
            done += 1
            if done > step:
                raise KeyboardInterrupt
            return real(*arguments, **options)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", counted(Path.rename))
        patched.setattr(Path, "unlink", counted(Path.unlink))
        with pytest.raises(KeyboardInterrupt) if step < 4 else writing(last):
            AnyCheckpoint().save_checkpoint(checkpoint(3), last)
    found = to_continue(last)
    assert read(found)["global_step"] == (3 if step >= 4 else 2)
    AnyCheckpoint().save_checkpoint(checkpoint(4), last)
    assert read(to_continue(last))["global_step"] == 4


def test_a_kill_at_a_random_moment_loses_at_most_the_checkpoint_being_written(place, tmp_path):
    last, random, printed = place / "last.ckpt", np.random.default_rng(0), 0
    other = tmp_path / "temporary"
    other.mkdir()
    for _ in range(3):
        command = ["-c", WRITER, str(last), str(printed)]
        writer = forks.start(command, tmp_path, os.environ | {"TMPDIR": str(other)})
        while not writer.printed() and writer.process.is_alive():
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.1))
        writer.process.kill()
        done = writer.ended()
        assert done.returncode == -signal.SIGKILL, done.stderr
        printed = max(map(int, done.stdout.split()))
        found = to_continue(last)
        step = read(found)["global_step"]
        assert step >= printed and torch.equal(read(found)["state_dict"]["w"], torch.full((500_000,), step))
        printed = step
    assert printed > 3 and not list(other.iterdir()), "nothing passes through the folder of temporary files"


@pytest.mark.parametrize("allowed", [0, 1000, 40_000, 399_000])
def test_on_a_full_disk_the_previous_checkpoint_is_unchanged(place, allowed):
    last = place / "last.ckpt"
    for step in (1, 2):
        AnyCheckpoint().save_checkpoint(checkpoint(step), last)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (allowed, before[1]))
    try:
        with pytest.raises(ArtifactError, match=r"last\.ckpt: cannot be written \(.*\); the previous checkpoint is u"):
            AnyCheckpoint().save_checkpoint(checkpoint(3, 100_000), last)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert read(to_continue(last))["global_step"] == 2 and not partial(last).exists()
    AnyCheckpoint().save_checkpoint(checkpoint(3), last)
    assert read(last)["global_step"] == 3


def test_a_real_full_disk(tmp_path):
    mounted = tmp_path / "small"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(mounted)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        last = mounted / "last.ckpt"
        AnyCheckpoint().save_checkpoint(checkpoint(1, 50_000), last)
        with pytest.raises(ArtifactError, match=r"(?s)No space left on device.*Next: free some disk space"):
            AnyCheckpoint().save_checkpoint(checkpoint(2, 120_000), last)
        assert read(to_continue(last))["global_step"] == 1 and [f.name for f in mounted.iterdir()] == ["last.ckpt"]
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def test_the_errors_of_torchs_writers_on_a_full_disk_are_recognised(tmp_path):
    class CheckpointException(BaseException):
        failures = {0: (OSError(28, "No space left on device"), "here")}  # noqa: RUF012

    for error in (CheckpointException(), RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos")):
        with pytest.raises(ArtifactError, match="cannot be written"), writing(tmp_path / "last.ckpt"):
            raise error
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "last.ckpt"):
        raise ZeroDivisionError


def test_zeroed_bytes_in_the_last_checkpoint_are_found_and_the_previous_one_is_taken(place):
    last = place / "last.ckpt"
    for step in (1, 2):
        AnyCheckpoint().save_checkpoint(checkpoint(step, 10_000), last)
    content = bytearray(last.read_bytes())
    content[20_000:24_096] = bytes(4096)
    last.write_bytes(content)
    assert torch.load(last)["global_step"] == 2, "PyTorch reads it as if it were whole"
    assert "checksum" in damage(last) and to_continue(last) == set_aside(last)


@pytest.mark.parametrize(
    ("kind", "lost", "share"),
    [
        *(("fsdp2", name, share) for name in (".metadata", "meta.pt", "__0_0.distcp") for share in (0, 0.5, None)),
        *(("deepspeed", name, share) for name in ("meta.pt", "states.pt") for share in (0, 0.5)),
    ],
)
def test_for_an_incomplete_folder_the_previous_checkpoint_is_taken(tmp_path, kind, lost, share):
    last = tmp_path / "last.ckpt"
    for step in (1, 2):
        write_shares(last, kind, step)
    assert to_continue(last) == last
    content = (last / lost).read_bytes()
    if share is None:
        (last / lost).unlink()
    else:
        (last / lost).write_bytes(content[: int(len(content) * share)])
    assert damage(last) and to_continue(last) == set_aside(last)


def write_shares(last, kind, step):
    make_room(last)
    beside = partial(last)
    if kind == "fsdp2":
        shares.save({"w": torch.full((1000,), float(step)), "n": step}, checkpoint_id=beside, no_dist=True)
    else:
        beside.mkdir()
        (beside / "latest").write_text("checkpoint")
        torch.save(checkpoint(step), beside / "states.pt")
    torch.save({"global_step": step}, beside / "meta.pt")
    put_in_place(last)
