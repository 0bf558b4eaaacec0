"""Scores over several ways of asking: subsets, spread, and intervals of patients instead of records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.core.types import Reply, Unparsed
from lmod_train.scoring.completeness import share_failed
from lmod_train.scoring.items import group_of
from lmod_train.tasks.glaucoma import PROMPT, Glaucoma
from lmod_train.tasks.parsed_replies import parse_replies, scores_of, scores_with_spread
from lmod_train.tasks.ways import Ways, in_every_way
from tests.scoring.make import by_metric
from tests.tabled import tabled
from tests.tiny import record

OTHER = {"GLAUCOMA": "NON-GLAUCOMA", "NON-GLAUCOMA": "GLAUCOMA"}
TASK = Glaucoma()


def questions(n, **fields):
    text = PROMPT.replace("<IMAGE TYPE>", "an ophthalmology fundus image")
    made = [record(f"glaucoma/p/{i:02}", text, [f"{i}.png"], list(OTHER)[i % 2], split="test") for i in range(n)]
    return [replace(r, **fields) for r in made]


def predictions(records, right, **ways):
    """Return predictions in every way; `right` tells of question id and tags whether the reply is right."""
    asked = in_every_way(records, {"glaucoma": TASK}, Ways(**ways), ())
    replies = {r.id: Reply(r.id, r.answer if right(r) else OTHER[r.answer]) for r in asked}
    return parse_replies(TASK, asked, replies)


def by_wording(record):
    """Right for 10, 6 and 8 of the questions 0 to 9 in wording 0, 1 and 2."""
    return int(record.id.split("/")[2]) < (10, 6, 8)[int(record.tags["wording"])]


def test_each_wording_is_a_subset_and_their_spread_stands_beside_the_score():
    scores = scores_with_spread(TASK, predictions(questions(10), by_wording, wordings=3))
    assert [by_metric(scores, f"wording={i}")["accuracy_strict"].value for i in range(3)] == [1.0, 0.6, 0.8]
    found = by_metric(scores)
    assert (found["accuracy_strict"].value, found["accuracy_strict"].n) == (pytest.approx(0.8), 30)
    ends = [found[f"accuracy_strict_over_wording_{end}"] for end in ("min", "max", "sd")]
    assert [s.value for s in ends] == [0.6, 1.0, pytest.approx(np.std([1.0, 0.6, 0.8], ddof=1))]
    assert {s.n for s in ends} == {10}
    assert found["same_answer_over_wording"].value == 0.6


def test_two_factors_are_compared_apart():
    def right(record):
        return by_wording(record) and record.tags["order"] == "0"

    found = by_metric(scores_with_spread(TASK, predictions(questions(10), right, wordings=3, orders=2)))
    assert found["accuracy_strict_over_wording_max"].value == 0.5
    assert found["accuracy_strict_over_order_min"].value == 0.0
    assert found["accuracy_strict_over_order_max"].value == pytest.approx(0.8)
    assert found["accuracy_strict_over_wording_max"].n == 20 and found["accuracy_strict_over_order_max"].n == 30


def test_wordings_are_compared_on_the_questions_that_have_a_reply_in_each():
    """Without it, a wording that was asked about the easy questions only would look better."""
    every = predictions(questions(10), lambda r: int(r.id.split("/")[2]) < 5, wordings=2)
    some = [p for p in every if p.record.tags["wording"] == "0" or int(p.record.id.split("/")[2]) < 5]
    found = by_metric(scores_with_spread(TASK, some))
    assert found["accuracy_strict_over_wording_min"].value == found["accuracy_strict_over_wording_max"].value == 1.0
    assert found["accuracy_strict_over_wording_sd"].n == 5 and found["accuracy_strict"].n == 15


@settings(max_examples=25)
@given(st.sets(st.integers(0, 29)))
def test_a_constant_reply_has_no_spread_whatever_requests_failed(failed):
    """A failed request is in no score, and is no difference between two wordings."""
    every = predictions(questions(10), lambda r: r.answer == "GLAUCOMA", wordings=3)
    some = [replace(p, answer=Unparsed("failed")) if i in failed else p for i, p in enumerate(every)]
    found = by_metric(scores_with_spread(TASK, some))
    whole = 10 - len({i // 3 for i in failed})
    asked = [found.get(f"accuracy_strict_over_wording_{end}") for end in ("min", "max", "sd")]
    if not whole:
        return
    assert asked[0].value == asked[1].value and asked[2].value == 0 and {s.n for s in asked} == {whole}
    assert found["same_answer_over_wording"].value == 1


@tabled("fields", [{}, {"group": ""}, {"group": "", "image": (), "image_sha256": ()}])
def test_the_interval_of_all_ways_is_that_of_the_questions(fields):
    """Asked in six ways with the same outcome, twenty questions know as much as asked once."""
    if "image" in fields:
        plain = record(text=PROMPT.replace("<IMAGE TYPE>", "an ophthalmology fundus image"), image=[]).messages
        fields = {**fields, "messages": plain}
    records = questions(20, **fields)

    def right(record):
        return int(record.id.split("/")[2]) % 3 > 0

    once = by_metric(TASK.score(predictions(records, right)))["accuracy_strict"]
    several = predictions(records, right, wordings=3, orders=2)
    assert len({group_of(p.record) for p in several}) == 20
    often = by_metric(scores_with_spread(TASK, several))["accuracy_strict"]
    assert (once.n, often.n, often.value) == (20, 120, once.value)
    assert often.low == pytest.approx(once.low, abs=0.03) and often.high == pytest.approx(once.high, abs=0.03)


def test_questions_asked_once_have_no_spread():
    one = predictions(questions(6), lambda r: True)
    assert scores_with_spread(TASK, one) == [*TASK.score(one), share_failed(TASK.name, 0, 6)]
    assert scores_with_spread(TASK, []) == []


def test_padding_duplicates_count_once():
    every = predictions(questions(10), by_wording, wordings=3)
    assert scores_with_spread(TASK, [*every, *every[:4]]) == scores_with_spread(TASK, every)


def test_the_logged_scores_are_those_of_the_report():
    every = predictions(questions(10), by_wording, wordings=3)
    metrics = TASK.metrics()
    metrics.update(every)
    found, scores = metrics.scored()
    assert scores_with_spread(TASK, found, scores) == scores_of([TASK], every)
