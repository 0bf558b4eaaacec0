"""The sentences say what the scores show, and no more: the best model, whether that is sure, and what it is worth."""

import random
from dataclasses import replace

import pytest

from lmod_train.report.comparisons import comparable, not_worse
from lmod_train.report.finding import findings
from lmod_train.report.headline import Row, headline_rows
from lmod_train.report.results import read_results
from lmod_train.scoring.account import Account
from tests.report.make import run

ROW = Row("four_way", "r", "m", "accuracy_strict", 216, 0.9, 0.85, 0.94, 0.25, 0.3, 0.0)


def text(rows, alike=None):
    (found,) = findings({label: [row] for label, row in rows.items()}, None if alike is None else {"four_way": alike})
    return found.text


def test_the_best_model_is_named_first_with_share_interval_and_the_higher_baseline():
    said = text({"b": replace(ROW, value=0.5, low=0.45, high=0.55), "a": ROW}, ["a"])
    assert said == (
        "Four-way diagnosis: a answers 90.0 % of 216 questions correctly (95 % interval 85.0-94.0 %); b 50.0 %; "
        "always giving one answer would give 30.0 %."
    )
    assert "guessing would give 40.0 %" in text({"a": replace(ROW, chance=0.4)})


@pytest.mark.parametrize("level", ["chance", "majority"])
@pytest.mark.parametrize("seed", range(20))
def test_better_is_claimed_if_and_only_if_the_interval_is_above_both_baselines(level, seed):
    rng = random.Random(seed)
    value, base = rng.random(), rng.random()
    low = value * rng.random()
    row = replace(ROW, value=value, low=low, high=1.0, chance=0.0, majority=0.0)
    said = text({"a": replace(row, **{level: base})})
    assert ("is not shown to be better than" in said) == (low <= base), said
    assert "no model is shown" in text(
        {"a": replace(row, **{level: 1.0}), "b": replace(row, value=0.0, low=0.0)}, ["a"]
    )


def test_models_that_were_not_found_to_differ_are_not_ranked():
    rows = {"a": ROW, "b": replace(ROW, value=0.89), "c": replace(ROW, value=0.4, low=0.35, high=0.45)}
    said = text(rows, ["a", "b"])
    assert "a and b are not shown to differ; a answers 90.0 %" in said and "Lower: c 40.0 %." in said
    assert "not shown to differ" not in text(rows, ["a"])
    assert "These differences were not tested." in text(rows) and "not tested" not in text({"a": ROW})
    assert "replies to different records" in text(rows, ["b"])


def test_many_models_are_counted():
    rows = {f"m{k}": replace(ROW, value=0.9 - k / 100) for k in range(9)}
    assert "m1 89.0 %, m2 88.0 %, and 6 more below" in text(rows, ["m0"])
    assert "5 models are not shown to differ; m0 answers" in text(rows, list(rows)[:5])


def test_what_limits_a_score_is_said():
    assert "10 questions are too few to say more." in text({"a": replace(ROW, n=10, low=0.55, high=0.99)})
    assert "Not all questions have a reply: a." in text({"a": replace(ROW, account=Account(200, 16))})
    assert "Not all" not in text({"a": replace(ROW, account=Account(216))})
    assert "Warnings about a: leak between splits." in text(
        {"a": replace(ROW, warnings=("incomplete", "leak between splits"))}
    )
    assert "nothing can be said" in text({"a": replace(ROW, value=None, low=None, high=None)})


def test_a_metric_that_is_no_share_is_not_a_percentage():
    said = text({"a": replace(ROW, metric="kappa", value=0.61, low=0.5, high=0.7)})
    assert "a reaches 0.610 quadratic kappa (95 % interval 0.500-0.700) on 216 questions" in said


def test_the_first_sentence_is_of_the_task_that_most_models_were_asked():
    other = replace(ROW, task="anatomy", metric="f1_lmod_plus")
    assert [one.task for one in findings({"a": [other, ROW]})] == ["four_way", "anatomy"]
    assert [one.task for one in findings({"a": [other, ROW], "b": [other]})] == ["anatomy", "four_way"]
    assert findings({}) == []


def test_runs_of_planted_skill_are_told_apart_and_copies_are_not(tmp_path):
    made = [run(tmp_path / name, skill, n=60, seed=seed) for name, skill, seed in (("good", 0.95, 1), ("bad", 0.2, 2))]
    made.append(run(tmp_path / "same", 0.95, n=60, seed=3))
    results = read_results(made)
    rows = {name: headline_rows([own]) for name, own in zip(results.names, results.runs, strict=True)}
    alike = not_worse(comparable(results))
    assert all("base (bad)" not in names and len(names) == 2 for names in alike.values()), alike
    for found in findings(rows, alike):
        assert "not shown to differ" in found.text and "Lower: base (bad)" in found.text
