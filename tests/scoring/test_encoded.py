"""Means of BERTScore over the replies as they are now."""

from dataclasses import replace

import pytest

from lmod_train.core.artifacts.bert_scores import BertScore, text_hash
from lmod_train.core.types import Unparsed
from lmod_train.scoring.encoded import bert_scores, counted
from tests.scoring.make import prediction


def made(k, answer, language="zh"):
    found = prediction(k, answer, answer="黄斑裂孔", task="open_question", choices=())
    return replace(found, record=replace(found.record, language=language))


def stored(predictions, values, rescaled=None):
    return {
        p.record.id: BertScore(text_hash(str(p.answer), p.record.answer), "tiny layer 2 sha256 0", value, rescaled)
        for p, value in zip(predictions, values, strict=True)
    }


def test_planted_values_give_their_means():
    predictions = [made("a", "裂孔"), made("b", "前膜"), made("c", Unparsed("refused"))]
    encoded, changed = counted(stored(predictions[:2], [0.5, 0.25]), predictions)
    scores = {s.metric: s for s in bert_scores(predictions, encoded)}
    assert changed == 0 and list(scores) == ["bertscore_f1", "bertscore_f1_answered"]
    assert (scores["bertscore_f1"].value, scores["bertscore_f1"].n) == (0.25, 3)
    assert (scores["bertscore_f1_answered"].value, scores["bertscore_f1_answered"].n) == (0.375, 2)
    assert {(s.subset, s.settings) for s in scores.values()} == {("language=zh", "tiny layer 2 sha256 0")}


def test_a_changed_answer_does_not_count_and_leaves_no_value():
    predictions = [made("a", "裂孔"), made("b", "前膜")]
    kept = stored(predictions, [0.5, 0.25])
    again = [predictions[0], replace(predictions[1], answer="水肿")]
    encoded, changed = counted(kept, again)
    assert changed == 1 and set(encoded) == {predictions[0].record.id}
    assert [(s.value, s.n) for s in bert_scores(again, encoded)] == [(None, 0), (None, 0)]


def test_rescaled_values_may_be_negative():
    predictions = [made(str(k), "裂孔") for k in range(9)]
    scores = bert_scores(predictions, stored(predictions, [0.5] * 9, -3.0))
    found = {s.metric: s for s in scores}
    assert found["bertscore_f1_rescaled"].value == pytest.approx(-3) and found["bertscore_f1"].value == 0.5


def test_none_stored_gives_no_column():
    assert counted({}, [made("a", "裂孔")]) == ({}, 0) and bert_scores([made("a", "裂孔")], {}) == []
