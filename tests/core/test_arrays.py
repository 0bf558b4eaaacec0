import io
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from lmod_train.core.arrays import ArrayProblem, array_names, pickled_names, read_array


def npz_of(path, name, payload):
    """Write an npz whose one member is the header of an object array and `payload` as its pickle."""
    body = io.BytesIO()
    np.lib.format.write_array_header_1_0(body, {"descr": "|O", "fortran_order": False, "shape": ()})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.npy", body.getvalue() + payload)
    return path


class Bomb:
    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (str(self.file),)


def test_plain_arrays_come_back_whatever_else_is_in_the_file(tmp_path):
    held = {"age": np.array(61.5), "slo": np.arange(6, dtype=np.int16).reshape(2, 3), "odd": np.array({"a": 1})}
    np.savez_compressed(tmp_path / "a.npz", **held)
    assert read_array(tmp_path / "a.npz", ["years", "age"]).item() == 61.5
    assert np.array_equal(read_array(tmp_path / "a.npz", ["slo"]), held["slo"])
    assert array_names(tmp_path / "a.npz") == ["age", "odd", "slo"]


def test_pickled_data_needs_the_users_word(tmp_path):
    held = {"note": np.array({"sex": "F", "n": np.int64(3)}), "text": np.array(["a", None], dtype=object)}
    np.savez(tmp_path / "a.npz", **held)
    with pytest.raises(ArrayProblem, match="pickled objects, which are only read if you allow"):
        read_array(tmp_path / "a.npz", ["note"])
    assert read_array(tmp_path / "a.npz", ["note"], pickled=True).item() == {"sex": "F", "n": 3}
    assert read_array(tmp_path / "a.npz", ["text"], pickled=True).tolist() == ["a", None]


@pytest.mark.parametrize("pickled", [False, True])
def test_nothing_in_a_pickle_runs(tmp_path, pickled):
    trace = tmp_path / "it ran"
    npz_of(tmp_path / "a.npz", "x", pickle.dumps(Bomb(trace)))
    np.load(tmp_path / "a.npz", allow_pickle=True)["x"]
    assert trace.exists()  # numpy's own reader runs it: the trap is real
    trace.rmdir()
    with pytest.raises(ArrayProblem, match=r"posix.mkdir|pickled objects"):
        read_array(tmp_path / "a.npz", ["x"], pickled=pickled)
    assert not trace.exists()


def test_damaged_and_missing_files_and_names_are_told(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(1000))
    data = (tmp_path / "a.npz").read_bytes()
    for number, damaged in enumerate((data[: len(data) // 2], b"", b"not a zip", data[:60] + b"\0" * 200 + data[260:])):
        path = tmp_path / f"{number}.npz"
        path.write_bytes(damaged)
        with pytest.raises(ArrayProblem):
            read_array(path, ["x"])
    with pytest.raises(ArrayProblem, match="no array named y; it contains x"):
        read_array(tmp_path / "a.npz", ["y"])
    with pytest.raises(ArrayProblem):
        read_array(tmp_path / "none.npz", ["x"])
    with pytest.raises(ArrayProblem, match="damaged pickle"):
        read_array(npz_of(tmp_path / "p.npz", "x", b"\x80\x04garbage"), ["x"], pickled=True)


def test_mat_files(tmp_path):
    mask = np.zeros((4, 5), dtype=np.uint8)
    mask[1:3, 2] = 2
    savemat(tmp_path / "a.mat", {"mask": mask, "note": "text"})
    assert np.array_equal(read_array(tmp_path / "a.mat", ["mask"]), mask)
    with pytest.raises(ArrayProblem, match="it contains mask, note"):
        read_array(tmp_path / "a.mat", ["disc"])
    (tmp_path / "b.mat").write_bytes((tmp_path / "a.mat").read_bytes()[:150])
    (tmp_path / "c.mat").write_bytes(b"")
    for name in ("b.mat", "c.mat", "none.mat"):
        with pytest.raises(ArrayProblem):
            read_array(tmp_path / name, ["mask"])


def header(shape, dtype):
    body = io.BytesIO()
    np.lib.format.write_array_header_1_0(body, {"descr": dtype, "fortran_order": False, "shape": shape})
    return body.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a claim of a terabyte", header((10**6, 10**6), "|u1") + b"x" * 10),
        ("a claim beyond 64 bits", header((10**12, 10**12), "<f8") + b"x" * 10),
        ("a type of a terabyte", header((1,), "|V2000000000")),
        ("less than its shape", header((4,), "<f8") + b"x" * 31),
        ("more than its shape", header((4,), "<f8") + b"x" * 33),
        ("no bytes for a shape", header((10**9,), "|u1")),
        ("zeros packed a thousandfold", header((10**8 * 2,), "|u1") + b"\0" * 10**8 * 2),
    ],
)
def test_arrays_that_claim_what_they_do_not_hold(tmp_path, name, content):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    tracemalloc.start()
    with pytest.raises(ArrayProblem):
        read_array(tmp_path / "a.npz", ["x"])
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_pipes_devices_and_archives_without_end_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    (tmp_path / "zero.npz").symlink_to("/dev/zero")
    (tmp_path / "pipe.mat").symlink_to("pipe.npz")
    with zipfile.ZipFile(tmp_path / "many.npz", "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.npy", b"")
    for name in ("pipe.npz", "zero.npz", "pipe.mat", "many.npz"):
        with pytest.raises(ArrayProblem):
            read_array(tmp_path / name, ["x"])
    with pytest.raises(ArrayProblem, match="too many members"):
        array_names(tmp_path / "many.npz")


def test_which_arrays_are_pickled_is_told_by_their_headers(tmp_path):
    np.savez(tmp_path / "a.npz", plain=np.arange(3), odd=np.array({"a": 1}), more=np.array([None]))
    assert pickled_names(tmp_path / "a.npz", ["odd", "plain", "none"]) == ["odd"]


def test_mat_files_of_objects_and_packed_zeros_are_refused(tmp_path, monkeypatch):
    savemat(tmp_path / "s.mat", {"mask": {"a": 1}, "cells": np.array([1, "x"], dtype=object), "text": "abc"})
    for name in ("mask", "cells", "text"):
        with pytest.raises(ArrayProblem, match="expected numbers"):
            read_array(tmp_path / "s.mat", [name])
    savemat(tmp_path / "z.mat", {"mask": np.zeros((2000, 2000), dtype=np.uint8)}, do_compression=True)
    assert read_array(tmp_path / "z.mat", ["mask"]).shape == (2000, 2000)
    monkeypatch.setattr("lmod_train.core.arrays.MOST_ARRAY_BYTES", 1_000_000)
    with pytest.raises(ArrayProblem, match="more than 1,000,000 bytes when decompressed"):
        read_array(tmp_path / "z.mat", ["mask"])


def test_every_variable_of_a_mat_file_is_measured_and_their_sum(tmp_path, monkeypatch):
    monkeypatch.setattr("lmod_train.core.arrays.MOST_ARRAY_BYTES", 1_000_000)
    small, half, bomb = (np.zeros(n, dtype=np.uint8) for n in (1_000, 600_000, 1_100_000))
    for name, held in (
        ("one", {"first": bomb, "mask": small}),
        ("two", {"mask": small, "second": bomb}),
        ("three", {"mask": small, "second": small, "third": bomb}),
        ("sum", {"mask": small, "second": half, "third": half}),
    ):
        savemat(tmp_path / f"{name}.mat", held, do_compression=True)
        with pytest.raises(ArrayProblem, match="more than 1,000,000 bytes when decompressed"):
            read_array(tmp_path / f"{name}.mat", ["mask"])
    savemat(tmp_path / "fits.mat", {"first": small, "second": half, "mask": small}, do_compression=True)
    assert read_array(tmp_path / "fits.mat", ["mask"]).size == 1_000
