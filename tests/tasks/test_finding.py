"""The sentences say what the scores show, and no more: the best model, whether that is sure, and what it is worth."""

import random
from dataclasses import replace

import pytest

from lmod_train.core.types import Score
from lmod_train.report.paired_runs import comparable, letter_display
from lmod_train.report.results import read_results
from lmod_train.scoring.completeness import Account
from lmod_train.tasks.headline import Row, headline_rows
from lmod_train.tasks.statements import NOT_COMPARED, Place, findings
from tests.report.make import run

ROW = Row("four_way", "r", "m", "accuracy_strict", 216, 0.9, 0.85, 0.94, 0.25, 0.3, 0.0)


def text(rows, letters=None, n=216):
    """What is said of rows by label; `letters` by label, the best first, with the rows' own scores."""
    places = [Place("four_way", name, n, rows[name].value, own) for name, own in (letters or {}).items()]
    (found,) = findings({label: [row] for label, row in rows.items()}, places)
    return found.text


def test_the_best_model_is_named_first_with_share_interval_and_the_higher_baseline():
    said = text({"b": replace(ROW, value=0.5, low=0.45, high=0.55), "a": ROW}, {"a": "a", "b": "b"})
    assert said == (
        "Four-way diagnosis: a answers 90.0 % of 216 questions correctly (95 % interval 85.0-94.0 %; always giving one "
        "answer would give 30.0 %); b 50.0 %."
    )
    assert "guessing would give 40.0 %" in text({"a": replace(ROW, chance=0.4)})


@pytest.mark.parametrize("level", ["chance", "majority"])
@pytest.mark.parametrize("seed", range(20))
def test_better_is_denied_if_and_only_if_the_interval_is_not_above_both_baselines(level, seed):
    rng = random.Random(seed)
    value, base = rng.random(), rng.random()
    low = value * rng.random()
    row = replace(ROW, value=value, low=low, high=1.0, chance=0.0, majority=0.0)
    said = text({"a": replace(row, **{level: base})})
    assert ("is not shown to be better" in said) == (low <= base), said


def test_each_model_is_held_against_its_own_baseline():
    """A few questions answered luckily do not hide a model that is shown to be better on many."""
    lucky = replace(ROW, n=6, value=1.0, low=0.05, high=1.0, majority=0.5)
    said = text({"lucky": lucky, "big": replace(ROW, value=0.8, low=0.75, high=0.85)}, {})
    assert "lucky is not shown to be better than that." in said and "No model" not in said
    both = {"lucky": lucky, "big": replace(ROW, value=0.3, low=0.2, high=0.4)}
    assert "No model is shown to be better than that." in text(both)


def test_models_that_were_not_found_to_differ_are_not_ranked():
    rows = {"a": ROW, "b": replace(ROW, value=0.89), "c": replace(ROW, value=0.4, low=0.35, high=0.45)}
    said = text(rows, {"a": "a", "b": "a", "c": "b"})
    assert "; c 40.0 %. b 89.0 % is not shown to differ from it." in said
    assert "not shown to differ" not in text(rows, {"a": "a", "b": "b", "c": "c"})
    assert "b 89.0 % and c 40.0 % are not shown to differ from it." in text(rows, {"a": "ab", "b": "a", "c": "b"})
    assert "These differences were not tested here." in text(rows) and "not tested" not in text({"a": ROW})
    many = {f"m{k}": replace(ROW, value=0.9 - k / 100) for k in range(9)}
    assert "m1 89.0 %, m2 88.0 %, and 6 more below" in text(many, {"m0": "a"} | {f"m{k}": "b" for k in range(1, 9)})
    assert "4 models are not shown to differ from it." in text(many, {f"m{k}": "a" if k < 5 else "b" for k in range(9)})


def test_ways_of_asking_are_no_further_questions():
    said = text({"a": replace(ROW, n=648, ways=3)})
    assert (
        "a answers 90.0 % of 648 requests correctly (95 % interval 85.0-94.0 %; each question is asked in 3 ways;"
        in said
    )
    assert "questions" not in said


@pytest.mark.parametrize(("metric", "best"), [("exact_match", "high"), ("mean_absolute_error", "low"), ("my_own", "")])
def test_a_model_is_only_called_the_best_by_a_metric_whose_direction_is_known(metric, best):
    rows = {name: replace(ROW, metric=metric, value=value) for name, value in (("low", 0.2), ("high", 0.9))}
    (found,) = findings({label: [row] for label, row in rows.items()})
    assert found.best == best
    assert ("is not known of this metric" in found.text) == (best == "")
    assert "low" in found.text and "high" in found.text, "both are told"


def test_the_same_warnings_of_several_models_are_told_once():
    same = replace(ROW, warnings=("few patients", "copies"))
    assert "Warnings: a and b (few patients, copies)." in text({"a": same, "b": same}, {})
    other = replace(ROW, warnings=("copies",))
    assert "Warnings: 3 models (few patients, copies) and d (copies)." in text(
        {"a": same, "b": same, "c": same, "d": other}
    )
    third = {"e": replace(ROW, warnings=("third",))}
    assert "Warnings: 3 models, see below." in text({"a": same, "d": other} | third)


def test_models_are_ranked_on_the_records_that_they_share():
    rows = {
        "few": replace(ROW, n=40, value=0.8),
        "big": replace(ROW, n=400, value=0.75),
        "other": replace(ROW, value=0.99),
    }
    places = [Place("four_way", "big", 40, 1.0, "a"), Place("four_way", "few", 40, 0.8, "b"),
              Place("four_way", "other", 216, 0.99, NOT_COMPARED)]  # fmt: skip
    (found,) = findings({label: [row] for label, row in rows.items()}, places)
    assert found.best == "big"
    assert ": big answers 75.0 % of 400 questions correctly (95 % interval" in found.text, "its own score and interval"
    assert "Compared on the 40 that all have a reply to, of which big 100.0 % and few 80.0 %." in found.text
    assert "Not compared, as the records differ: other." in found.text


def test_what_limits_a_score_is_said():
    assert "10 questions are too few to say more." in text({"a": replace(ROW, n=10, low=0.55, high=0.99)})
    without = replace(ROW, n=1, low=None, high=None)
    assert "There is no interval, as it rains." in text({"a": replace(without, no_interval="it rains")})
    assert "There is no interval. " in text({"a": without}) + " "
    assert "90.0 % of 1 question correctly" in text({"a": replace(ROW, n=1, low=None, high=None)})
    assert "Not all questions have a reply: a." in text({"a": replace(ROW, account=Account(200, 16))})
    assert "Not all" not in text({"a": replace(ROW, account=Account(216))})
    warned = replace(ROW, value=0.5, warnings=("incomplete", "leak between splits"))
    assert "Warnings: b (leak between splits)." in text({"a": ROW, "b": warned})
    assert "nothing can be said" in text({"a": replace(ROW, value=None, low=None, high=None)})


def test_scores_of_other_replies_are_not_ranked():
    stale = replace(ROW, value=1.0, warnings=("scores of other replies",))
    said = text({"stale": stale, "a": ROW}, {"a": "a", "stale": "b"})
    assert ": a answers" in said and "Not the scores of their replies: stale." in said and "100.0 %" not in said
    assert "nothing can be said, as the scores are not those of the replies" in text({"stale": stale})


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("exact_match", "a gives exactly the reference in 61.0 % of 216 questions (95 % interval 50.0-70.0 %;"),
        ("kappa", "a reaches 0.610 quadratic kappa on 216 questions (95 % interval 0.500-0.700)."),
        ("share_refused", "a reaches 0.610 share refused on 216 questions (95 % interval 0.500-0.700)."),
    ],
)
def test_only_a_share_of_right_answers_is_called_correct_and_only_metrics_with_a_baseline_have_one(metric, said):
    found = text({"a": replace(ROW, metric=metric, value=0.61, low=0.5, high=0.7)})
    assert said in found and ("would give" in found) == (metric == "exact_match")
    assert "too few to say more" not in text({"a": replace(ROW, metric="uas", value=62.0, low=55.0, high=70.0)})
    mixed = {"a": ROW, "b": replace(ROW, metric=metric)}
    assert "scored by different metrics" in text(mixed)


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
    for found in findings(rows, letter_display(comparable(results), fewest=2)[0]):
        assert "is not shown to differ from it." in found.text and "; base (bad)" in found.text
        assert found.best != "base (bad)"


def test_labels_of_levels_are_no_answers():
    row = Row("chain", "r", "m", "accuracy_strict", 216, 0.9, 0.85, 0.95, 0.25, 0.25, 0.0)
    rows = [row, replace(row, task="chain_level")]
    assert [found.task for found in findings({"m": rows})] == ["chain"] and findings({"m": rows[1:]}) == []


def test_on_uneven_classes_always_no_and_seeing_are_told_apart():
    def balanced(value, low, high):
        return Score("four_way", "all", "balanced_accuracy", 100, value, low, high)

    uneven = replace(ROW, n=100, value=0.84, low=0.76, high=0.9, chance=0.5, majority=0.84)
    rows = {
        "no": replace(uneven, balanced=balanced(0.5, 0.5, 0.5), warnings=("one answer to all",)),
        "sees": replace(uneven, value=0.83, low=0.75, high=0.89, balanced=balanced(0.81, 0.72, 0.89)),
    }
    said = text(rows, {"no": "a", "sees": "a"}, n=100)
    assert "no answers 84.0 % of 100 questions correctly (95 % interval 76.0-90.0 %; balanced accuracy 50.0 %" in said
    assert "sees 83.0 % (balanced accuracy 81.0 %, 72.0-89.0 %) is not shown to differ from it in accuracy." in said
    assert "No model is shown to be better than that. By balanced accuracy, sees tells the classes apart." in said
    alone = text({"no": rows["no"]})
    assert "That is not shown to be better." in alone and "apart" not in alone
    even = text({label: replace(row, majority=0.55) for label, row in rows.items()}, {"no": "a", "sees": "a"})
    assert "balanced" not in even and "not shown to differ from it." in even


@pytest.mark.parametrize("seed", range(200))
def test_any_warnings_and_letters_give_a_sentence(seed):
    rng = random.Random(seed)
    names = [f"m{k}" for k in range(rng.randint(2, 5))]
    phrases = ["asked otherwise", "partly asked otherwise", "constrained to the choices", "scores of other replies"]
    rows = {
        name: replace(ROW, value=rng.random(), warnings=tuple(rng.sample(phrases, rng.randint(0, 2)))) for name in names
    }
    letters = {name: rng.choice(["a", "b", "ab", NOT_COMPARED]) for name in names}
    (found,) = findings({name: [row] for name, row in rows.items()}, [
        Place("four_way", name, 216, rows[name].value, own) for name, own in letters.items()
    ])  # fmt: skip
    assert found.text and (not found.best or found.best in rows)


def test_of_one_class_nothing_is_told_apart():
    one = Score("four_way", "all", "balanced_accuracy", 40, 1.0, 0.91, 1.0)
    said = text({"a": replace(ROW, n=40, value=1.0, low=0.91, high=1.0, chance=0.5, majority=1.0, balanced=one)})
    assert "balanced" not in said and "apart" not in said


@pytest.mark.parametrize(("patients", "named"), [(3, True), (80, False), (0, False)])
def test_few_patients_are_named_where_they_are_why_an_interval_is_wide(patients, named):
    said = text({"a": replace(ROW, n=80, low=0.2, high=0.9, patients=patients)})
    assert ("80 questions of 3 patients are too few" in said) is named
    assert named or "80 questions are too few" in said
