"""Runs with constrained replies stand beside free ones, named, and are compared with them only if a run is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.report.origin import remarks
from lmod_train.report.paired_runs import comparable, joint, letter_display, pairs, pairs_by_subset
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.sections.comparisons import Comparisons
from lmod_train.report.viewer.first_screen import first_screen
from lmod_train.report.warned import warned
from lmod_train.scoring.warnings import CONSTRAINED
from lmod_train.tasks.statements import NOT_COMPARED
from tests.report.make import curate, run

CLOSED = {"four_way", "glaucoma"}


@pytest.fixture
def folders(tmp_path):
    """Two free runs, and two whose replies to questions with choices are constrained."""
    place = curate(tmp_path / "curated")
    skills = {"low": 0.4, "high": 0.8, "forced": 0.95, "bound": 0.6}
    made = {name: run(tmp_path / name, skill, seed=i, curated=place) for i, (name, skill) in enumerate(skills.items())}
    for name in ("forced", "bound"):
        constrain(made[name], CLOSED)
    return made


def constrain(folder, tasks):
    settings = '{"constrain": "choices"}'
    read = read_predictions(folder / "predictions.parquet")
    changed = [replace(p, reply=replace(p.reply, settings=settings)) if p.record.task in tasks else p for p in read]
    write_predictions(folder / "predictions.parquet", changed)


def results(folders, *names):
    return read_results([folders[name] for name in names])


def compared(found, task):
    return {(p.first.partition(" (")[2][:-1], p.second.partition(" (")[2][:-1]) for p in found if p.task == task}


def test_pairs_letters_and_the_best_are_within_one_kind_of_replies(folders):
    tables = comparable(results(folders, "low", "high", "forced", "bound"))
    for found in (pairs(tables), pairs_by_subset(tables)):
        assert compared(found, "glaucoma") <= {("low", "high"), ("forced", "bound")}
    assert compared(pairs(tables), "four_way") == {("low", "high"), ("forced", "bound")}
    assert compared(pairs(tables, "best"), "four_way") == {("high", "low")}, "the best of free replies"
    assert len(compared(pairs(tables), "anatomy")) == 6, "which all runs were asked freely"
    places, _ = letter_display(tables)
    for task in CLOSED:
        apart = {p.run for p in places if p.task == task and p.letters == NOT_COMPARED}
        assert {name.partition(" (")[2] for name in apart} == {"forced)", "bound)"}
    assert {task for task, *_ in joint(tables)} == {"anatomy"}, "of three or more runs"


def test_the_name_of_a_run_is_the_users_word(folders):
    tables = comparable(results(folders, "high", "forced"))
    assert compared(pairs(tables), "glaucoma") == compared(pairs(tables, "best"), "glaucoma") == set()
    (label,) = (label for label in tables["glaucoma"] if "forced" in label)
    assert compared(pairs(tables, label), "glaucoma") == {("forced", "high")}


def test_only_constrained_runs_are_compared_as_any(folders):
    tables = comparable(results(folders, "forced", "bound"))
    assert compared(pairs(tables, "best"), "four_way") == {("forced", "bound")}
    assert not any("not ranked" in line for line in remarks(results(folders, "forced", "bound").outcomes))


def test_rows_remarks_and_the_first_screen_name_them(folders, tmp_path):
    found = results(folders, "high", "forced")
    named = {(path.name, task) for (path, task), own in warned(found).items() if CONSTRAINED in {w.phrase for w in own}}
    assert named == {("forced", task) for task in CLOSED}
    said = " ".join(remarks(found.outcomes))
    assert "(forced): its replies to four_way, glaucoma could only be one of the choices" in said
    assert "four_way, glaucoma: constrained replies and free ones are not ranked or compared" in said
    for one in first_screen(found).findings:
        apart = "Not ranked, as constrained replies are no free ones: " in one.text
        assert apart == (one.task in CLOSED) and "not tested here" not in one.text
        assert one.task not in CLOSED or ("(high)" in one.best and "(forced) 9" not in one.text)
    write_report([folders["high"], folders["forced"]], tmp_path / "report", sections=[Comparisons()])
    page = (tmp_path / "report" / "index.html").read_text()
    assert CONSTRAINED in page and "<code>--model.constrain choices</code>" in page
