"""Ids of rows as keys of samples."""

import pytest

from lmod_train.data.sources.row_ids import BadRow, id_of
from tests.tabled import tabled


@tabled(
    ("value", "reason"),
    [
        (None, "no id"),
        ("", "no id"),
        ("../a", "unusable id"),
        ("a" * 151, "unusable id"),
        ("视" * 60, "unusable id"),
        ("a.marked", "unusable id"),
        (True, "unusable id"),
        (1.5, "unusable id"),
    ],
)
def test_an_id_that_is_no_key_has_a_reason(value, reason):
    with pytest.raises(BadRow) as caught:
        id_of(value)
    assert caught.value.reason == reason


def test_text_and_whole_numbers_are_ids():
    assert [id_of(value) for value in (17, "图 1", "a/b-2")] == ["17", "图 1", "a/b-2"]
