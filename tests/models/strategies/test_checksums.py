"""A damaged or exchanged byte of a checkpoint is found, or changes nothing of what is read."""

import shutil

import numpy as np
import pytest
import torch
import torch.distributed.checkpoint as shares

from lmod_train.core.errors import LmodError
from lmod_train.core.files import state_of
from lmod_train.models.strategies import saved
from lmod_train.models.strategies.checksums import SUMS
from lmod_train.models.strategies.keeping import make_room, partial, put_in_place, set_aside
from lmod_train.models.strategies.saved import AnyCheckpoint, damage, facts_of, read, to_continue

READERS = [read, facts_of, AnyCheckpoint().load_checkpoint]


def write(last, kind, step):
    tensors = {"w": torch.full((300,), float(step)), "v": torch.arange(40.0) + step}
    if kind == "file":
        AnyCheckpoint().save_checkpoint({"global_step": step, "state_dict": tensors}, last)
        return
    make_room(last)
    beside = partial(last)
    if kind == "fsdp2":
        writer = shares.FileSystemWriter(beside, thread_count=2)
        shares.save({"state_dict": tensors, "n": step}, storage_writer=writer, no_dist=True)
    else:
        (beside / "checkpoint").mkdir(parents=True)
        (beside / "latest").write_text("checkpoint")
        for name, tensor in tensors.items():
            torch.save({"module": {name: tensor}}, beside / "checkpoint" / f"{name}_states.pt")
    torch.save({"global_step": step}, beside / "meta.pt")
    put_in_place(last)


def content(path, reading=read):
    if (path / "latest").exists():  # DeepSpeed's own converter needs a whole training
        return {f.name: str(torch.load(f, weights_only=True)) for f in sorted(path.rglob("*_states.pt"))}
    found = reading(path)
    return {name: tensor.tolist() for name, tensor in found.get("state_dict", {}).items()} | {"n": found["global_step"]}


def files(path):
    return [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.is_file() and f.name != SUMS)


@pytest.fixture(params=["file", "fsdp2", "deepspeed"])
def kind(request):
    return request.param


@pytest.fixture
def last(tmp_path, kind):
    for step in (1, 2):
        write(tmp_path / "last.ckpt", kind, step)
    return tmp_path / "last.ckpt"


@pytest.mark.parametrize("reading", READERS)
def test_a_flipped_bit_is_found_or_changes_nothing(last, reading):
    random, refused = np.random.default_rng(0), 0
    if (last / "latest").exists() and reading is not facts_of:
        pytest.skip("DeepSpeed's own converter needs a whole training")
    whole = content(last, reading)
    for file in files(last):
        before = file.read_bytes()
        for place in random.integers(0, len(before), 40).tolist():
            harmed = bytearray(before)
            harmed[place] ^= 1 << int(random.integers(8))
            file.write_bytes(harmed)
            try:
                reading(last)
            except LmodError as error:
                refused += 1
                assert f"{set_aside(last)}" in str(error)
            else:
                assert not damage(last) and content(last, reading) == whole, (file.name, place)
        file.write_bytes(before)
    assert refused > 20 and content(last, reading) == whole


def test_a_file_of_another_step_or_in_the_place_of_another_is_found(last, kind):
    if kind == "file":
        pytest.skip("it is one file")
    assert to_continue(last) == last
    shards = [f for f in files(last) if f.suffix in (".distcp", ".pt")]
    for file in shards:
        kept = file.read_bytes()
        for other in [set_aside(last) / file.relative_to(last), *(f for f in shards if f != file)]:
            shutil.copyfile(other, file)
            assert damage(last).startswith(file.relative_to(last).as_posix()), (file, other)
            assert to_continue(last) == set_aside(last)
        file.write_bytes(kept)
    assert len(shards) > 2 and not damage(last)
    (last / SUMS).unlink()
    assert SUMS in damage(last)


def test_the_bytes_of_an_old_checkpoint_are_read_once_and_again_when_one_has_changed(last, monkeypatch):
    calls, find = [], saved.damage_of if last.is_dir() else saved.zipped.damage
    place = (saved, "damage_of") if last.is_dir() else (saved.zipped, "damage")
    monkeypatch.setattr(*place, lambda path: calls.append(path) or find(path))
    monkeypatch.setattr(saved, "SETTLED", -1.0)
    assert [damage(last) for _ in range(3)] == [""] * 3 and len(calls) == 1
    files(last)[-1].write_bytes(files(last)[-1].read_bytes()[:-1])
    assert damage(last) and len(calls) == 2


def test_a_change_within_the_resolution_of_file_times_is_found(last, monkeypatch):
    stopped = {file: state_of(file) for file in (last, *last.rglob("*")) if file.is_file()}
    monkeypatch.setattr(saved, "state_of", lambda file: stopped.get(file, [0]))
    assert not damage(last)
    files(last)[-1].write_bytes(files(last)[-1].read_bytes()[:-1])
    assert damage(last)
