"""The printed figures: as the papers have them, beside the tasks they belong to, and never taken for ours."""

from pathlib import Path

import numpy as np
import pytest

from lmod_train.core.types import Score
from lmod_train.extensions.papers.printed import published
from lmod_train.extensions.papers.sections import PublishedScores
from lmod_train.report.published import published_beside
from lmod_train.report.report import write_report
from lmod_train.report.results import Results
from lmod_train.report.sections.scores import Scores
from lmod_train.scoring.classification import retfound_measures
from lmod_train.tasks.run_scores import RunScores
from tests.tabled import stored


def run(*tasks, chance=0.5):
    scores = [Score(t, "all", m, 9, v) for t in tasks for m, v in (("accuracy_strict", 0.4), ("chance", chance))]
    return Results((RunScores(Path("r"), "r", "base", tuple(scores)),), {}, {})


def of(task, model):
    return [p for p in published() if p.task == task and p.model.startswith(model)]


@pytest.mark.parametrize(
    ("task", "model", "values"),
    stored(__file__, "scores.values_as_printed"),
)
def test_values_as_printed(task, model, values):
    assert [p.value for p in of(task, model)] == list(values)


def test_the_macro_figure_is_the_mean_of_the_five():
    macro, *five = of("anatomy", "CNN")
    assert macro.modality == "macro" and macro.value == pytest.approx(sum(p.value for p in five) / 5, abs=5e-5)
    assert [p.modality for p in five] == ["SS", "OCT", "SLO", "LP", "CFP"]


def test_every_row_names_its_place_and_one_of_our_figures():
    for p in published():
        assert 0 <= p.value <= 1 and "Table" in p.where
        ours = ("accuracy_strict", "accuracy_answered", "f1_lmod_plus", "retfound_accuracy")
        assert p.ours in (("",) if p.kind == "error type" else ours)


def test_the_retfound_accuracy_of_several_stages_stands_beside_what_its_program_prints():
    ((two,), (four,)) = (of(task, "RETFound") for task in ("glaucoma", "macular_hole_stage"))
    truths, answers = np.array([0, 1, 2, 3, 1, 2]), np.array([0, 1, 3, 3, 1, 0])
    assert retfound_measures(truths, np.eye(4)[answers])["retfound_accuracy"] > (truths == answers).mean()
    assert four.ours == "retfound_accuracy" and "no paper says which" in four.note
    truths, answers = truths % 2, answers % 2
    assert retfound_measures(truths, np.eye(2)[answers])["retfound_accuracy"] == (truths == answers).mean()
    assert two.ours == "accuracy_strict" and "two classes" in two.note


def test_a_test_split_of_five_percent_cannot_give_the_printed_share_of_right_answers_nor_the_other():
    (four,) = of("macular_hole_stage", "RETFound")
    for n in range(188, 199):
        for errors, of_how_many in ((n, n), (2 * n, 3 * n)):
            assert four.value not in {round(1 - wrong / of_how_many, 4) for wrong in range(errors + 1)}


def test_one_number_for_each_of_the_24_places():
    assert [(p.task, p.model, p.printed) for p in published() if p.kind == "zero-shot"] == [
        ("anatomy", "GPT-4o (best)", "0.5761"),
        ("anatomy", "median of 23 models", "0.1764"),
        ("glaucoma", "GPT-4o (best)", "0.5409"),
        ("glaucoma", "median of 13 models", "0.5000"),
        ("macular_hole_stage", "InternVL-2B (best)", "0.3026"),
        ("macular_hole_stage", "median of 13 models", "0.1971"),
        ("conditions", "Qwen-7B (best)", "0.5826"),
        ("conditions", "median of 21 models", "0.5131"),
        ("four_way", "LLaVA-Med-v1.5-mistral-7B (best)", "0.3626"),
        ("four_way", "median of 22 models", "0.2601"),
        ("sex", "LLaVA-1.5-7B (best)", "0.5105"),
        ("sex", "median of 21 models", "0.5000"),
        ("age_group", "Qwen-VL-Chat (best)", "0.3457"),
        ("age_group", "median of 22 models", "0.2510"),
        ("age_group", "LLaVA-v1.6-13B (best)", "0.2236"),
        ("age_group", "median of 13 models", "0.1250"),
    ]
    assert len([p for p in published() if p.kind != "error type"]) == 24


def test_only_what_belongs_to_the_tasks_asked_stands_beside_them():
    assert {p.task for p in published_beside(run("glaucoma", "four_way"))} == {"glaucoma", "four_way"}
    assert published_beside(run("icdr")) == []
    assert all(p.modality in ("", "macro") for p in published_beside(run("anatomy")))


def test_error_types_are_asked_for():
    cnn = published_beside(run("anatomy"), kind="supervised")
    assert [p.modality for p in cnn] == ["macro"]
    assert {p.metric for p in cnn} == {"F1 (LMOD), accuracy (LMOD+)"}
    assert [p.metric for p in published_beside(run("glaucoma"), kind="supervised")] == ["accuracy"]
    shares = {p.metric: p.value for p in published_beside(run("glaucoma"), kind="error type")}
    assert shares == {
        "misinterpreted visual features": 0.5,
        "inconsistent reasoning": 0.21,
        "absent visual processing": 0.15,
        "text generation failure": 0.08,
        "medical knowledge error": 0.06,
    }
    assert published_beside(run("anatomy"), kind="error type") == []


@pytest.mark.parametrize(("chance", "first"), [(0.25, "Qwen-VL-Chat"), (0.125, "LLaVA-v1.6-13B")])
def test_age_groups_by_how_many_they_are(chance, first):
    found = published_beside(run("age_group", chance=chance))
    assert len(found) == 2 and found[0].model.startswith(first)


def test_it_is_said_that_they_are_not_ours(compared, tmp_path):
    write_report(compared[0], tmp_path, keep_names=["phantoms"], sections=[Scores(), PublishedScores()])
    page, tables = ((tmp_path / name).read_text() for name in ("index.html", "tables.md"))
    assert "None was measured here" in tables and "None was measured here" in page
    (row,) = [line for line in tables.splitlines() if "| macro F1 (LMOD)" in line]
    (shown,) = [line for line in page.splitlines() if "macro F1 (LMOD)" in line]
    for place in (row, shown.replace("&#39;", "'")):
        assert "CNN" in place and "0.9436" in place and "ours answers among the record's own options" in place
