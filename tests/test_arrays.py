import io
import os
import pickle
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from lmod_train.arrays import ArrayProblem, array_names, read_array


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
    with pytest.raises(ArrayProblem, match="pickled objects, which are read only where you allow"):
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
    with pytest.raises(ArrayProblem, match="no array named y; it holds x"):
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
    with pytest.raises(ArrayProblem, match="it holds mask, note"):
        read_array(tmp_path / "a.mat", ["disc"])
    (tmp_path / "b.mat").write_bytes((tmp_path / "a.mat").read_bytes()[:150])
    (tmp_path / "c.mat").write_bytes(b"")
    for name in ("b.mat", "c.mat", "none.mat"):
        with pytest.raises(ArrayProblem):
            read_array(tmp_path / name, ["mask"])
