"""Each record that is too long is listed once, also by a run that is continued."""

import pytest

from lmod_train.models.modules.conversation import list_too_long


def test_each_record_is_listed_once_and_the_first_warns(tmp_path):
    listing = list_too_long(100)
    with pytest.warns(UserWarning, match=r"max_tokens=100 .* left out .*(?s:.*)--model.init_args.max_tokens"):
        listing.append({"task/a,1": (120, 100), "task/b": (101, 100)}, tmp_path, 0)
    listing.append({"task/b": (101, 100), "task/c": (300, 100)}, tmp_path, 0)
    again = list_too_long(100)
    again.append({"task/a,1": (120, 100)}, tmp_path, 0)
    lines = (tmp_path / "too_long" / "rank-0.csv").read_text().splitlines()
    assert lines == ["id,tokens,max_tokens", '"task/a,1",120,100', "task/b,101,100", "task/c,300,100"]


def test_nothing_makes_no_file_and_ranks_have_their_own(tmp_path):
    list_too_long(100).append({}, tmp_path, 0)
    assert not list(tmp_path.iterdir())
    with pytest.warns(UserWarning, match="left out"):
        list_too_long(100).append({"a": (101, 100)}, tmp_path, 3)
    assert [f.name for f in (tmp_path / "too_long").iterdir()] == ["rank-3.csv"]
