"""A part of the rows of a complete stored table is taken from it, and nothing else is."""

import numpy as np
import pytest

from lmod_train.models.vision.feature_table import KEYS, keep_keys, larger_table
from lmod_train.models.vision.table import cache_at, table
from tests.models.vision.test_table import LIKE, NAMES, Compute, expected


def stored(folder, names=NAMES, size=3):
    table(names, LIKE, Compute(), folder, size)
    keep_keys(cache_at(folder), [f"key of {name}" for name in names])
    return folder


def larger(folders, names, like=LIKE):
    return larger_table(folders, names, [f"key of {name}" for name in names], like)


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize("wanted", [NAMES, NAMES[::-1], NAMES[7:2:-2], NAMES[:1]])
def test_rows_are_those_of_the_names_in_any_order(tmp_path, size, wanted):
    found = larger([stored(tmp_path / "t", size=size)], wanted)
    assert found.names == wanted and len(found) == len(wanted)
    assert found.take(wanted[::-1]).tolist() == expected(wanted[::-1])
    assert NAMES[1] in wanted or NAMES[1] not in found


def test_the_first_that_has_them_all_is_used_and_one_that_lacks_a_row_is_not(tmp_path):
    folders = [stored(tmp_path / f"{i}", NAMES[i : i + 5]) for i in range(3)]
    assert larger(folders, NAMES[2:6]).take(NAMES[2:6]).tolist() == expected(NAMES[2:6])
    assert larger(folders, NAMES[0:7]) is None and larger(folders, ["other"]) is None
    assert larger([], NAMES) is None and larger([tmp_path / "none"], NAMES) is None


@pytest.mark.parametrize("damage", ["piece", "missing piece", "keys", "no keys", "type", "shape"])
def test_an_incomplete_table_or_one_of_other_rows_is_not_used(tmp_path, damage):
    folder, like = stored(tmp_path), LIKE
    pieces, keys = sorted(folder.glob("*-of-*.npy")), folder / f"{KEYS}.npy"
    if damage == "piece":
        pieces[1].write_bytes(pieces[1].read_bytes()[:-1])
    elif damage == "missing piece":
        pieces[-1].unlink()
    elif damage == "keys":
        keys.write_bytes(keys.read_bytes()[:-1])
    elif damage == "no keys":
        keys.unlink()
    else:
        like = np.empty((0, 2), np.float64) if damage == "type" else np.empty((0, 3), np.float32)
    assert larger([folder], NAMES[:4], like) is None
