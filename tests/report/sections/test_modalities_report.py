"""A model for each modality: its runs in one row, their mean, and the published row beneath."""

import numpy as np
import pytest

from lmod_train.report.report import report
from lmod_train.report.results import read_outcomes
from lmod_train.report.sections.modalities import Modalities, across_modalities
from lmod_train.tasks.run_scores import labels, read_run_scores
from tests.report.make import run
from tests.report.shown import shown


def read(runs):
    figures = read_run_scores(runs)
    names = labels(figures)
    return figures, names, {name: read_outcomes(path).items for name, path in zip(names, runs, strict=True)}


def test_runs_of_one_modality_each_are_one_row_and_their_mean(tmp_path):
    runs = [
        run(tmp_path / m, skill, model="cnn", n=n, modalities=(m,), seed=n)
        for m, skill, n in (("CFP", 0.9, 12), ("OCT", 0.5, 20), ("SLO", 0.7, 8))
    ]
    figures, names, items = read(runs)
    own = {r.task: r for r in across_modalities(figures, names, items)}
    for task, metric in (("anatomy", "f1_lmod_plus"), ("glaucoma", "accuracy_strict")):
        row, scored = own[task], [f.find(task, metric).value for f in figures]
        assert (row.model, row.runs) == ("cnn", 3)
        assert list(row.values.values()) == pytest.approx(scored, abs=1e-6)
        assert row.macro.value == pytest.approx(np.mean(scored), abs=1e-6)
        assert row.macro.low < row.macro.value < row.macro.high
    report(runs, tmp_path / "out", sections=[Modalities()])
    text = (tmp_path / "out" / "tables.md").read_text()
    part = text[text.index("Macro over modalities") :].split("##")[0]
    assert f"{own['anatomy'].macro.value:.3f}" in part
    assert "our classifiers choose among the options of the question" in part
    (printed,) = [line for line in part.splitlines() if "published (LMOD, Table 4" in line]
    assert [c.strip() for c in printed.split("|")[5:-1]] == [
        "0.9586",
        "0.8885",
        "0.9842",
        "0.9492",
        "0.9376",
        "0.9436",
        "-",
    ]


def test_a_run_about_several_modalities_is_a_row_of_its_own(tmp_path):
    figures, names, items = read([run(tmp_path / "one", 0.8, modalities=("CFP", "OCT"))])
    row = next(r for r in across_modalities(figures, names, items) if r.task == "anatomy")
    parts = [figures[0].find("anatomy", "f1_lmod_plus", f"modality={m}").value for m in ("CFP", "OCT")]
    assert row.macro.value == pytest.approx(np.mean(parts), abs=1e-6)


def test_two_runs_of_the_same_modality_are_not_chosen_between(tmp_path):
    plan = {"a": "CFP", "b": "CFP", "c": "OCT"}
    figures, names, items = read([run(tmp_path / k, 0.8, model="cnn", n=8, modalities=(m,)) for k, m in plan.items()])
    row = next(r for r in across_modalities(figures, names, items) if r.task == "anatomy")
    assert row.macro is None and row.values["CFP"] is None and row.values["OCT"] is not None
    assert "several runs" in shown(Modalities(), [f.path for f in figures])


def test_one_modality_alone_has_no_table(three):
    assert shown(Modalities(), three[0]) == ""
