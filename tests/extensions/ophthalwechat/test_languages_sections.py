"""Chinese against English of runs with planted pairs."""

import pytest
from scipy.stats import chi2_contingency
from statsmodels.stats.contingency_tables import mcnemar

from lmod_train.extensions.ophthalwechat.sections import _TEXTS, Languages
from lmod_train.report.contents import Text
from lmod_train.report.results import read_results
from tests.report.bilingual import judge_of, judged_results
from tests.report.make import run

ALONE, PAIRED = _TEXTS["alone"], _TEXTS["paired"]
CELLS = [40, 12, 5, 23]
"""Pairs right/right, right/wrong, wrong/right, wrong/wrong."""
ZH = [True] * 52 + [False] * 28
EN = [True] * 40 + [False] * 12 + [True] * 5 + [False] * 23


def table_of(results, name):
    parts = list(Languages().parts(results))
    (found,) = (part for part in parts if getattr(part, "name", "") == name)
    heads = [column.head for column in found.columns]
    return [dict(zip(heads, row, strict=True)) for row in found.rows], [p.text for p in parts if isinstance(p, Text)]


def test_planted_pairs_are_recovered(tmp_path):
    plan = {("binary_question", "zh"): ZH, ("binary_question", "en"): EN}
    rows, texts = table_of(judged_results(tmp_path / "planted", plan), "chinese_english")
    row = rows[0]
    assert [r["questions"] for r in rows] == ["Binary", "close-ended"] and PAIRED in texts
    assert [row[c] for c in ("right/right", "right/wrong", "wrong/right", "wrong/wrong")] == [n / 80 for n in CELLS]
    assert (row["pairs"], row["difference"], row["CN"], row["EN"]) == (80, pytest.approx(7 / 80), 52 / 80, 45 / 80)
    assert row["McNemar p"] == pytest.approx(mcnemar([[40, 12], [5, 23]], exact=True).pvalue)
    assert row["unpaired p"] == pytest.approx(chi2_contingency([[52, 45], [28, 35]], correction=False)[1])


def test_open_answers_are_compared_by_each_judge(tmp_path):
    plan = {("open_question", "zh"): [True] * 40, ("open_question", "en"): [True] * 40}
    found = judged_results(tmp_path / "planted", plan, [judge_of("j", {"zh": 20, "en": 28})])
    rows, texts = table_of(found, "chinese_english")
    assert [(r["questions"], r["judged by"]) for r in rows] == [("Open-ended", "j"), ("all kinds", "j")]
    assert rows[0]["wrong/right"] == 8 / 40 and rows[0]["difference"] == pytest.approx(-0.2)
    assert any("they do not see the order of words" in text.replace("\n", " ") for text in texts)


def test_without_pairs_only_the_unpaired_test_is_given_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("lmod_train.scoring.language_pairs.pair_of", lambda id: "")
    plan = {("binary_question", "zh"): ZH, ("binary_question", "en"): EN}
    rows, texts = table_of(judged_results(tmp_path / "planted", plan), "chinese_english")
    assert ALONE in texts and PAIRED not in texts
    assert (rows[0]["pairs"], rows[0]["McNemar p"], rows[0]["difference"]) == (0, None, None)
    assert rows[0]["unpaired p"] == pytest.approx(chi2_contingency([[52, 45], [28, 35]], correction=False)[1])


def test_other_tasks_have_nothing_to_show(tmp_path):
    assert list(Languages().parts(read_results([run(tmp_path / "other", 0.5)]))) == []
