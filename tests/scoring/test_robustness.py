from dataclasses import replace

import numpy as np
import pytest

from lmod_train.scoring.items import Item
from lmod_train.scoring.robustness import by_cell, drop_p, drop_scores, pairs


def item(number, kind="none", grade=0, *, right=True, way="", question="t/s/"):
    name = f"/{kind}-{grade}" if grade else ""
    tags = {"perturbation": kind, "grade": str(grade), **({"wording": way} if way else {})}
    asked = f"/wording-{way}" if way not in ("", "0") else ""
    answer = "yes" if right else "no"
    return Item(f"{question}{number}{name}{asked}", "answered", answer, "yes", ("yes", "no"), f"s/{number}", tags=tags)


def test_drops_are_over_the_questions_asked_of_both_images():
    clean = [item(i, right=i < 8) for i in range(10)]
    blurred = [item(i, "blur", 2, right=i < 5) for i in range(9)]  # of one the request is missing
    alone = [item(99, "crop", 1)]
    (score,) = drop_scores("t", [*blurred, *clean, *alone])
    assert (score.subset, score.metric, score.n) == ("perturbation=blur;grade=2", "drop", 9)
    assert score.value == pytest.approx(3 / 9) and score.low < 3 / 9 < score.high
    assert drop_scores("t", []) == [] == drop_scores("t", clean)


def test_a_score_that_rises_is_a_negative_drop():
    items = [item(i, right=False) for i in range(6)] + [item(i, "jpeg", 1) for i in range(6)]
    assert drop_scores("t", items)[0].value == -1


def test_variants_and_ways_of_asking_are_paired_with_their_own():
    items = [item("7/drusen-blur-3", right=False), item("7/drusen")]
    items[0] = replace(items[0], tags={"perturbation": "blur", "grade": "3"})
    ((_, ((clean, perturbed),)),) = pairs(items).items()
    assert (clean.id, perturbed.id) == ("t/s/7/drusen", "t/s/7/drusen-blur-3")
    ways = [item(1, way="0"), item(1, way="2"), item(1, "blur", 3, way="0"), item(1, "blur", 3, way="2")]
    found = pairs(ways)["blur", 3]
    assert [(a.id, b.id) for a, b in found] == [
        ("t/s/1", "t/s/1/blur-3"),
        ("t/s/1/wording-2", "t/s/1/blur-3/wording-2"),
    ]


def test_cells_are_in_order_and_items_without_tags_in_none():
    items = [item(1, "shadow", 1), item(1, "blur", 5), item(1, "blur", 2), item(1), Item("t/s/2", "answered", "x", "x")]
    assert list(by_cell(items)) == [("none", 0), ("blur", 2), ("blur", 5), ("shadow", 1)]


@pytest.mark.parametrize("worse", [0.75, 0.6])
def test_p_agrees_with_the_interval_of_the_drop(worse):
    right = np.random.default_rng(0).random((60, 2)) < (0.9, worse)
    own = [(item(i, right=a), item(i, "blur", 4, right=b)) for i, (a, b) in enumerate(right)]
    (drop,) = drop_scores("t", [one for pair in own for one in pair])
    assert (drop_p(own) < 0.05) == (drop.low > 0)
    assert drop_p([]) is None
