import contextlib
import io
import os
import pickle
import pickletools
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.core import arrays as unpickling
from lmod_train.core.arrays import ArrayProblem, unpickled

PLAIN = [
    np.arange(12, dtype=np.int16).reshape(3, 4),
    np.asfortranarray(np.linspace(0, 1, 6).reshape(2, 3)),
    np.array([True, False]),
    np.array(["left", "右"]),
    np.array([b"ab", b"c"]),
    np.zeros((0, 5), dtype=">f4"),
    np.arange(3, dtype=">u4"),
    np.array(7.5),
    np.arange(4) + 1j,
]


def read(value, protocol=4):
    return unpickled(io.BytesIO(pickle.dumps(value, protocol=protocol)))


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_come_back_in_every_protocol(protocol):
    for array in PLAIN:
        back = read(array, protocol)
        assert (back.dtype, back.shape) == (array.dtype, array.shape) and np.array_equal(back, array)
        assert back.flags.writeable


@pytest.mark.parametrize("protocol", range(6))
def test_objects_come_back_as_plain_data(protocol):
    held = {"sex": "F", "n": np.int64(3), "few": [1, (2.5, None)], "mask": np.eye(2, dtype=np.uint8)}
    back = read(np.array(held, dtype=object), protocol).item()
    assert np.array_equal(back.pop("mask"), np.eye(2)) and back == {"sex": "F", "n": 3, "few": [1, (2.5, None)]}
    assert read(np.array(["a", None, 3.0], dtype=object), protocol).tolist() == ["a", None, 3.0]


class Calls:
    def __init__(self, call, *given, state=None):
        self.made = (call, given) if state is None else (call, given, state)

    def __reduce__(self):
        return self.made


def state(shape, kind, content, fortran=False):
    return 1, shape, kind, fortran, content


RECONSTRUCT = np.zeros(1).__reduce__()[0]
HOSTILE = {
    "ndarray made by itself": Calls(np.ndarray, (10**6,), np.dtype("f8"), b"x"),
    "ndarray over an address": Calls(np.ndarray, (2**30,)),
    "objects out of bytes": Calls(RECONSTRUCT, np.ndarray, (0,), b"b", state=state((1,), np.dtype("O"), b"\x41" * 8)),
    "more than its bytes": Calls(RECONSTRUCT, np.ndarray, (0,), b"b", state=state((10**6,), np.dtype("f8"), b"x" * 8)),
    "less than its bytes": Calls(RECONSTRUCT, np.ndarray, (0,), b"b", state=state((1,), np.dtype("u1"), b"x" * 8)),
    "negative shape": Calls(RECONSTRUCT, np.ndarray, (0,), b"b", state=state((-1, -8), np.dtype("u1"), b"x" * 8)),
    "fields": np.zeros(2, dtype=[("a", "O"), ("b", "f8")]),
    "dates": np.array(["2020-01-01"], dtype="M8[D]"),
    "a set": np.array({1, 2}, dtype=object),
    "a function": np.array(os.getcwd, dtype=object),
    "a class": np.array(int, dtype=object),
    "a long number": np.array(1 << 100_000, dtype=object),
    "another codec": Calls(__import__("codecs").encode, "x", "rot13"),
}


@pytest.mark.parametrize("protocol", range(2, 6))
def test_what_is_not_data_or_does_not_fit_is_refused(protocol):
    taken = []
    for name, held in HOSTILE.items():
        with contextlib.suppress(ArrayProblem):
            taken.append((name, read(held, protocol)))
    assert taken == []


def test_no_pickle_takes_more_memory_than_it_has(monkeypatch):
    assert unpickling._Counted.left == unpickling.MOST_INSTRUCTIONS
    monkeypatch.setattr(unpickling._Counted, "left", 60_000)  # millions take seconds
    monkeypatch.setattr(unpickling, "MOST_VALUES", 100_000)
    grown: list = []
    for _ in range(60):
        grown = [grown] * 10
    for harmless in (b"Nr" + struct.pack("<I", 2**31), b"\x95" + struct.pack("<Q", 2**40) + b"N"):
        assert unpickled(io.BytesIO(b"\x80\x04" + harmless + b".")).item() is None  # in C a memo of 16 GB
    small = {
        "a bytearray of a terabyte": b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
        "bytes of a terabyte": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b".",
        "lists without end": b"\x80\x04" + b"]" * 60_010 + b".",
        "a list of lists of one list": pickle.dumps(grown),
        "nested": b"\x80\x04" + b"]" * 20_000 + b"a" * 19_999 + b".",
    }
    for name, data in small.items():
        with pytest.raises(ArrayProblem):
            unpickled(io.BytesIO(data))
            pytest.fail(name)


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_is_read_up_to_the_last_instruction_of_the_limit(protocol, monkeypatch):
    data = pickle.dumps(np.array([{"a": 1}, "text", None], dtype=object), protocol=protocol)
    instructions = sum(1 for _ in pickletools.genops(data))
    monkeypatch.setattr(unpickling._Counted, "left", instructions)
    assert unpickled(io.BytesIO(data)).tolist() == [{"a": 1}, "text", None]
    monkeypatch.setattr(unpickling._Counted, "left", instructions - 1)
    with pytest.raises(ArrayProblem, match=f"more than {unpickling.MOST_INSTRUCTIONS:,} instructions"):
        unpickled(io.BytesIO(data))


def test_no_state_changes_what_the_next_pickle_finds():
    dtype = b"cnumpy\ndtype\n"
    for change in (b"}X\x05\x00\x00\x00_makeK\x07sb.", b"N}X\x05\x00\x00\x00_makeK\x07s\x86b."):
        with pytest.raises(ArrayProblem):
            unpickled(io.BytesIO(b"\x80\x04" + dtype + change))
    assert read(np.arange(3)).tolist() == [0, 1, 2]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_damage_gives_an_array_or_a_problem(data):
    damage_is_a_problem(data)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data())
def test_much_damage_gives_arrays_or_problems(data):
    damage_is_a_problem(data)


def damage_is_a_problem(data):
    whole = bytearray(
        pickle.dumps(np.array({"a": np.arange(4), "b": "x"}, dtype=object), protocol=data.draw(st.integers(0, 5)))
    )
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ArrayProblem):
        unpickled(io.BytesIO(bytes(whole)))
