"""Thresholds come from validation items of the same weights, and of no others."""

from dataclasses import replace

import pytest
import yaml

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.series import seed_name
from lmod_train.extensions.clinical.chosen_on import evaluated
from lmod_train.report.results import read_results
from lmod_train.scoring.ways import FACTORS, asked_id
from tests.report import operating
from tests.report.make import classify
from tests.report.operating import evaluate


def models(*runs, task="glaucoma"):
    return evaluated(read_results(runs), task)


def test_items_of_the_same_run_are_used_where_it_has_both_splits(tmp_path):
    both = evaluate(tmp_path / "ALL", ("train", "val", "test"), weights="")
    (own,) = models(both)
    assert (own.chosen_on, own.missing, own.shared) == (own.runs, "", 0)
    assert {i.split for i in own.validation[0]} == {"val"} and {i.split for i in own.test[0]} == {"test"}


@pytest.mark.parametrize("order", [1, -1])
def test_another_run_serves_if_its_weights_are_the_same_and_has_no_row_of_its_own(tmp_path, order):
    test, val = evaluate(tmp_path / "TEST"), evaluate(tmp_path / "VAL", ("val",))
    (own,) = models(*[test, val][::order])
    assert own.runs[0].endswith("(TEST)") and own.chosen_on[0].endswith("(VAL)") and not own.missing
    assert len(own.validation[0]) == len(own.test[0]) == 60


@pytest.mark.parametrize(
    "difference",
    [
        {"weights": "b" * 64},
        {"weights": ""},
        {"step": 6},
        {"model": {"class_path": "m", "init_args": {"image_size": 512}}},
        {"folds": 5},
        {"splits": ("train", "val")},
        {"splits": ("train",)},
        {"likelihoods": False},
    ],
    ids=lambda d: next(iter(d)),
)
def test_runs_that_differ_are_never_mixed(tmp_path, difference):
    own = {"model": {"class_path": "m", "init_args": {"image_size": 224}}}
    test = evaluate(tmp_path / "TEST", **own)
    splits = difference.pop("splits", ("val",))
    val = evaluate(tmp_path / "VAL", splits, **{**own, **difference})
    found = {model.runs[0].rpartition("(")[2]: model for model in models(test, val)}
    assert "no validation records of glaucoma" in found["TEST)"].missing and not found["TEST)"].validation
    assert set(found) == ({"TEST)"} if "likelihoods" in difference else {"TEST)", "VAL)"})


def test_two_untrained_models_without_recorded_weights_are_not_taken_for_one(tmp_path):
    test, val = evaluate(tmp_path / "TEST", weights=""), evaluate(tmp_path / "VAL", ("val",), weights="")
    assert len(models(test, val)) == 2 and all(own.missing for own in models(test, val))


def test_the_place_of_a_weights_file_is_no_difference(tmp_path):
    """The same file from another folder, by its content."""
    placed = [{"model": {"init_args": {"weights": f"{folder}/w.pth", "depth": 2}}} for folder in ("/a", "b")]
    test, val = evaluate(tmp_path / "TEST", **placed[0]), evaluate(tmp_path / "VAL", ("val",), **placed[1])
    (own,) = models(test, val)
    assert own.chosen_on


@pytest.mark.parametrize("order", [1, -1])
def test_a_null_and_an_option_that_an_earlier_version_left_out_are_the_same(tmp_path, order):
    stated, left_out = [{"model": {"init_args": {"depth": 2, **more}}} for more in ({"lora": None}, {})][::order]
    test, val = evaluate(tmp_path / "TEST", **stated), evaluate(tmp_path / "VAL", ("val",), **left_out)
    assert [own.missing for own in models(test, val)] == [""]


def test_the_missing_command_is_named_without_folders_of_the_machine(tmp_path):
    (own,) = models(evaluate(tmp_path / "TEST"))
    assert own.missing == (
        "cnn: no validation records of glaucoma with the same weights and settings, on which thresholds are chosen: "
        "`python -m lmod_train validate --config CONFIG --data.curated CURATED --data.split val --run VALIDATION`, "
        "and name that run in `report` too"
    )
    config = tmp_path / "TEST" / "config.yaml"
    for known, shown in (("FIT/checkpoints/best.ckpt",) * 2, ("/srv/ada/FIT/checkpoints/best.ckpt", "best.ckpt")):
        config.write_text(yaml.safe_dump({"weights": known}))
        (own,) = models(tmp_path / "TEST")
        assert f" --ckpt_path {shown} --run" in own.missing and "ada" not in own.missing
    (own,) = models(evaluate(tmp_path / "VAL", ("val",)))
    assert "no test records" in own.missing and "--data.split test --run TEST`" in own.missing


def test_a_series_is_one_model_whose_seeds_have_their_own_validation_items(tmp_path):
    runs = []
    for seed in range(3):
        known = {"weights": f"{seed}" * 64, "seed": seed}
        place = {"checkpoint": f"FIT/seed_{seed}/checkpoints/best.ckpt"}
        runs.append(evaluate(tmp_path / "TEST" / seed_name(seed), **known, **place))
        runs.append(evaluate(tmp_path / "VAL" / seed_name(seed), ("val",), **known))
    (own,) = models(*runs)
    assert own.name == "TEST" and len(own.runs) == 3 and not own.missing
    assert [label.rpartition("seed_")[2] for label in own.runs] == [
        source.rpartition("seed_")[2] for source in own.chosen_on
    ]
    assert all("TEST" in run and "VAL" in source for run, source in zip(own.runs, own.chosen_on, strict=True))
    names = {model.name: model for model in models(*runs[:-1])}
    assert "--seeds 2 --ckpt_path FIT/checkpoints/best.ckpt --run" in names["TEST"].missing
    assert not names["TEST"].validation, "no mean over a part of the seeds"


@pytest.mark.parametrize("known", [{"folds": 5}, {"step": [5, 6]}], ids=str)
def test_pooled_folds_and_replies_of_several_checkpoints_have_no_common_threshold(tmp_path, known):
    (own,) = models(evaluate(tmp_path / "CV", ("val", "test"), **known))
    assert "several models" in own.missing and not own.validation


def test_patients_in_both_splits_are_counted(tmp_path, monkeypatch):
    known = operating.record
    monkeypatch.setattr(operating, "record", lambda *a, group, **kw: known(*a, group=group.lstrip("abelstv"), **kw))
    (own,) = models(evaluate(tmp_path / "ALL", ("val", "test"), n=20))
    assert own.shared == 10


def test_runs_without_likelihoods_are_no_models(tmp_path):
    assert models(evaluate(tmp_path / "TEST", ("val", "test"), likelihoods=False)) == []
    assert models(classify(tmp_path / "r", 1.0), task="unknown") == []


def in_way(run, tags):
    """The same run with its questions asked in another way."""
    file, predictions = run / "predictions.parquet", []
    for p in read_predictions(file):
        record = replace(p.record, id=asked_id(p.record.id, tags), tags=tags)
        predictions.append(replace(p, record=record, reply=replace(p.reply, id=record.id)))
    write_predictions(file, predictions)
    return run


PAIRS = [("2", "3"), ("2", ""), ("", "2"), ("2", "2")]
WAYS = [(factor, *pair) for factor in FACTORS for pair in PAIRS]
"""Factor of asking, its value in the test run and in the validation run; empty for a run without."""


def is_quick(factor, test, val):
    """Every pair of one factor and of the one that changes nothing, and a pair that differs of each other one."""
    return factor in (FACTORS[0], "repeat") or (test, val) == PAIRS[0]


@pytest.mark.parametrize(
    ("factor", "test", "val"), [pytest.param(*w, marks=[] if is_quick(*w) else pytest.mark.slow) for w in WAYS]
)
def test_validation_items_asked_in_another_way_serve_no_test_items(tmp_path, factor, test, val):
    runs = [
        in_way(evaluate(tmp_path / split, (split,)), {factor: way} if way else {})
        for split, way in (("test", test), ("val", val))
    ]
    found = {own.runs[0].rpartition("(")[2]: own for own in models(*runs)}
    same = test == val or factor == "repeat"
    assert bool(found["test)"].validation) == same
    assert len(found) == 1 + (not same)


@pytest.mark.parametrize("kind", ["none", "another", "foreign", "options"])
def test_probes_have_no_thresholds(tmp_path, kind):
    results = read_results([evaluate(tmp_path / "ALL", ("val", "test"))])
    ((name, own),) = results.outcomes.items()
    probe = "glaucoma_probe"
    items = {probe: [replace(item, variant=kind) for item in own.items["glaucoma"]]}
    predictions = tuple(replace(p, record=replace(p.record, task=probe, variant=kind)) for p in own.predictions)
    probed = replace(own, predictions=predictions, items=items, choices={probe: own.choices["glaucoma"]})
    runs = tuple(replace(run, scores=tuple(replace(s, task=probe) for s in run.scores)) for run in results.runs)
    assert evaluated(replace(results, runs=runs, outcomes={name: probed}), probe) == []


@pytest.mark.parametrize("shared", [0, 1, 30, 60])
def test_records_of_the_test_run_choose_no_threshold_as_validation_records_of_another_split(tmp_path, shared):
    """A second curated folder may split the same records in another way."""
    test, val = evaluate(tmp_path / "TEST"), evaluate(tmp_path / "VAL", ("val",))
    file = val / "predictions.parquet"
    ids = [p.record.id for p in read_predictions(test / "predictions.parquet")][:shared]
    every = read_predictions(file)
    named = [
        replace(p, record=replace(p.record, id=id), reply=replace(p.reply, id=id))
        for p, id in zip(every, ids, strict=False)
    ]
    write_predictions(file, [*named, *every[shared:]])
    found = {own.runs[0].rpartition("(")[2]: own for own in models(test, val)}
    assert bool(found["TEST)"].validation) == (shared == 0)
