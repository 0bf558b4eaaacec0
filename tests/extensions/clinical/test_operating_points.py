from dataclasses import replace

import numpy as np
import pytest

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.series import seed_name
from lmod_train.core.tables import Estimate, Table
from lmod_train.extensions.clinical.operating import NO_FLAG, OperatingPoints
from lmod_train.report.contents import Remark, Text
from lmod_train.report.figures.lines import lines
from lmod_train.report.results import read_results
from tests.report.make import classify
from tests.report.operating import STAGES, evaluate


def parts(*runs):
    found = list(OperatingPoints().parts(read_results(runs)))
    tables = [lines(p) for p in found if isinstance(p, Table)]
    return (tables[0] if tables else []), [p.text for p in found if isinstance(p, Remark)], found


def test_values_are_those_of_a_count_on_test_at_thresholds_of_validation(tmp_path):
    run = evaluate(tmp_path / "ALL", ("train", "val", "test"))
    rows, remarks, _ = parts(run)
    assert len(rows) == 6 and not remarks and {r["class"] for r in rows} == {"GLAUCOMA"}
    assert [r["fixed on validation"] for r in rows[::3]] == ["specificity 0.85", "sensitivity 0.85"]
    items = read_results([run]).outcomes["cnn"].items["glaucoma"]

    def shares(split, threshold):
        own = [i for i in items if i.split == split]
        p = np.array([1 / (1 + np.exp(i.likelihoods["NON-GLAUCOMA"] - i.likelihoods["GLAUCOMA"])) for i in own])
        true = np.array([i.truth == "GLAUCOMA" for i in own])
        flagged = p >= threshold - 1e-12
        return flagged[true].mean(), (~flagged[~true]).mean()

    for row in rows:
        kind, level = row["fixed on validation"].split()
        held = shares("val", row["threshold"])[kind == "specificity"]
        assert held >= float(level), "reached on validation"
        sensitivity, specificity = shares("test", row["threshold"])
        assert (row["sensitivity"].value, row["specificity"].value) == pytest.approx((sensitivity, specificity))
        assert row["sensitivity"].low < sensitivity < row["sensitivity"].high or sensitivity == 1
    counts = [sum(i.truth == c for i in items if i.split == "val") for c in ("GLAUCOMA", "NON-GLAUCOMA")]
    assert {r["chosen on"] for r in rows} == {f"same run: {counts[0]} + {counts[1]}"}


def test_thresholds_stay_as_they_are_if_the_truths_of_test_change(tmp_path):
    own, turned = (parts(evaluate(tmp_path / str(f), ("val", "test"), flip=f))[0] for f in (False, True))
    assert [r["threshold"] for r in own] == [r["threshold"] for r in turned]
    assert [r["sensitivity"].value for r in own] != [r["sensitivity"].value for r in turned]


def test_every_class_of_several_has_its_rows_and_another_run_is_named(tmp_path):
    test = evaluate(tmp_path / "TEST", task=STAGES)
    rows, remarks, _ = parts(test, evaluate(tmp_path / "VAL", ("val",), task=STAGES))
    assert list(dict.fromkeys(r["class"] for r in rows)) == list(STAGES.choices) and len(rows) == 6 * len(
        STAGES.choices
    )
    assert all(r["chosen on"].startswith("cnn (VAL): ") for r in rows) and not remarks
    other = evaluate(tmp_path / "OTHER", ("val",), task=STAGES, weights="b" * 64)
    rows, remarks, _ = parts(test, other)
    assert rows == [] and len(remarks) == 2, "one line for each, and nothing that mixes weights"
    assert "lmod_train validate" in remarks[0] and "lmod_train test" in remarks[1]


def test_of_seeds_the_mean_and_apart_the_deviation_are_shown(tmp_path):
    runs = [
        evaluate(tmp_path / "SERIES" / seed_name(s), ("val", "test"), seed=s, weights=f"{s}" * 64) for s in range(3)
    ]
    rows, _, found = parts(*runs)
    single = [parts(run)[0] for run in runs]
    assert len(rows) == 6 and {r["model"] for r in rows} == {"SERIES"} and {r["seeds"] for r in rows} == {3}
    for row, *own in zip(rows, *single, strict=True):
        for name in ("sensitivity", "specificity"):
            values = [o[name].value for o in own]
            assert row[name].value == pytest.approx(np.mean(values))
            assert row[f"sd of {name} over seeds"] == pytest.approx(np.std(values, ddof=1))
        low, _, high = row["threshold"].partition(" to ")
        assert (low, high) == tuple(f"{f(o['threshold'] for o in own):.3f}" for f in (min, max))
    assert len([p for p in found if isinstance(p, Text)]) == 2
    assert "seeds" not in single[0][0], "a single run has no columns of seeds"


def test_a_threshold_that_flags_none_and_one_that_is_missing_are_shown_as_such(tmp_path, monkeypatch):
    flat = evaluate(tmp_path / "FLAT", ("val", "test"))
    from lmod_train.extensions.clinical import operating as section

    known = section.evaluated

    def alike(results, task):
        for own in known(results, task):
            for item in own.validation[0]:
                item.likelihoods.update({"GLAUCOMA": 0.0, "NON-GLAUCOMA": 0.0})
            yield own

    monkeypatch.setattr(section, "evaluated", alike)
    rows, _, _ = parts(flat)
    assert [r["threshold"] for r in rows] == [NO_FLAG] * 3 + [0.5] * 3
    assert rows[0]["sensitivity"].value == 0 and rows[0]["specificity"].value == 1

    def one_class(results, task):
        for own in known(results, task):
            own.validation[0][:] = [i for i in own.validation[0] if i.truth == "GLAUCOMA"]
            yield own

    monkeypatch.setattr(section, "evaluated", one_class)
    rows, _, _ = parts(flat)
    assert all(r["threshold"] is None and r["sensitivity"] == Estimate(None, n=0) for r in rows)
    assert all(r["chosen on"].endswith(" + 0") for r in rows)


def test_nothing_is_shown_without_likelihoods(tmp_path, compared):
    assert parts(*compared[0])[2] == []
    rows, remarks, _ = parts(classify(tmp_path / "r", 1.0))
    assert rows == [] and len(remarks) == 2, "test records of two tasks, and no validation records"


@pytest.mark.parametrize("seeds", [1, 2, 3])
@pytest.mark.parametrize("only", ["GLAUCOMA", "NON-GLAUCOMA"])
def test_without_test_records_of_one_kind_its_cells_are_empty_and_none_is_nan(tmp_path, seeds, only):
    runs = [
        evaluate(tmp_path / "SERIES" / seed_name(s), ("val", "test"), seed=s, weights=f"{s}" * 64) for s in range(seeds)
    ]
    for run in runs:
        file = run / "predictions.parquet"
        every = read_predictions(file)
        answers = {p.record.id: only if p.record.split == "test" else p.record.answer for p in every}
        write_predictions(file, [replace(p, record=replace(p.record, answer=answers[p.record.id])) for p in every])
    rows, _, _ = parts(*runs)
    lacking, held = ("specificity", "sensitivity")[:: 1 if only == "GLAUCOMA" else -1]
    for row in rows:
        assert row[lacking] == Estimate(None, None, None, 0) and row[held].n == 60
        assert not any(isinstance(cell, float) and np.isnan(cell) for cell in row.values())
        if seeds > 1:
            assert row[f"sd of {lacking} over seeds"] is None and row[f"sd of {held} over seeds"] >= 0
