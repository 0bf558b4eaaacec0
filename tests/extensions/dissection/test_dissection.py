"""The folder of a dissection: places by name, records left out listed once, states of one layout."""

import csv

import numpy as np
import pandas as pd
import pytest

from lmod_train.core.cache import Cache
from lmod_train.core.errors import BadArgument
from lmod_train.extensions.dissection.state_files import Dissected


@pytest.fixture
def dissected(tmp_path):
    return Dissected(tmp_path / "run")


def test_states_are_read_by_place(dissected):
    lengths = {"tower": 3, "image.1": 2, "likelihoods": 2}
    dissected.lay_out(lengths, ["a", "b"])
    cache = Cache(dissected.features, "--run", "run", "name another")
    for i in range(3):
        cache.keep(f"r{i}", np.arange(7, dtype=np.float32) + 10 * i)
    places = dissected.places()
    assert list(places) == list(lengths)
    assert dissected.states(["r2", "r0"], places["image.1"]).tolist() == [[23, 24], [3, 4]]
    assert dissected.states(["r1"], places["likelihoods"]).tolist() == [[15, 16]]
    assert dissected.has("r1") and not dissected.has("r9")
    cache.file("r1").write_bytes(cache.file("r1").read_bytes()[:-4])
    assert not dissected.has("r1"), "a truncated file counts as none"
    with pytest.raises(FileNotFoundError, match="r1"):
        dissected.states(["r1"], places["tower"])


@pytest.mark.parametrize(
    ("lengths", "choices", "told"),
    [({"tower": 4}, "ab", "differ at tower"), ({"tower": 3}, "ba", "differ at choices"), ({"other": 3}, "ab", "other")],
)
def test_another_layout_is_refused_and_the_same_is_not(dissected, lengths, choices, told):
    dissected.lay_out({"tower": 3}, list("ab"))
    dissected.lay_out({"tower": 3}, list("ab"))
    with pytest.raises(BadArgument, match=told) as refused:
        dissected.lay_out(lengths, list(choices))
    assert "Next: " in str(refused.value)


def test_records_left_out_are_listed_once_whatever_they_are_called(dissected):
    assert dissected.left_out() == {}
    reasons = {"task/s/1": "it shows 2 images, not one", "=cmd()": 'a "quoted", reason'}
    for rank in (0, 0, 1):
        dissected.list_left_out(reasons, rank)
    assert dissected.left_out() == reasons
    (file,) = dissected.folder.glob("left_out/*.csv")
    assert len(list(csv.reader(file.open(newline="")))) == 2
    dissected.list_left_out({"task/s/1": "another reason"}, 0)
    assert dissected.left_out()["task/s/1"] == "another reason"
    with file.open("a") as text:
        text.write("task/s/2")  # a process was killed
    assert set(dissected.left_out()) == set(reasons)


def test_what_was_exchanged_is_known_by_what_was_asked(dissected):
    assert dissected.exchanged() == ""
    dissected.keep(dissected.interchange, pd.DataFrame({"id": ["a", "b"], "of": ["1e5", "1e5"]}))
    assert dissected.exchanged() == "1e5"
    dissected.keep(dissected.interchange, pd.DataFrame({"id": []}))
    assert dissected.exchanged() == ""
