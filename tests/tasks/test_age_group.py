"""Age groups: the words of both papers, the edges of the groups, and both ways to score."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Patient, Prediction, Reply, Sample, Unparsed
from lmod_train.scoring.items import items_of
from lmod_train.tasks.age_group import AgeGroup
from tests.contracts import TaskContract
from tests.tabled import stored, tabled

SAMPLE = Sample("brset", "img1", "CFP", Path("a.jpg"), "p1", "open", patient=Patient(age=35))
AGES = (5, 18, 39.5, 40, 59, 60, 79.9, 80)


def aged(age: float, key: str = "a") -> Sample:
    return replace(SAMPLE, key=key, patient=Patient(age=age))


class TestContract(TaskContract):
    task = AgeGroup()
    asked_of = tuple(map(aged, AGES))
    not_asked_of = (replace(SAMPLE, patient=Patient(sex="male")),)


class TestContractOfTheFirstVersion(TestContract):
    task = AgeGroup(wording="lmod_v1")


class TestContractOfTheFirstVersionWithTheSex(TestContractOfTheFirstVersion):
    asked_of = tuple(replace(aged(age), patient=Patient(age=age, sex="female")) for age in AGES)


class TestContractMerged(TestContract):
    task = AgeGroup(scored_as="merged")


def test_merged_scores_as_the_paper_consolidates_and_what_is_ours() -> None:
    said = stored(__file__, "age_group.merged_scores_as_the_paper_consolidates_and_what_is_ours")
    samples = [aged(age, key) for key, (age, *_) in said.items()]
    eight, merged = AgeGroup(), AgeGroup(scored_as="merged")
    predictions = TaskContract.predictions_of(merged, samples, [reply for _, reply, *_ in said.values()])
    scores = {s.metric: s.value for s in merged.score(predictions) if s.subset == "all"}
    assert scores["accuracy_strict"] == pytest.approx(
        accuracy_score([t for *_, t, _ in said.values()], [a for *_, a in said.values()])
    )
    assert scores["chance"] == 0.25  # LMOD+, table 3, "Random"
    assert scores["share_refused"] == scores["share_unparsed"] == pytest.approx(1 / 7)
    strict = {s.metric: s.value for s in eight.score(predictions) if s.subset == "all"}
    assert strict["accuracy_strict"] == pytest.approx(1 / 7)
    assert strict["chance"] == 0.125


@tabled(
    ("said", "broader"),
    stored(__file__, "age_group.a_span_within_one_broader_group_is_read_only_where_those_are_scored"),
)
def test_a_span_within_one_broader_group_is_read_only_where_those_are_scored(said: str, broader: str | None) -> None:
    eight, merged = AgeGroup(), AgeGroup(scored_as="merged")
    for task, wanted in ((eight, None), (merged, broader)):
        answer = task.parse(Reply("a", said))
        assert answer == wanted if wanted else isinstance(answer, Unparsed) and answer.reason == "ambiguous"


def test_a_broader_answer_is_scored_among_the_broader_classes() -> None:
    merged = AgeGroup(scored_as="merged")
    samples = [aged(65, "a"), aged(85, "b"), aged(45, "c"), aged(30, "d")]
    replies = ["Age Group: 60+", "Age Group: 80+", "Age Group: over 60", "Age Group: 18-40"]
    predictions = TaskContract.predictions_of(merged, samples, replies)
    assert [p.answer for p in predictions] == ["60+", "80+", "60+", "18–40"]
    scores = {s.metric: s.value for s in merged.score(predictions) if s.subset == "all"}
    assert (scores["accuracy_strict"], scores["share_answered"]) == (0.75, 1.0)
    items = [
        merged.as_scored(item) for item in items_of(predictions, lambda p: merged.parse(Reply("", p.record.answer)))
    ]
    assert [(i.truth, i.answer) for i in items] == [
        ("60+", "60+"),
        ("60+", "60+"),
        ("40–60", "60+"),
        ("18–40", "18–40"),
    ]
    assert {word for i in items for word in (i.truth, i.answer)} <= set(merged.classes) == set(items[0].choices)
    assert (AgeGroup().classes, AgeGroup().as_scored(items[0])) == (AgeGroup.choices, items[0])


def told(task: AgeGroup, probabilities: list[dict[str, float]]) -> list[Prediction]:
    """Predictions about one sample of each age whose replies carry the logarithms of these probabilities."""
    samples = [aged(age, str(i)) for i, age in enumerate(AGES[: len(probabilities)])]
    made = TaskContract.predictions_of(task, samples, ["Age Group: 80+"] * len(samples))
    logs = [{name: math.log(p) for name, p in one.items()} for one in probabilities]
    return [replace(p, reply=replace(p.reply, likelihoods=own)) for p, own in zip(made, logs, strict=True)]


def test_merged_a_broader_group_is_as_likely_as_its_groups_together() -> None:
    merged, weights = AgeGroup(scored_as="merged"), (1, 2, 3, 4, 5, 6, 7, 8)
    (prediction,) = told(merged, [dict(zip(AgeGroup.choices, (w / 36 for w in weights), strict=True))])
    (item,) = items_of([prediction], lambda p: merged.parse(Reply("", p.record.answer)))
    broader = {name: math.exp(log) for name, log in merged.as_scored(item).likelihoods.items()}
    assert broader == pytest.approx({"invalid": 1 / 36, "18–40": 5 / 36, "40–60": 9 / 36, "60+": 21 / 36})
    assert merged.as_scored(replace(item, likelihoods={"80+": -1.0})).likelihoods == {"80+": -1.0}


def test_merged_likelihoods_are_ranked_among_the_broader_groups() -> None:
    merged, rng = AgeGroup(scored_as="merged"), np.random.default_rng(0)
    table = rng.dirichlet(np.ones(8), size=len(AGES))
    scores = merged.score(told(merged, [dict(zip(AgeGroup.choices, row.tolist(), strict=True)) for row in table]))
    broader = np.stack([table[:, :1].sum(1), table[:, 1:3].sum(1), table[:, 3:5].sum(1), table[:, 5:].sum(1)], axis=1)
    truths = [0, 1, 1, 2, 2, 3, 3, 3]
    area = roc_auc_score(truths, broader, multi_class="ovr", average="macro")
    assert {s.metric: s.value for s in scores if s.subset == "all"}["auroc_macro"] == pytest.approx(area)


def test_a_way_to_score_that_is_unknown_is_named() -> None:
    with pytest.raises(BadArgument, match="scored_as='four'"):
        AgeGroup(scored_as="four")  # type: ignore[arg-type]
