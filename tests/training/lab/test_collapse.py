"""The collapse lab with two steps per training, from drawing to the figure, and started again."""

import csv
import json
import shutil
from dataclasses import replace

import pytest

from lmod_train.cli import main
from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.delta import mean_gain
from lmod_train.training.lab import collapse
from lmod_train.training.lab.collapse import ANSWERS, STARTS, Outcome, Recipe, collapse_lab

N = 24
"""Phantoms per source; with 16 all eight training phantoms happened to have their two regions in the same order."""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Return folder and outcomes of trainings of one or two steps; no test depends on the quality of the replies."""
    out = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lmod_train.training.lab.collapse.START", Recipe(steps=1))
        collapse._starts(out, collapse._data(out, N))
        patch.setattr("lmod_train.training.lab.collapse.BATCH", 4)
        return out, collapse_lab(out, 1, Recipe(steps=2, max_new_tokens=4), N)


def test_both_starts_answer_every_kind_of_question(lab):
    _, outcomes = lab
    assert [(o.answers, o.start) for o in outcomes] == [(a, s) for a in ANSWERS for s in STARTS]
    assert all(o.n > 0 and o.loss > 0 for o in outcomes)
    for merged, delta in zip(outcomes[::2], outcomes[1::2], strict=True):
        assert (merged.n, merged.strings) == (delta.n, delta.strings), "the same records are learnt from and asked"
    short, long, varied = (o.strings for o in outcomes[::2])
    assert short == long == 2 < varied


def test_the_doctor_passes_the_whole_weights_and_refuses_the_delta(lab):
    _, outcomes = lab
    verdicts = {o.start: o.doctor for o in outcomes}
    assert verdicts == {"merged": "passes", "delta": "refuses: delta"}


def test_the_delta_has_small_norm_gains_and_the_merged_weights_do_not(lab):
    out, _ = lab
    assert mean_gain(out / "weights" / "merged") > 0.2 and abs(mean_gain(out / "weights" / "small-delta")) < 0.05


def test_finished_trainings_are_reused_unless_the_recipe_differs(lab, monkeypatch):
    out, outcomes = lab

    def twice(*arguments):
        raise AssertionError("trained again")

    monkeypatch.setattr("lmod_train.training.lab.collapse._tuned", twice)
    assert collapse_lab(out, 1, Recipe(steps=2, max_new_tokens=4), N) == outcomes
    with pytest.raises(AssertionError, match="trained again"):
        collapse_lab(out, 1, Recipe(steps=3, max_new_tokens=4), N)


def test_the_loss_is_the_mean_over_the_last_ten_steps_and_the_loss_of_every_step_is_kept(lab, tmp_path, monkeypatch):
    out, (first, *_) = lab
    run = shutil.copytree(out / "runs" / "merged-short-0", tmp_path / "run")
    (run / "outcome.json").unlink()

    def tuned(run, checkpoint, data, seed, recipe):
        data.setup("fit")
        return None, [float(step) for step in range(30, 0, -1)]

    monkeypatch.setattr(collapse, "_tuned", tuned)
    weights, recipe = out / "weights" / "merged", Recipe(steps=30, max_new_tokens=4)
    made = collapse._outcome(run, weights, out / "curated", "merged", "short", 0, recipe, lambda: first.doctor)
    assert made.loss == 5.5
    assert replace(made, loss=first.loss, seconds=first.seconds) == first, "the rest is of the replies"
    assert json.loads((run / "outcome.json").read_text())["losses"] == list(range(30, 0, -1))


def test_the_csv_holds_every_outcome(lab):
    out, outcomes = lab
    rows = list(csv.DictReader((out / "collapse.csv").open(encoding="utf-8")))
    assert len(rows) == 6 and set(rows[0]) == set(Outcome.__dataclass_fields__)
    assert float(rows[1]["loss"]) == outcomes[1].loss


def test_the_command_draws_what_is_there(lab, capsys):
    out, _ = lab
    arguments = ["--out", str(out), "--steps", "2", "--max_new_tokens", "4", "--n", str(N)]
    assert main(["collapse-lab", *arguments]) == 0
    assert "refuses: delta" in (out / "collapse.md").read_text() and (out / "collapse.png").stat().st_size > 10_000
    assert "| delta | long |" in capsys.readouterr().out


def test_zero_seeds_are_refused(tmp_path, capsys):
    assert main(["collapse-lab", "--out", str(tmp_path), "--seeds", "0"]) == 2
    assert "--seeds" in capsys.readouterr().err


def test_a_folder_made_with_another_number_of_phantoms_is_refused(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "drawn").write_text("16")
    with pytest.raises(BadArgument, match="16, with which"):
        collapse_lab(tmp_path, 1, Recipe(), 32)


@pytest.mark.slow
def test_complete_weights_answer_and_their_delta_shows_both_published_symptoms(tmp_path):
    """The command's default recipe; LMOD printed empty replies to diagnoses, and one repeated token for regions."""
    found = {(o.start, o.answers): o for o in collapse_lab(tmp_path, 1, Recipe(), 160)}
    assert found["merged", "varied"].strings >= 50
    for answers in ("short", "long"):
        assert found["merged", answers].right >= 0.9 and found["delta", answers].right <= 0.05
    assert found["delta", "short"].empty >= 0.9
    assert found["delta", "varied"].right < found["merged", "varied"].right
    assert min(found["delta", "long"].repetitive, found["delta", "long"].at_limit) >= 0.9
