"""Cells in an order: dates and numbers of visits, degrees, and acuities of all notations."""

from __future__ import annotations

import pytest

from lmod_train.data.cells.ordered import in_order, visits_of


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["31/01/2020", "01/02/2020"], [0, 1]), (["01/31/2020", "02/01/2020"], [0, 1]),
        (["2020-02-01", "2020-01-31"], [1, 0]), (["20200201", "20200131"], [1, 0]),
        (["2020年12月1日", "2020年2月3日"], [1, 0]), (["V2", "V10"], [0, 1]), (["visit 3", "visit 1"], [1, 0]),
        (["2020-01-31T08:00", "2020-02-01 07:00"], [0, 1]), (["29.02.2020", "01.03.2020"], [0, 1]),
    ],
)  # fmt: skip
def test_dates_and_numbers_are_in_order(cells: list[str], order: list[int]):
    found = visits_of(cells)
    assert sorted(range(len(cells)), key=lambda n: found[cells[n]]) == order


@pytest.mark.parametrize("cell", ["30.02.2020", "2020-13-01", "soon", "2020113", "", "1e5"])
def test_what_is_no_date_has_no_time(cell: str):
    assert visits_of([cell, *10 * ["2020-01-01"]]) == {"2020-01-01": 737425.0}


@pytest.mark.parametrize(
    "cells",
    [
        ["6/6", "6/12", "6/60", "1/60", "CF", "HM", "LP", "NLP"],
        ["20/20", "20/200", "CF 2m", "CF 50 cm", "HM", "NPL"],
        ["1.0", "0,5", "0.05", "FZ", "HBW"],
        ["20/40", "below 20/40", "20/200"],
    ],
)
def test_acuities_are_in_order_from_the_best(cells: list[str]):
    for start in range(len(cells)):
        assert in_order("BCVA", cells[start:] + cells[:start]) == cells


@pytest.mark.parametrize("words", [["none", "mild", "severe"], ["keine", "leicht", "schwer"], ["无", "轻度", "重度"]])
def test_words_of_degree_are_in_order(words: list[str]):
    assert in_order("DME", words[::-1]) == words
