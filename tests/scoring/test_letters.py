"""The letter display, against its definition on every pair."""

import random
import re
from itertools import combinations

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.comparison import letters


def held(count, differing):
    """The letters of each model, after a check of every pair."""
    sets = [set(re.findall(r"[a-z]\d*", own)) for own in letters(count, differing)]
    assert all(sets), "each model has a letter"
    for i, j in combinations(range(count), 2):
        assert bool(sets[i] & sets[j]) == ((i, j) not in differing and (j, i) not in differing)
    return sets


def test_two_models_share_a_letter_if_and_only_if_they_do_not_differ():
    rng = random.Random(0)
    for _ in range(1000):
        count, often = rng.randint(0, 9), rng.random()
        held(count, {pair for pair in combinations(range(count), 2) if rng.random() < often})
    for often in (0.1, 0.5, 0.9):
        held(24, {pair[::-1] for pair in combinations(range(24), 2) if rng.random() < often})


def test_models_that_differ_by_a_distance_have_a_letter_per_run_of_near_ones():
    rng = random.Random(1)
    for _ in range(50):
        at = sorted(rng.random() for _ in range(24))
        sets = held(24, {(i, j) for i, j in combinations(range(24), 2) if at[j] - at[i] > 0.2})
        ends = [max(k for k in range(24) if at[k] - at[i] <= 0.2) for i in range(24)]
        assert len(set.union(*sets)) == len(set(ends)), "no more letters than runs that no other contains"
        assert "a" in sets[0]


def test_the_example_of_the_worst_case_ends():
    apart = {(i, j) for i, j in combinations(range(24), 2) if i // 3 == j // 3}  # 3 ** 8 largest sets of equals
    assert len(set.union(*held(24, apart))) < 200


def test_all_equal_all_different_none_and_wrong_pairs():
    assert letters(3, []) == ["a", "a", "a"] and letters(0, []) == [] and letters(1, []) == ["a"]
    assert letters(28, list(combinations(range(28), 2)))[25:] == ["z", "a1", "b1"]
    for pair in ((0, 2), (-1, 0), (1, 1)):
        with pytest.raises(BadArgument, match="two different places below 2"):
            letters(2, [pair])
