"""The twelve conditions: the words asked, one question each, and scores of each and of their mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import accuracy_score, recall_score

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Prediction, Reply, Sample
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.tasks.conditions import Conditions, variant_of
from tests.contracts import TaskContract, record_from
from tests.tabled import tabled

TWELVE = [finding.condition for finding in FINDINGS]
SAMPLE = Sample("brset", "img1", "CFP", Path("a.jpg"), "p1", "open", labels=dict.fromkeys(TWELVE, "yes"))


class TestContract(TaskContract):
    task = Conditions()
    asked_of = (SAMPLE, replace(SAMPLE, labels=dict.fromkeys(TWELVE, "no")))
    not_asked_of = (replace(SAMPLE, labels={}), replace(SAMPLE, labels={"glaucoma": "yes", "icdr": "2"}))

    @staticmethod
    def truth_of(sample, question):
        return sample.labels, question.variant


def test_one_question_for_each_condition_that_is_labelled() -> None:
    some = replace(SAMPLE, labels={"drusen": "no", "scar": "yes", "diagnosis": "drusen"})
    assert [(q.variant, q.answer) for q in Conditions().ask(some)] == [
        ("drusen", "DRUSEN FALSE"),
        ("scar", "SCAR TRUE"),
    ]
    assert [q.variant for q in Conditions(["scar"]).ask(some)] == ["scar"]
    assert list(Conditions(sources=["idrid"]).ask(some)) == []


def test_each_short_word_is_read_as_its_own_condition() -> None:
    for asked in Conditions().ask(SAMPLE):
        record = record_from(asked, SAMPLE, Conditions())
        for other in Conditions().ask(SAMPLE):
            answer = Conditions().parse(Reply("a", f"{other.answer.removesuffix(' TRUE')} FALSE"), record)
            assert (answer == "FALSE") is (asked.variant == other.variant), (asked.variant, other.variant)


@tabled(
    ("conditions", "named"),
    [(["glaucoma"], r"\['glaucoma'\]"), ([], r"conditions=\[\]"), (["scar", "scar"], "different names")],
)
def test_conditions_that_cannot_be_asked_are_named(conditions: list[str], named: str) -> None:
    with pytest.raises(BadArgument, match=named):
        Conditions(conditions)


def test_a_label_or_a_record_of_another_kind_is_named() -> None:
    with pytest.raises(BadArgument, match=r"labels\['drusen'\] of brset/img1='2'"):
        list(Conditions().ask(replace(SAMPLE, labels={"drusen": "2"})))
    (question,) = Conditions(["drusen"]).ask(SAMPLE)
    with pytest.raises(BadArgument, match="'GLAUCOMA'"):
        Conditions().parse(Reply("a", "TRUE"), replace(record_from(question, SAMPLE, Conditions()), answer="GLAUCOMA"))


def test_scores_of_each_condition_and_of_their_mean() -> None:
    task = Conditions(["drusen", "scar"])
    said = [  # drusen, scar: truth and reply
        ("yes", "DRUSEN TRUE", "no", "SCAR FALSE"),
        ("no", "The patient does not have drusen.", "no", "SCAR TRUE; Explanations: pale patch"),
        ("yes", "No drusen.", None, None),
        ("no", "I'm unable to diagnose this.", None, None),
    ]
    predictions: list[Prediction] = []
    for i, (drusen, one, scar, two) in enumerate(said):
        labels = {"drusen": drusen} | ({"scar": scar} if scar else {})
        sample = replace(SAMPLE, key=f"img{i}", group=f"p{i}", labels=labels)
        predictions += TaskContract.predictions_of(task, [sample], [reply for reply in (one, two) if reply])
    scores = {(s.subset, s.metric): (s.value, s.n) for s in task.score(predictions)}
    truths, answers = ["TRUE", "FALSE", "TRUE", "FALSE"], ["TRUE", "FALSE", "FALSE", "?"]
    assert scores["condition=drusen", "accuracy_strict"] == (accuracy_score(truths, answers), 4)
    assert scores["condition=drusen", "sensitivity"] == (
        recall_score(truths, answers, labels=["TRUE"], average="macro"), 2,
    )  # fmt: skip
    assert scores["condition=scar", "accuracy_strict"] == (0.5, 2)
    assert scores["condition=scar", "sensitivity"] == (None, 0)
    assert scores["all", "accuracy_strict"] == (0.5, 6)
    assert scores["all", "accuracy_macro"] == ((0.5 + 0.5) / 2, 6)
    assert scores["all", "share_refused"][0] == pytest.approx(1 / 6)
    assert {subset for subset, _ in scores} == {"all", "condition=drusen", "condition=scar"}


def test_a_subset_is_there_where_one_condition_alone_was_asked() -> None:
    predictions = TaskContract.predictions_of(Conditions(["scar"]), [SAMPLE], ["SCAR TRUE"])
    assert {s.subset for s in Conditions().score(predictions)} == {"all", "condition=scar"}


def test_variants_are_safe_in_ids_and_differ() -> None:
    variants = [variant_of(condition) for condition in TWELVE]
    assert len(set(variants)) == 12
    assert all(variant.isidentifier() for variant in variants)
