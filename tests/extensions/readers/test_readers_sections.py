"""Readers in a report: known answers, and every number recomputed by hand or by another library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.tables import Table
from lmod_train.extensions.readers.sections import Readers, panels_of
from lmod_train.report.contents import Remark
from lmod_train.report.results import Results, read_results
from lmod_train.report.sections.provenance import Provenance
from tests.report.make import run
from tests.report.shown import shown

SKILLS = {"ada": 0.9, "bo": 0.7, "cy": 0.8}


def person(folder: Path, name: str, skill: float, seed: int) -> Path:
    run(folder, skill, model=name, seed=seed)
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump({"reader": name}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("readers")
    people = [person(root / name, name, skill, seed) for seed, (name, skill) in enumerate(SKILLS.items())]
    return [*people, run(root / "model", 0.6, seed=9)]


@pytest.fixture(scope="module")
def results(folders: list[Path]) -> Results:
    return read_results(folders)


def rows(results: Results, name: str) -> list[tuple]:
    return [
        row for part in Readers().parts(results) if isinstance(part, Table) and part.name == name for row in part.rows
    ]


def right(results: Results, name: str, task: str) -> np.ndarray:
    return np.array([item.answer == item.truth for item in results.items[name][task]], dtype=float)


def test_each_reader_and_their_mean_have_a_row(results: Results):
    found = {row[1]: row for row in rows(results, "readers") if row[0] == "glaucoma"}
    each = {name: right(results, name, "glaucoma").mean() for name in SKILLS}
    assert [*found] == [*SKILLS, "mean of 3 readers"]
    assert all(found[name][2:4] == (24, pytest.approx(each[name])) for name in SKILLS)
    mean = found["mean of 3 readers"]
    assert mean[3] == pytest.approx(np.mean(list(each.values())))
    assert mean[4][0] < mean[3] < mean[4][1]


def test_a_model_stands_against_the_mean_reader(results: Results):
    (row,) = [row for row in rows(results, "readers_models") if row[0] == "four_way"]
    each = [right(results, name, "four_way").mean() for name in SKILLS]
    model = right(results, "base", "four_way").mean()
    assert row[:3] == ("four_way", "base", 3) and row[3] == 24
    assert row[4:7] == tuple(map(pytest.approx, (model, np.mean(each), model - np.mean(each))))
    assert row[7][0] < row[6] < row[7][1] and row[8] == sum(one > model for one in each)


def test_agreement_is_that_of_other_libraries(results: Results):
    found = [row for row in rows(results, "readers_agreement") if row[0] == "four_way"]
    labels = {name: [_word(item) for item in results.items[name]["four_way"]] for name in SKILLS}
    assert [row[1:3] for row in found] == [("ada", "bo"), ("ada", "cy"), ("bo", "cy"), ("all readers", "")]
    assert found[0][4] == pytest.approx(np.mean([a == b for a, b in zip(labels["ada"], labels["bo"], strict=True)]))
    assert found[0][6] == pytest.approx(cohen_kappa_score(labels["ada"], labels["bo"]))
    table, _ = aggregate_raters(np.array([labels[name] for name in SKILLS]).T)
    assert found[3][6] == pytest.approx(fleiss_kappa(table))


def _word(item) -> str:
    return item.answer if isinstance(item.answer, str) else "none"


def test_regions_are_compared_one_by_one(results: Results):
    (row, *_) = [row for row in rows(results, "readers_agreement") if row[0] == "anatomy"]
    assert row[3] == 48, "two regions of each of 24 images"


def test_only_records_that_all_readers_answered_count_and_the_others_are_named(folders: list[Path], tmp_path: Path):
    short = person(tmp_path / "dee", "dee", 0.9, 7)
    every = read_predictions(short / "predictions.parquet")
    left = {p.record.id for p in every if p.record.task == "glaucoma"}
    gone = set(sorted(left)[:4])
    write_predictions(short / "predictions.parquet", [p for p in every if p.record.id not in gone])
    results = read_results([*folders, short])
    assert {row[2] for row in rows(results, "readers") if row[0] == "glaucoma"} == {20}
    (remark,) = [part.text for part in Readers().parts(results) if isinstance(part, Remark)]
    assert remark.startswith("glaucoma: ") and "(ada 4, bo 4, cy 4)" in remark


def test_one_reader_has_neither_mean_nor_agreement(folders: list[Path]):
    results = read_results([folders[0], folders[3]])
    assert {row[1] for row in rows(results, "readers")} == {"ada"}
    assert len(rows(results, "readers_models")) == 3 and not rows(results, "readers_agreement")


def test_without_readers_the_section_is_absent_and_without_models_its_table(folders: list[Path]):
    assert list(Readers().parts(read_results(folders[3:]))) == []
    assert not rows(read_results(folders[:3]), "readers_models")


def test_readers_without_common_questions_are_no_panel(results: Results):
    items = results.items["ada"]["glaucoma"]
    apart = {"a": {"glaucoma": items[:3]}, "b": {"glaucoma": items[3:]}}
    assert list(panels_of(apart, ["a", "b"])) == []


def test_the_weights_of_a_reader_are_a_person(folders: list[Path]):
    lines = shown(Provenance(), folders).splitlines()[2:]
    assert [line.split("|")[2].strip() for line in lines] == ["a person"] * 3 + ["not recorded"]
