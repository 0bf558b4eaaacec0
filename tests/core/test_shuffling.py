"""Shuffle keys: the same on every machine, and uniform."""

from collections import Counter

from lmod_train.core.shuffling import shuffle_key


def test_a_key_is_the_same_on_every_machine():
    assert shuffle_key(0, "refuge", "g0001") == "61d72bfa86b00c5f252d60ffd589eecbe37cdf226ac0de5701b0023cfbf66c88"
    assert shuffle_key("a", "bc") != shuffle_key("ab", "c"), "the pieces stay apart"


def test_every_place_is_drawn_as_often():
    first = Counter(min(range(4), key=lambda i: shuffle_key(seed, i)) for seed in range(4000))
    assert all(900 < count < 1100 for count in first.values()) and len(first) == 4
