"""Replies with planted answers, confidence and flow of errors, through parser, items and scores of the task."""

from dataclasses import replace

import numpy as np
import pytest

from lmod_train.core.types import Prediction, Reply
from lmod_train.extensions.xpcr.scores import chain_differences, stage_differences
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.scoring.chain_steps import STEPS
from lmod_train.scoring.items import items_of
from lmod_train.tasks.single_choice import reply_for, single_choice
from tests.scoring.make import by_metric, record, values

TASK, OPTIONS = Chain(), ("left", "right", "above", "below")
CASES = 40
SURE, DOUBT = 90, 20
FOLLOWING = ("DD", "SG", "CD")


def asked(case, step):
    made = record(f"{case}/{step}", task="chain", choices=OPTIONS, group=f"p{case // 2}")
    place = (case + STEPS.index(step)) % 4
    tags = {"stage": step, "level": "RRAASS"[STEPS.index(step)], "impact": "5"}
    words = {
        "messages": single_choice("Where?", OPTIONS, confidence=True),
        "answer": reply_for(OPTIONS, OPTIONS[place]),
    }
    return replace(made, **words, chain=f"phantoms/{case}", chain_step=step, tags=tags), place


def replied(case, step, regime):
    """Every fourth chain errs at LC, with confidence; in CAS later steps follow the error, in doubt."""
    question, place = asked(case, step)
    errs = case % 4 == 0 and (step == "LC" or (regime == "cas" and step in FOLLOWING))
    percent = DOUBT if errs and step != "LC" else SURE
    text = f"Answer: {'ABCD'[(place + errs) % 4]}; Confidence: {percent}%"
    if step == "IQA" and case % 10 == 0:
        text = "I cannot tell. Confidence: 10%"
    if step == "IQA" and case % 10 == 1:
        text = f"Answer: {'ABCD'[place]}; Confidence: very sure"
    reply = Reply(question.id, text)
    return Prediction(question, reply, TASK.parse(reply, question), TASK.confidence(reply, question))


def predictions(regime):
    return [replied(case, step, regime) for case in range(CASES) for step in STEPS]


def items(regime):
    return items_of(predictions(regime), lambda p: TASK.parse(Reply("", p.record.answer), p.record))


def test_stages_chains_and_confidence_are_recovered():
    scores = TASK.score(predictions("cas"))
    expected = {"IQA": 0.9, "AL": 1.0, **dict.fromkeys(STEPS[2:], 0.75)}
    for step, accuracy in expected.items():
        assert values(scores, f"stage={step}")["swa"] == accuracy
    got = by_metric(scores)
    wrong = {c for c in range(CASES) if c % 4 == 0 or c % 10 == 0}
    assert (got["ccr"].value, got["ccr"].n) == (1 - len(wrong) / CASES, CASES)
    assert got["ccr_product"].value == pytest.approx(np.prod(list(expected.values())))
    assert got["share_without_confidence"].value == 4 / 240 and got["brier_confidence"].n == 236
    assert values(scores, "stage=IQA")["swa_answered"] == 1
    lc, dd = (values(scores, f"stage={step}") for step in ("LC", "DD"))
    assert [lc["ece_4"], lc["ece_10"]] == pytest.approx([abs(0.75 - 0.9)] * 2)
    assert [dd["ece_4"], dd["ece_10"]] == pytest.approx([0.75 * 0.1 + 0.25 * 0.2] * 2)
    assert lc["auroc_confidence"] == 0.5 and dd["auroc_confidence"] == 1


def test_the_uncertainty_aware_score_is_recovered():
    weights = [0.6 * d + 0.4 * 5 for d in (1, 1, 2, 2, 3, 3)]
    iqa = 32 * 1 + 4 * 0.3  # four without an answer doubt, four without a confidence are left out
    sums = [iqa, 40 * 1, 30 * 1 - 10 * 0.5, *[30 * 1 + 10 * 0.3] * 3]
    counts = [36, *[40] * 5]
    got = values(TASK.score(predictions("cas")))
    assert got["uas"] == pytest.approx(100 * np.dot(weights, sums) / np.dot(weights, counts))
    assert got["uas_flat"] == pytest.approx(100 * sum(sums) / sum(counts))
    worst = [iqa + 4 * 0.7, *sums[1:]]
    assert got["uas_worst"] == pytest.approx(100 * np.dot(weights, worst) / (40 * sum(weights)))


def test_propagation_of_errors_is_recovered():
    oracle, cas = items("oracle"), items("cas")
    gaps = {d.step: d.score.value for d in stage_differences("chain", oracle, cas)}
    assert gaps == {step: 0.25 if step in FOLLOWING else 0.0 for step in STEPS}
    swa, ccr = chain_differences("chain", cas, oracle)
    assert (swa.value, ccr.value) == (pytest.approx(-3 * 0.25 / 6), 0) and swa.high < 0
    after = values(TASK.score(predictions("cas")), "stage=DD")
    assert after["right_after_right"] == 1 and 0 < after["right_after_wrong"] < 0.5
