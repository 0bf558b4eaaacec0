"""Shares of the reply statuses, and the chance level."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Unparsed
from lmod_train.scoring.status import CHANCE, STATUS_SHARES, STATUSES, status_columns
from tests.scoring.make import item

REPLIED = [status for status in STATUSES if status != "failed"]
ANSWERS = ["yes", *(Unparsed(status) for status in REPLIED if status != "answered")]


@given(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=30))
def test_shares_are_those_that_were_counted_and_sum_to_one(answers):
    columns = status_columns([item(i, answer, "yes") for i, answer in enumerate(answers)])
    sums = {name: column.sum() for name, column in columns.items()}
    shares = {share.name: float(share.value(sums)) for share in STATUS_SHARES}
    counted = {f"share_{s}": sum(a == (Unparsed(s) if s != "answered" else "yes") for a in answers) for s in REPLIED}
    assert shares == pytest.approx({name: n / len(answers) for name, n in counted.items()})
    assert sum(shares.values()) == pytest.approx(1)


def test_chance_is_the_mean_of_one_over_the_choices():
    columns = status_columns(
        [
            item("a", "yes", "yes"),
            item("b", Unparsed("empty"), "A", choices=("A", "B", "C", "D")),
            item("c", "1", "1", choices=("1",)),
        ]
    )
    assert columns["chance"].tolist() == [0.5, 0.25, 1.0]
    assert columns["chance_filled"].tolist() == [0.0, 0.25, 0.0]
    assert CHANCE.value({name: column.sum() for name, column in columns.items()}) == pytest.approx(1.75 / 3)


def test_an_item_without_choices_is_an_error_and_no_items_are_empty_columns():
    with pytest.raises(BadArgument, match="choices of a"):
        status_columns([item("a", "yes", "yes", choices=())])
    assert {column.shape for column in status_columns([]).values()} == {(0,)}
