"""Votes and pass@k, by hand, by enumeration and by draws whose truth is known."""

from itertools import combinations

import numpy as np
import pytest

from lmod_train.core.types import Unparsed
from lmod_train.scoring.items import Item
from lmod_train.scoring.repeats import drawn, pass_at, repeat_scores, vote
from tests.scoring.make import by_metric


def items(*answers, truth="yes", group="p", choices=("yes", "no", "maybe")):
    return [Item("q", "answered", a, truth, choices, group=group) for a in answers]


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_is_the_share_of_all_draws_with_a_right_reply(n):
    for c in range(n + 1):
        replies = [i < c for i in range(n)]
        for k in range(1, n + 1):
            draws = [any(some) for some in combinations(replies, k)]
            assert pass_at(k, n, c) == pytest.approx(sum(draws) / len(draws))


def test_pass_at_k_is_unbiased_and_the_naive_estimate_is_not():
    """Replies right with p = 0.2: the truth of pass@3 is 1 - 0.8^3 = 0.488."""
    random, p, n, k = np.random.default_rng(0), 0.2, 5, 3
    right = random.binomial(n, p, 20000)
    assert np.mean([pass_at(k, n, c) for c in right]) == pytest.approx(1 - (1 - p) ** k, abs=0.01)
    assert np.mean(1 - (1 - right / n) ** k) < 0.45


@pytest.mark.parametrize(
    ("answers", "right", "tied"),
    [
        (("yes", "yes", "no"), 1.0, False),
        (("no", "yes", "no"), 0.0, False),
        (("yes", "no"), 0.5, True),
        (("yes", "no", "maybe"), 1 / 3, True),
        (("no", "maybe"), 0.0, True),
        ((Unparsed("no_match"), "yes", Unparsed("empty")), 1.0, False),
        ((Unparsed("no_match"), Unparsed("no_match")), 0.0, False),
    ],
)
def test_votes_by_hand(answers, right, tied):
    assert vote(items(*answers)) == (pytest.approx(right), tied)


def test_regions_and_open_answers_vote_as_a_whole():
    truth = {1: "disc", 2: "cup"}
    half = {1: "disc", 2: "disc"}
    assert vote(items(truth, dict(reversed(truth.items())), half, truth=truth, choices=())) == (1.0, False)
    assert vote(items(half, half, truth, truth=truth, choices=())) == (0.0, False)
    assert vote(items("The disc is pale.", "disc is pale", "red", truth="Disc is pale", choices=())) == (1.0, False)


def test_scores_by_hand_with_patients():
    """Of 4 replies: 4, 2 and 0 right. pass@2: 1, 1 - 1/6, 0. The vote: 1, a tie of two, 0."""
    questions = [items("yes", "yes", "yes", "yes", group="a"), items("yes", "no", "yes", "no", group="b"),
                 items("no", "no", "maybe", "no", group="b")]  # fmt: skip
    found = by_metric(repeat_scores("demo", questions))
    values = {name: score.value for name, score in found.items()}
    assert values == {
        "accuracy_vote_over_repeat": pytest.approx(0.5),
        "share_tied_over_repeat": pytest.approx(1 / 3),
        "pass_at_1": pytest.approx(0.5),
        "pass_at_2": pytest.approx((1 + 5 / 6) / 3),
        "pass_at_4": pytest.approx(2 / 3),
    }
    assert {score.n for score in found.values()} == {3} and {score.task for score in found.values()} == {"demo"}


def test_the_interval_is_of_patients_and_not_of_questions():
    random = np.random.default_rng(2)
    right = random.random(40) < 0.5
    apart = [items(*(["yes"] * 3 if r else ["no"] * 3), group=str(i)) for i, r in enumerate(right)]
    together = [items(*(["yes"] * 3 if r else ["no"] * 3), group=str(i)) for i, r in enumerate(right) for _ in range(5)]
    one, five = (by_metric(repeat_scores("demo", which))["pass_at_2"] for which in (apart, together))
    assert (five.n, one.n) == (200, 40) and five.value == one.value
    assert five.high - five.low == pytest.approx(one.high - one.low, rel=0.05)


def test_one_reply_has_no_vote():
    assert repeat_scores("demo", []) == [] == repeat_scores("demo", [items("yes")])
    assert drawn(1) == [1] and drawn(6) == [1, 2, 4, 6]
