"""What is left of the claim: each sentence in both polarities, from planted scores."""

from dataclasses import replace

import pytest

from lmod_train.core.types import Score
from lmod_train.extensions.collapse.lab import ANSWERS, Arm, Outcome, Recipe, Result
from lmod_train.extensions.collapse.results import percent, remains

NONE, HALF, ALL = (0.0, 0.0, 0.06), (0.5, 0.4, 0.6), (1.0, 0.94, 1.0)


def result(start, answers, right, steps=120, **shares):
    own = {"right": right[0], "empty": 0.0, "repetitive": 0.0, "at_limit": 0.0, "distinct": 0.5} | shares
    outcome = Outcome(1, start, answers, 2e-3, steps, 64, 2, 30.0, 1.0, **own, doctor="passes", example="")
    score = Score(answers, "all", "right", 64, *right)
    return Result(Arm(start, answers, Recipe(steps=steps)), [outcome], score, [[1.0]])


def results(merged=ALL, delta=NONE, longer=NONE, base=ALL, random=NONE, answers="short", **shares):
    return [
        result("merged", answers, merged),
        result("delta", answers, delta, **shares),
        result("delta", answers, longer, steps=360),
        result("base", answers, base),
        result("random", answers, random),
    ]


def of_all(**scores):
    return [one for answers in ANSWERS for one in results(answers=answers, **scores)]


def test_without_controls_nothing_is_said():
    assert remains([]) == ""
    assert remains([r for r in of_all() if r.arm.start in ("merged", "delta")]) == ""


def test_a_delta_that_fails_whatever_is_tried_leaves_the_claim():
    text = remains(of_all(empty=0.9, repetitive=0.25))
    assert "100 % (94-100) and 0 % (0-6) of short answers" in text
    assert "The delta is behind for short, long and varied answers." in text and "With 3 times the steps" in text
    assert "It is still behind for short, long and varied answers." in text
    assert "The delta is not shown to differ from it for short, long and varied answers." in text
    assert "It is not shown to differ from the complete weights for short, long and varied answers." in text
    assert "to 90 % empty and to 25 % repetitive or cut off for short answers" in text
    assert "for short, long and varied answers neither another rate nor more steps make up for the start" in text
    assert text.endswith("answers it is not shown to be better than a language model that was never trained.")


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"delta": ALL, "longer": ALL}, "The delta is not shown to be behind for short, long and varied answers."),
        ({"longer": ALL}, "It is then not shown to be behind for short, long and varied answers."),
        ({"random": ALL}, "The delta differs from it for short, long and varied answers."),
        ({"base": HALF}, "It differs from them for short, long and varied answers."),
        ({"delta": (0.5, None, None)}, "The delta is not shown to be behind for short, long and varied answers."),
    ],
)
def test_each_statement_has_its_opposite(scores, said):
    assert said in remains(of_all(**scores))


def test_more_steps_that_help_take_the_claim_back():
    text = remains(of_all(longer=ALL))
    assert "neither another rate" not in text and "never trained" not in text
    assert "for short, long and varied answers the delta learns too, at its own rate or with more steps" in text


def test_kinds_of_answers_are_told_apart():
    text = remains(results() + results(answers="long", delta=HALF, longer=ALL, random=ALL))
    assert "It is still behind for short answers. It is then not shown to be behind for long answers." in text
    assert "for long answers the delta learns too" in text and "for short answers neither another rate" in text


def test_a_random_language_model_that_learns_is_not_called_the_same():
    assert "never trained" not in remains(of_all(random=ALL))


def test_a_share_without_an_interval_is_shown_alone():
    score = Score("short", "all", "right", 64, 0.984, 0.91, 0.997)
    assert (percent(score), percent(replace(score, low=None, high=None)), percent(Score("a", "b", "c", 0, None))) == (
        "98 % (91-100)",
        "98 %",
        "-",
    )
