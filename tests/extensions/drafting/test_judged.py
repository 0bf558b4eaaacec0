"""Metrics of judged replies, against counts by hand."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Unparsed
from lmod_train.extensions.drafting.judgement import judged_scores
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import PENDING

LABELS, RIGHT = ("correct", "partly", "wrong"), ("correct", "partly")


def items(count: int, **fields) -> list[Item]:
    return [Item(f"r{i:03}", "answered", "x", "x", group=f"g{i // 2}", **fields) for i in range(count)]


def named(scores, subset="all"):
    return {s.metric: s for s in scores if s.subset == subset}


def test_counts_by_hand():
    found = ["correct", "partly", "wrong", "wrong", Unparsed("ambiguous"), Unparsed("failed", "HTTP 500"), None, None]
    every = items(len(found))
    verdicts = {i.id: v for i, v in zip(every, found, strict=True) if v is not None}
    scores = named(judged_scores("t", "m", every, verdicts, LABELS, RIGHT))
    assert {name: (s.n, s.value) for name, s in scores.items()} == {
        "accuracy_judged:m": (0, None),
        "accuracy_judged_answered:m": (4, 2 / 4),
        "share_judged_correct:m": (8, 1 / 8),
        "share_judged_partly:m": (8, 1 / 8),
        "share_judged_wrong:m": (8, 2 / 8),
        "share_unjudged:m": (8, 1 / 8),
        "share_pending:m": (8, 1 / 8),
        "share_not_sent:m": (8, 2 / 8),
    }
    assert all(s.low <= s.value <= s.high for s in scores.values() if s.n == 8)
    assert sum(s.value for name, s in scores.items() if name.startswith("share_")) == 1


def test_pending_judgements_give_no_accuracy_over_all_and_leave_that_of_the_judged():
    every = items(6)
    verdicts = {"r000": "correct", "r001": "wrong", "r002": PENDING, "r003": "correct", "r004": "correct"}
    scores = named(judged_scores("t", "m", every, verdicts, LABELS, RIGHT))
    assert (scores["accuracy_judged:m"].n, scores["accuracy_judged:m"].value) == (0, None)
    assert (scores["accuracy_judged_answered:m"].n, scores["accuracy_judged_answered:m"].value) == (4, 0.75)
    assert scores["share_pending:m"].value == pytest.approx(1 / 6)


def test_subsets_are_those_of_other_metrics_and_no_items_give_no_scores():
    every = [*items(4, tags={"level": "R"}), *[Item("z", "answered", "x", "x", group="z", tags={"level": "S"})]]
    verdicts = {i.id: "wrong" for i in every} | {"z": "correct"}
    scores = judged_scores("t", "m", every, verdicts, LABELS, RIGHT)
    assert named(scores, "level=R")["accuracy_judged:m"].value == 0
    assert named(scores, "level=S")["accuracy_judged:m"].value == 1
    assert judged_scores("t", "m", [], {}, LABELS, RIGHT) == []
