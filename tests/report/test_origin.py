"""Where a row comes from stands where the number stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.types import Reply
from lmod_train.extensions.papers.sections import PublishedScores
from lmod_train.report.origin import origin_of, phantom_tasks, remarks
from lmod_train.report.report import write_report
from lmod_train.report.results import read_outcomes
from lmod_train.report.sections.metrics import Metrics
from lmod_train.report.sections.provenance import Provenance
from lmod_train.report.sections.scores import Scores
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.parsed_replies import parse_replies
from tests.report.make import curate, run, written
from tests.report.shown import shown
from tests.scoring.make import record


def change(folder: Path, **fields: object) -> Path:
    """Give all records of a run other values."""
    file = folder / "predictions.parquet"
    changed = [replace(p, record=replace(p.record, **fields)) for p in read_predictions(file)]
    write_predictions(file, changed)
    return folder


def configure(folder: Path, **values: object) -> Path:
    (folder / "config.yaml").write_text(yaml.safe_dump(values))
    return folder


@pytest.fixture
def tuned(tmp_path: Path) -> Path:
    return run(tmp_path / "tuned", 0.9, curated=curate(tmp_path / "curated"))


def test_weights_code_split_and_leaks_are_told(tuned: Path, tmp_path: Path):
    counts = {"group": {"crossing_splits": 0}, "near": {"crossing_splits": 7}}
    write_json(tmp_path / "curated" / "manifest.json", {"schema_version": 4, "leakage": {"counts": counts}})
    said = {"lmod_train": "0.9", "git": "ab" * 20, "weights": {"base/model.safetensors": "cd" * 32}}
    configure(tuned, data={"curated": str(tmp_path / "curated")}, provenance=said)
    origin = origin_of(read_outcomes(tuned))
    assert origin.weights == "base/model.safetensors cdcdcdcdcdcd" and origin.version == "0.9 abababababab"
    assert origin.leaks == {"group": 0, "near": 7} and origin.phantoms == 0
    assert origin.splits == {"test": 72} and origin.images == "phantoms"  # the name of its source
    (line,) = [line for line in shown(Provenance(), [tuned]).splitlines() if line.startswith("| base")]
    assert "group 0, near 7" in line and "test 72" in line and "no step" in line


@pytest.mark.parametrize("recipe", ["RETFound 2025: label smoothing 0, norm twice", None])
def test_the_recipe_of_retfound_stands_with_the_training(tuned: Path, recipe: str | None):
    known = {"epochs": 100, "trained_on": {"sources": {"a": 3}, **({"recipe": recipe} if recipe else {})}}
    configure(tuned, provenance=known)
    line = shown(Provenance(), [tuned])
    assert origin_of(read_outcomes(tuned)).trained == (f"100 epochs ({recipe})" if recipe else "100 epochs")
    assert (f"100 epochs ({recipe})" in line) == bool(recipe)


def test_what_the_files_do_not_tell_is_said_to_be_so_and_random_weights_are_called_random(tuned: Path):
    (tuned / "config.yaml").unlink()
    origin = origin_of(read_outcomes(tuned))
    assert (origin.weights, origin.version, origin.leaks) == ("not recorded", "not recorded", None)
    configure(tuned, model={"class_path": "x.Y", "init_args": {"weights": "random"}})
    assert origin_of(read_outcomes(tuned)).weights == "random"


def test_phantoms_are_called_so_on_every_surface_and_nothing_published_stands_beside_them(tuned: Path, tmp_path: Path):
    sections = [Scores(), Provenance(), PublishedScores()]
    before = write_report([tuned], tmp_path / "before", sections=sections).read_text()
    assert ">Published</h3>" in before and "drawn, not eyes" not in before
    change(tuned, phantom=True)
    after = write_report([tuned], tmp_path / "after", sections=sections).read_text()
    tables = (tmp_path / "after" / "tables.md").read_text()
    for text in (after, tables):
        assert "phantoms, drawn, not eyes" in text and ">Published</h3>" not in text and "## Published" not in text
    beside = "".join(file.read_text() for file in (tmp_path / "after" / "pages").glob("*.html"))
    assert beside.count("(drawn, not eyes)") >= 72, "at every prediction"
    assert any("drawn, not eyes" in file.read_text() for file in (tmp_path / "after" / "data").glob("*.js"))
    assert phantom_tasks({"x": read_outcomes(tuned)}) == {"four_way", "glaucoma", "anatomy"}


def test_phantoms_among_photographs_are_counted(tuned: Path):
    outcomes = read_outcomes(tuned)
    mixed = [replace(p, record=replace(p.record, phantom=i < 10)) for i, p in enumerate(outcomes.predictions)]
    found = replace(outcomes, predictions=tuple(mixed))
    assert origin_of(found).images == "phantoms: 10 of 72 are phantoms"
    (said,) = remarks({"x": found})
    assert "and of photographs" in said


def test_runs_of_other_records_do_not_stand_side_by_side_without_a_word(tuned: Path, tmp_path: Path):
    other = change(run(tmp_path / "val", 0.5, model="other", n=20), split="val")
    said = remarks({"base": read_outcomes(tuned), "other": read_outcomes(other)})
    assert said[0] == ("four_way: the runs answer different records (base test 24; other val 20; at most 20 in common)")
    assert len(said) == 3 and remarks({"a": read_outcomes(tuned), "b": read_outcomes(tuned)}) == []
    write_report([tuned, other], tmp_path / "out", sections=[Metrics()])
    assert said[0] in (tmp_path / "out" / "tables.md").read_text()


@pytest.mark.parametrize("order", [("eight", "merged"), ("merged", "eight")])
def test_runs_that_score_one_task_over_other_choices_stand_in_one_report(order: tuple[str, str], tmp_path: Path):
    ages = AgeGroup()
    kind = f"{AgeGroup.__module__}.{AgeGroup.__qualname__}"
    asked = [
        record(str(i), f"Age Group: {word}", task=ages.name, choices=ages.choices, group=f"p{i}")
        for i, word in enumerate(ages.choices * 2)
    ]
    asked = [replace(r, task_class=kind, task_version=ages.version) for r in asked]
    replies = {r.id: Reply(r.id, r.answer, model="m") for r in asked}
    for scored_as in order:
        task = AgeGroup(scored_as=scored_as)  # type: ignore[arg-type]
        predictions = parse_replies(task, asked, replies)
        written(tmp_path / scored_as, scored_as, "m", asked, predictions, task.score(predictions))
        chosen = {"class_path": kind, "init_args": {"scored_as": scored_as}}
        configure(tmp_path / scored_as, data={"tasks": [chosen]})
    page = write_report([tmp_path / name for name in order], tmp_path / "out")
    assert page.is_file()
    said = remarks({name: read_outcomes(tmp_path / name) for name in order})
    assert any(f"{ages.name}: the runs have different choices (" in text for text in said)
    alone = remarks({name: read_outcomes(tmp_path / order[0]) for name in "ab"})
    assert not any("different choices" in text for text in alone)


def test_a_task_that_could_ask_more_is_not_of_other_choices(tmp_path: Path):
    """Anatomy of the asked modalities, and of all that it knows: the same questions, with the same options."""
    runs = {name: read_outcomes(run(tmp_path / name, 0.5, n=8)) for name in ("one", "two")}
    wide = replace(runs["two"], choices={**runs["two"].choices, "anatomy": ("optic disc", "optic cup", "iris")})
    assert runs["one"].choices["anatomy"] != wide.choices["anatomy"]
    assert not any("different choices" in text for text in remarks({"one": runs["one"], "two": wide}))
    items = {**wide.items, "anatomy": [replace(item, choices=("iris",)) for item in wide.items["anatomy"]]}
    assert any("different choices" in text for text in remarks({"one": runs["one"], "two": replace(wide, items=items)}))
