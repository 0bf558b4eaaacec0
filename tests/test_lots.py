"""Lots: the same on every machine, and fair."""

from collections import Counter

from lmod_train.lots import lot


def test_a_lot_is_the_same_on_every_machine():
    assert lot(0, "refuge", "g0001") == "61d72bfa86b00c5f252d60ffd589eecbe37cdf226ac0de5701b0023cfbf66c88"
    assert lot("a", "bc") != lot("ab", "c"), "the pieces stay apart"


def test_every_place_is_drawn_as_often():
    first = Counter(min(range(4), key=lambda i: lot(seed, i)) for seed in range(4000))
    assert all(900 < count < 1100 for count in first.values()) and len(first) == 4
