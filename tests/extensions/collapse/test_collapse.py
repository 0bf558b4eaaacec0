"""The collapse lab with two steps per training, from drawing to the figure, and started again."""

import csv
import json
from dataclasses import replace

import pytest

from lmod_train.cli import main
from lmod_train.extensions.collapse import lab as collapse
from lmod_train.extensions.collapse import lab as starts
from lmod_train.extensions.collapse.lab import (
    ANSWERS,
    CHOOSING,
    RATES,
    STARTS,
    Arm,
    Lab,
    Recipe,
    checkpoints,
    collapse_lab,
)
from tests.extensions.collapse.conftest import N

SHORT = Recipe(steps=2, max_new_tokens=4)


@pytest.fixture(scope="module")
def quick(lab_folder):
    """Return folder and results of trainings of two steps; no test depends on the quality of the replies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts, "BATCH", 4)
        return lab_folder, collapse_lab(lab_folder, 1, SHORT, N, controls=False)


@pytest.mark.slow
def test_both_starts_answer_every_kind_of_question(quick):
    _, results = quick
    outcomes = [o for result in results for o in result.outcomes]
    assert [(o.answers, o.start) for o in outcomes] == [(a, s) for a in ANSWERS for s in ("merged", "delta")]
    assert all(o.n > 0 and o.loss > 0 and (o.lr, o.steps) == (2e-3, 2) for o in outcomes)
    for merged, delta in zip(outcomes[::2], outcomes[1::2], strict=True):
        assert (merged.n, merged.strings) == (delta.n, delta.strings), "the same records are learnt from and asked"
    short, long, varied = (o.strings for o in outcomes[::2])
    assert short == long == 2 < varied
    assert {o.start: o.doctor for o in outcomes} == {"merged": "passes", "delta": "refuses: delta"}


@pytest.mark.slow
def test_the_mean_over_seeds_is_that_of_the_outcomes(quick):
    _, results = quick
    for result in results:
        assert (result.right.n, result.right.value) == (result.outcomes[0].n, pytest.approx(result.outcomes[0].right))


@pytest.mark.slow
def test_finished_trainings_are_reused_unless_the_recipe_differs(quick, monkeypatch):
    out, results = quick

    def twice(*arguments):
        raise AssertionError("trained again")

    monkeypatch.setattr(collapse, "tuned", twice)
    assert collapse_lab(out, 1, SHORT, N, controls=False) == results
    with pytest.raises(AssertionError, match="trained again"):
        collapse_lab(out, 1, replace(SHORT, steps=3), N, controls=False)
    with pytest.raises(AssertionError, match="trained again"):
        collapse_lab(out, 1, replace(SHORT, max_new_tokens=5), N, controls=False)
    with pytest.raises(AssertionError, match="trained again"):
        collapse_lab(out, 2, SHORT, N, controls=False)


@pytest.mark.slow
def test_the_loss_is_the_mean_over_the_last_ten_steps_and_the_loss_of_every_step_is_kept(quick, monkeypatch):
    out, (first, *_) = quick

    def fallen(run, checkpoint, data, seed, recipe):
        _, _ = tuned(run, checkpoint, data, seed, replace(recipe, steps=1))
        return None, [float(step) for step in range(30, 0, -1)]

    tuned = collapse.tuned
    monkeypatch.setattr(collapse, "tuned", fallen)
    lab, arm = Lab(out, out / "curated", checkpoints(out, out / "curated"), 1), replace(first.arm, recipe=Recipe(30))
    ((made,),) = lab.outcomes([arm], [7])
    assert made.loss == 5.5 and made.seed == 7
    assert json.loads((arm.run(out, 7, "test") / "outcome.json").read_text())["losses"] == list(range(30, 0, -1))
    assert lab.result(arm, [made], lab.data("short", 0, "test")).losses == [list(range(30, 0, -1))]


def scripted(best):
    """Return an `outcomes` without trainings: an arm is as right as `best` says of start, answers and rate."""

    def outcomes(self, arms, seeds, split="test"):
        asked.append((split, [*seeds], [*arms]))
        made = collapse.Outcome(0, "merged", "short", 1.0, 2, 8, 2, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, "passes", "")
        return [
            [replace(made, seed=s, start=a.start, answers=a.answers, lr=a.recipe.lr, **best(a)) for s in seeds]
            for a in arms
        ]

    asked = []
    return outcomes, asked


def test_each_start_is_trained_at_the_rate_that_was_best_on_the_validation_split(tmp_path, monkeypatch):
    """The last rate by answers for the delta, the first by the loss for the others; other seeds are reported."""

    def best(arm):
        right = arm.recipe.lr == 8e-3 if arm.start == "delta" else True
        return {"right": float(right), "loss": arm.recipe.lr}

    outcomes, asked = scripted(best)
    monkeypatch.setattr(Lab, "outcomes", outcomes)
    monkeypatch.setattr(Lab, "result", lambda self, arm, own, held: collapse.Result(arm, own, None, []))
    monkeypatch.setattr(Lab, "data", lambda self, answers, seed, split: None)
    monkeypatch.setattr(collapse, "phantoms", lambda out, n: out)
    monkeypatch.setattr(collapse, "checkpoints", lambda out, curated: {})
    results = collapse_lab(tmp_path, 5, Recipe(), N)
    (split, seeds, tried), (reported, own_seeds, arms) = asked
    assert (split, seeds) == ("val", [CHOOSING]) and (reported, own_seeds) == ("test", [1, 2, 3, 4, 5])
    assert len(tried) == len(set(tried)) == len(ANSWERS) * len(STARTS) * len(RATES)
    assert [r.arm for r in results] == arms
    assert arms[:5] == [
        Arm("merged", "short", Recipe(lr=5e-4)),
        Arm("delta", "short", Recipe(lr=8e-3)),
        Arm("delta", "short", Recipe(lr=8e-3, steps=360)),
        Arm("base", "short", Recipe(lr=5e-4)),
        Arm("random", "short", Recipe(lr=5e-4)),
    ]
    assert [a.answers for a in arms] == ["short"] * 5 + ["long"] * 5 + ["varied"] * 5
    rows = list(csv.DictReader((tmp_path / "rates.csv").open(encoding="utf-8-sig")))
    assert len(rows) == len(tried) and {float(r["lr"]) for r in rows} == {5e-4, 2e-3, 8e-3}
    assert len(list(csv.DictReader((tmp_path / "collapse.csv").open(encoding="utf-8-sig")))) == 75


@pytest.mark.slow
def test_the_csv_holds_every_outcome(quick):
    out, results = quick
    rows = list(csv.DictReader((out / "collapse.csv").open(encoding="utf-8-sig")))
    assert len(rows) == 6 and set(rows[0]) == set(collapse.Outcome.__dataclass_fields__)
    assert float(rows[1]["loss"]) == results[1].outcomes[0].loss


@pytest.mark.slow
def test_the_command_draws_what_is_there(quick, capsys):
    out, _ = quick
    arguments = ["--out", str(out), "--steps", "2", "--max_new_tokens", "4", "--n", str(N), "--seeds", "1", "--quick"]
    assert main(["collapse-lab", *arguments]) == 0
    written = (out / "collapse.md").read_text()
    assert "refuses: delta" in written and "What remains" not in written, "without controls nothing is concluded"
    assert (out / "collapse.png").stat().st_size > 10_000
    assert "| delta | long |" in capsys.readouterr().out


def test_zero_seeds_are_refused(tmp_path, capsys):
    assert main(["collapse-lab", "--out", str(tmp_path), "--seeds", "0"]) == 2
    assert "--seeds" in capsys.readouterr().err


@pytest.mark.slow
def test_complete_weights_answer_and_their_delta_shows_both_published_symptoms(tmp_path):
    """The recipe of `--quick`; LMOD printed empty replies to diagnoses, and one repeated token for regions."""
    results = collapse_lab(tmp_path, 1, Recipe(), 160, controls=False, workers=2)
    found = {(r.arm.start, r.arm.answers): r.outcomes[0] for r in results}
    assert found["merged", "varied"].strings >= 50
    for answers in ("short", "long"):
        assert found["merged", answers].right >= 0.9 and found["delta", answers].right <= 0.05
    assert found["delta", "short"].empty >= 0.9
    assert found["delta", "varied"].right < found["merged", "varied"].right
    assert min(found["delta", "long"].repetitive, found["delta", "long"].at_limit) >= 0.9
