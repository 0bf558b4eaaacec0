import shutil
from dataclasses import replace

import numpy as np
import pytest

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.series import seed_name
from lmod_train.core.tables import Table
from lmod_train.extensions.clinical.decision import FEW, TREAT_ALL, DecisionCurves
from lmod_train.extensions.clinical.operating import OperatingPoints
from lmod_train.report.contents import Figure, Remark, Text
from lmod_train.report.figures.lines import lines
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.section import shipped_sections
from tests.report.operating import STAGES, evaluate


def parts(*runs):
    found = list(DecisionCurves().parts(read_results(runs)))
    tables = [lines(p) for p in found if isinstance(p, Table)]
    return (tables[0] if tables else []), [p for p in found if isinstance(p, Figure)], found


def test_values_are_counted_on_test_records_alone(tmp_path):
    run = evaluate(tmp_path / "ALL", ("train", "val", "test"))
    rows, (figure,), _ = parts(run)
    items = [i for i in read_results([run]).outcomes["cnn"].items["glaucoma"] if i.split == "test"]
    p = np.array([1 / (1 + np.exp(i.likelihoods["NON-GLAUCOMA"] - i.likelihoods["GLAUCOMA"])) for i in items])
    true = np.array([i.truth == "GLAUCOMA" for i in items])
    assert [r["threshold"] for r in rows] == [0.1, 0.2, 0.3, 0.5] and {r["records"] for r in rows} == {"test 60"}
    drawn = {(r["model"], r["threshold"]): r for r in lines(figure.table)}
    for row in rows:
        t = row["threshold"]
        value = np.mean(true & (p >= t)) - np.mean(~true & (p >= t)) * t / (1 - t)
        of_all = true.mean() - (~true).mean() * t / (1 - t)
        assert (row["net benefit"], row["treat all"]) == pytest.approx((value, of_all))
        assert row["minus treat all"] == pytest.approx(value - of_all) and row["n"] == 60
        assert drawn["cnn", t]["net benefit"] == pytest.approx(value)
        assert drawn["cnn", t]["95 % interval"] == row["95 % interval"]
        assert drawn[TREAT_ALL, t]["net benefit"] == pytest.approx(of_all)


def test_the_calibration_error_stands_beside_it_and_what_distorts_it_is_named(tmp_path):
    model = {"init_args": {"label_smoothing": 0.1, "class_weights": "inverse"}}
    run = evaluate(tmp_path / "TEST", model=model, data={"balance": "class"})
    rows, _, found = parts(run)
    error = read_results([run]).runs[0].find("glaucoma", "ece").value
    assert [r["ECE"] for r in rows] == pytest.approx([error] * 4, abs=1e-6) and error > 0.01
    (remark,) = [p.text for p in found if isinstance(p, Remark)]
    assert "label smoothing 0.1, class weights inverse, balanced drawing by class" in remark
    plain = evaluate(tmp_path / "PLAIN", model={"init_args": {"label_smoothing": 0.0, "class_weights": "none"}})
    assert not [p for p in parts(plain)[2] if isinstance(p, Remark)]


def test_a_series_is_one_row_with_its_deviation(tmp_path):
    runs = [evaluate(tmp_path / "S" / seed_name(s), ("val", "test"), seed=s, weights=f"{s}" * 64) for s in range(3)]
    rows, (figure,), _ = parts(*runs)
    single = [parts(run)[0] for run in runs]
    for row, *own in zip(rows, *single, strict=True):
        values = [o["net benefit"] for o in own]
        assert (row["model"], row["seeds"], row["n"]) == ("S", 3, 60)
        assert row["net benefit"] == pytest.approx(np.mean(values))
        assert row["sd of net benefit over seeds"] == pytest.approx(np.std(values, ddof=1))
        assert row["ECE"] == pytest.approx(np.mean([o["ECE"] for o in own]))
        line = [r for r in lines(figure.table) if r["model"] == "S" and r["threshold"] == row["threshold"]]
        assert line[0]["net benefit"] == pytest.approx(row["net benefit"])


def test_runs_that_only_serve_as_validation_have_no_curve_and_other_ones_have(tmp_path):
    test, val = evaluate(tmp_path / "TEST"), evaluate(tmp_path / "VAL", ("val",))
    assert {(r["model"], r["records"]) for r in parts(test, val)[0]} == {("cnn (TEST)", "test 60")}
    assert {(r["model"], r["records"]) for r in parts(val)[0]} == {("cnn", "val 60")}


def test_each_class_has_a_panel_and_other_records_their_own_line_of_treating_all(tmp_path):
    runs = [evaluate(tmp_path / "A", task=STAGES), evaluate(tmp_path / "B", task=STAGES, n=35, weights="b" * 64)]
    _, figures, _ = parts(*runs)
    classes = list(dict.fromkeys(r["class"] for f in figures for r in lines(f.table)))
    assert classes == list(STAGES.choices)
    defaults = {r["model"] for r in lines(figures[0].table) if r["model"].startswith(TREAT_ALL)}
    assert defaults == {f"{TREAT_ALL}, records of cnn (A)", f"{TREAT_ALL}, records of cnn (B)"}


def test_more_than_six_models_have_a_table_alone_and_runs_without_likelihoods_nothing(tmp_path, compared):
    own = evaluate(tmp_path / "r0")
    runs = [own, *(shutil.copytree(own, tmp_path / f"r{i}") for i in range(1, MOST + 1))]
    rows, figures, found = parts(*runs)
    assert len(rows) == 4 * (MOST + 1) and not figures and Text(FEW.format(MOST)) in found
    assert parts(*compared[0])[2] == []


def test_both_sections_are_in_the_default_report(tmp_path):
    both = [section for section in shipped_sections() if isinstance(section, OperatingPoints | DecisionCurves)]
    write_report([evaluate(tmp_path / "ALL", ("val", "test"))], tmp_path / "out", sections=both)
    text = (tmp_path / "out" / "tables.md").read_text()
    assert text.index("## Operating points") < text.index("## Decision curves")
    assert (tmp_path / "out" / "figures" / "decision-glaucoma.png").exists()
    assert (tmp_path / "out" / "tables" / "operating_points.csv").exists()


@pytest.mark.parametrize("seeds", [1, 2, 3])
@pytest.mark.parametrize("lacking", [1, 60])
def test_a_model_without_common_records_is_named_and_not_dropped_silently(tmp_path, seeds, lacking):
    runs = [evaluate(tmp_path / "S" / seed_name(s), ("val", "test"), seed=s, weights=f"{s}" * 64) for s in range(seeds)]
    file = runs[-1] / "predictions.parquet"
    every = read_predictions(file)
    cut = {p.record.id for p in [p for p in every if p.record.split == "test"][:lacking]}
    cleared = [replace(p, reply=replace(p.reply, likelihoods={})) if p.record.id in cut else p for p in every]
    write_predictions(file, cleared)
    rows, _, found = parts(*runs)
    remarks = [p.text for p in found if isinstance(p, Remark)]
    if seeds == 1 and lacking == 1:
        assert rows and not remarks
    else:
        (remark,) = remarks
        assert not rows and "no net benefit of glaucoma" in remark
