"""The files of a paper: their numbers are counted again from the records, and what is missing is told."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.predictions import read_predictions, write_predictions
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.csv_files import write_csv
from lmod_train.core.tables import Table
from lmod_train.core.types import Message, Part, Patient
from lmod_train.extensions.manuscript.characteristics import MARK, characteristics
from lmod_train.extensions.manuscript.checklists import checklists, facts_of
from lmod_train.extensions.manuscript.cohort import Photograph, asked_questions, class_of, classes_of, photographs
from lmod_train.extensions.manuscript.flow import asked_rows, flow, read_rows
from lmod_train.extensions.manuscript.main_table import main_table
from lmod_train.extensions.manuscript.sections import ForPaper
from lmod_train.report.contents import Figure, Remark
from lmod_train.report.results import read_results
from lmod_train.report.section import contents
from lmod_train.report.writers.latex import write_latex
from tests.report.make import curate, many, records, run
from tests.typeset import typeset

DROPS = ("source", "key", "file", "step", "reason", "extent", "detail")


def person(i):
    """Of every third image no age, of every fourth no side; two images are of a patient."""
    age = None if i % 3 == 0 else 30.0 + i
    return Patient(age, ("male", "female", None)[i // 2 % 3], None if i % 4 == 0 else ("left", "right")[i % 2])


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    """Eight models of nine tasks, and their curated folder, of which three files were left out and one used in part."""
    runs, curated = many(tmp_path_factory.mktemp("eight"), n=24, patient=person)
    manifest = json.loads((curated / "manifest.json").read_text(encoding="utf-8"))
    manifest["sources"]["phantoms"] |= {"samples": 30}
    write_json(curated / "manifest.json", manifest)
    drops = [("phantoms", str(i), f"{i}.jpg", "read", "image_unreadable", "gone", "") for i in range(3)]
    drops += [("phantoms", "9", "9.jpg", "read", "missing mask", "part", "")]
    write_csv(curated / "dropped.csv", DROPS, drops)
    return runs, curated


def told(parts, name):
    return next(part for part in parts if getattr(part, "name", "") == name)


def test_characteristics_are_those_counted_from_the_records(eight):
    _, curated = eight
    read = read_records(curated / "records")
    images = photographs(asked_questions(read, ()))
    assert not any(i.patient or i.eye for i in photographs(asked_questions(read, {"phantoms"}))), "it states none"
    shown = characteristics(
        "t", images, {i.name for i in images[:9]}, classes_of(asked_questions(read, ())), set(), True, {}
    )
    assert [column.head for column in shown.columns] == ["characteristic", "test", "all", "asked"]
    cells = {row[0]: row[2] for row in shown.rows}
    people = {i: person(i) for i in range(24)}
    assert cells["Patients"] == "12" and cells["Images"] == "24 / 12"
    assert cells["Eyes"] == str(len({(i // 2, p.laterality) for i, p in people.items() if p.laterality}))
    unknown = [i for i, p in people.items() if not p.laterality]
    assert cells["Images of unknown eye"] == f"{len(unknown)} (25 %) / {len({i // 2 for i in unknown})}"
    ages = {n: [people[i].age for i in (2 * n, 2 * n + 1) if people[i].age is not None] for n in range(12)}
    assert "Age not stated" not in cells and all(ages.values()), "of each patient one image states it"
    assert [cells[f"Sex {sex}"] for sex in ("female", "male")] == [f"4{MARK} (33 %)"] * 2
    assert cells["Sex not stated"] == f"4{MARK} (33 %)" and "fewer than 5 patients" in shown.note
    assert cells["Glaucoma: GLAUCOMA"] == "12 (50 %) / 12"
    assert not [row for row in shown.rows if str(row[0]).startswith("Anatomy:")], "regions are no classes"
    assert shown.rows[0][3] == "5" and cells["Four-way diagnosis: normal"].startswith("6 (25 %)")


def image(name, source="a", split="test", patient="", **of):
    return Photograph(name, source, split, patient, Patient(**of), {})


def test_what_is_missing_is_counted_for_each_source_and_no_patient_is_made_up():
    every = [image("1", "a", "train", "a/p", age=50.0, sex="male", laterality="left")]
    every += [image("2", "a", "test", "a/p", age=40.0, sex="female"), image("3", "b"), image("4", "b", age=70.0)]
    every[0].labels["q_47b4d0"] = "是"
    asked = {"q_47b4d0": "眼压偏高吗?"}
    shown = characteristics("t", every, {"3"}, {"q_47b4d0": ["是"]}, {"b"}, True, asked)
    assert [c.head for c in shown.columns] == ["characteristic", "training", "test", "all", "asked"]
    blocks = [n for n, row in enumerate(shown.rows) if set(row[1:]) == {""}]
    assert [shown.rows[n][0] for n in blocks] == ["All sources", "a", "b"]
    of_a, of_b = ({r[0]: r[3] for r in shown.rows[blocks[n] + 1 : (*blocks, None)[n + 1]]} for n in (1, 2))
    assert of_a["Patients"] == f"1{MARK}" and of_a["Sex stated in two ways"] == f"1{MARK} (100 %)"
    assert of_a["Age, median (quartiles)"] == "40 (40-40)" and of_a["Images of unknown eye"] == f"1 (50 %) / 1{MARK}"
    assert of_a["眼压偏高吗: 是"] == f"1 (50 %) / 1{MARK}" and of_a["眼压偏高吗: not asked"] == f"1 (50 %) / 1{MARK}"
    assert of_b["Patients"] is None and of_b["Images of no stated patient"] == "2 (100 %) / -"
    assert of_b["Age not stated"] == f"1{MARK} (50 %)" and "No patients are stated by: b." in shown.note


def test_the_numbers_of_the_flow_add_up(eight):
    runs, curated = eight
    results = read_results(runs)
    read = read_records(curated / "records")
    everything = asked_questions(read, ())
    asked = asked_questions([r for r in read if int(r.key) < 20], ())
    manifest = json.loads((curated / "manifest.json").read_text(encoding="utf-8"))
    rows = [*read_rows(curated, manifest, everything)]
    rows += asked_rows(dict(zip(results.names, runs, strict=True)), results.outcomes, asked, everything)
    counts = {(row[1], row[2]): row[3:] for row in rows}
    found, readable = counts["main", "samples and files found"][0], counts["main", "samples that can be read"][0]
    assert (found, readable) == (33, 30) and counts["beside", "left out"][0] == found - readable
    assert counts["beside", "phantoms: image unreadable"][0] == 3 and counts["beside", "used in part"][0] == 1
    assert (
        readable - counts["beside", "no question is asked about"][0]
        == counts["main", "samples with questions"][0]
        == 24
    )
    assert counts["main", "asked of a model"][1:] == (20, 10, 0)
    assert counts["beside", "not asked of a model"][1:] == (4, 2, 0)
    of_models = [row[2] for row in rows if row[0] == 4]
    assert len(of_models) == 8
    for said in of_models:
        whole, *parts = map(int, re.findall(r"(\d+) (?=[a-z])", said.partition(": ")[2]))
        assert whole == sum(parts) == 9 * 24


def test_a_folder_that_states_no_samples_gives_no_impossible_number(eight):
    _, curated = eight
    everything = asked_questions(read_records(curated / "records"), ())
    manifest = json.loads((curated / "manifest.json").read_text(encoding="utf-8"))
    for sources in ({}, {name: {} for name in manifest["sources"]}):
        rows = [*read_rows(curated, manifest | {"sources": sources}, everything)]
        assert all(row[3] is None or row[3] >= 0 for row in rows)
        assert rows[0][2] == "samples found: not stated by the curated folder"


def test_the_diagram_is_drawn_with_the_numbers_of_its_table(tmp_path):
    rows = [(0, "main", "found", 33, None, None, None), (0, "beside", "left out & <b>", 3, None, None, None)]
    figure = flow("paper_flow", [*rows, (1, "main", "asked", None, 20, 10, 4)])
    figure.draw(figure.table, tmp_path)
    drawn = (tmp_path / "paper_flow.svg").read_text(encoding="utf-8")
    assert "found: 33" in drawn and "left out &amp; &lt;b&gt;: 3" in drawn and "10 patients" in drawn


def test_the_main_table_is_that_of_the_report_with_names_and_patients(eight):
    results = read_results(eight[0])
    shown = main_table(results)
    assert len(shown.columns) == 8 and len(shown.rows) == 72
    for task, model, n, patients, value, ends, baseline, lost in shown.rows:
        assert "_" not in task and patients == 12 and n == 24 and 0 <= lost <= 1 and baseline is not None
        run = results.runs[results.names.index(re.sub(r"[^\x00-\x7f]+$", "", model))]
        assert (value, *ends) in {(s.value, s.low, s.high) for s in run.scores if s.subset == "all"}
    marks = set("".join(re.sub(r"[\x00-\x7f]", "", row[1]) for row in shown.rows))
    assert marks and all(f" {mark} " in shown.note for mark in marks)


@pytest.mark.parametrize(("groups", "stated", "expected"), [(2, None, 2), (12, False, None)])
def test_few_patients_and_none_stated_have_their_footnotes(tmp_path, groups, stated, expected):
    _, curated = many(tmp_path, models=0, n=2 * groups)
    notes = {} if stated is None else {"states_patients": stated}
    write_json(curated / "manifest.json", {"schema_version": 4, "sources": {"phantoms": {"licence": "CC0", **notes}}})
    shown = main_table(read_results([run(tmp_path / "run", 0.5, curated=curated, n=2 * groups)]))
    assert {row[3] for row in shown.rows} == {expected}
    assert ("fewer than 5 patients" in shown.note) is (expected == 2)
    assert ("no patients are stated" in shown.note) is (expected is None)


def test_every_checklist_cites_a_page_and_holds_each_item_once(eight):
    results = read_results(eight[0])
    asked = asked_questions([p.record for p in results.outcomes[results.names[0]].predictions], ())
    for facts in (facts_of(results, {}, asked, []), facts_of(results, {"sources": {"a": {}}}, asked, asked)):
        shown = list(checklists(facts))
        assert {one.title for one in shown} == {"CLAIM 2024", "STARD-AI", "TRIPOD-LLM"}
        for one in shown:
            assert len(re.findall(r"https://\S+", one.note)) == 2
            assert len({row[0] for row in one.rows}) == len(one.rows) > 15
            assert all(row[2] or row[3] for row in one.rows) and not [r for r in one.rows if "{" in str(r)]


def test_without_its_curated_folder_a_report_says_what_is_left_out(tmp_path):
    runs, curated = many(tmp_path, models=2)
    assert not [part for part in ForPaper().parts(read_results(runs)) if isinstance(part, Remark)]
    for key, value in (("samples", "many"), ("states_patients", [])):
        sources = {"phantoms": {"licence": "CC0", key: value}}
        write_json(
            curated / "manifest.json", {"schema_version": 4, "sources": sources, "images": [key] if not value else {}}
        )
        assert [part for part in ForPaper().parts(read_results(runs)) if isinstance(part, Remark)], "it is damaged"
    shutil.rmtree(curated)
    parts = list(ForPaper().parts(read_results(runs)))
    (remark,) = [part.text for part in parts if isinstance(part, Remark)]
    assert remark.startswith("curated is not here or damaged") and "what was read" in remark
    assert [c.head for c in told(parts, "paper_characteristics").columns] == ["characteristic", "asked"]
    assert {row[1] for row in told(parts, "paper_flow").table.rows} == {"main"}


def test_the_prompts_are_those_that_most_records_were_asked(eight):
    shown = told(ForPaper().parts(read_results(eight[0][:2])), "paper_prompts")
    assert len(shown.rows) == 9
    assert {row[1:] for row in shown.rows} == {(2 * 24, 1, "user: <image> Is it?")}


@pytest.mark.parametrize("phantom", [True, False])
def test_every_table_and_the_diagram_call_phantoms_phantoms(eight, phantom):
    results = read_results(eight[0][:1])
    ((name, of),) = results.outcomes.items()
    drawn = [replace(p, record=replace(p.record, phantom=phantom and p.record.task == "sex")) for p in of.predictions]
    parts = list(ForPaper().parts(replace(results, outcomes={name: replace(of, predictions=tuple(drawn))})))
    shown = [part.table.title for part in parts if isinstance(part, Figure)]
    shown += [part.note for part in parts if isinstance(part, Table)]
    assert len(shown) == 7
    assert all(said.endswith("Phantoms, drawn, not eyes: Sex.") is phantom for said in shown)


def test_runs_of_two_folders_have_a_table_and_a_diagram_each(tmp_path):
    parts = []
    for n, name in enumerate(("one", "other")):
        (tmp_path / name).mkdir()
        parts += many(tmp_path / name, models=n + 1)[0][-1:]
    shown = list(ForPaper().parts(read_results(parts)))
    names = [part.name for part in shown if getattr(part, "name", "").startswith(("paper_c", "paper_f"))]
    assert [name for name in names if name != "paper_claim"] == [
        "paper_characteristics_1", "paper_flow_1", "paper_characteristics_2", "paper_flow_2",
    ]  # fmt: skip


def test_a_class_is_the_choice_that_the_reference_names():
    questions = {q.task: q for q in asked_questions(records(1), ())}
    assert class_of(questions["four_way"]) == "cataract" and class_of(questions["anatomy"]) == ""


def test_all_tables_of_eight_models_compile_and_fit_the_page(eight, tmp_path):
    found = contents([ForPaper()], read_results(eight[0]))
    for one in found.tables():
        assert len(one.columns) <= 8
        write_latex(one, tmp_path)
    assert max([0.0, *typeset(tmp_path, "paper_*.tex", "pdflatex")]) < 10


def test_the_option_writes_the_files_without_names_of_patients_and_the_next_report_removes_them(tmp_path, capsys):
    (folder,), curated = many(tmp_path, models=1)
    hostile = r"WANG_50%&#{}~^\input{x}"
    out = tmp_path / "out"
    (tmp_path / "brief.yaml").write_text("sections: [lmod_train.report.sections.scores.Scores]\n")
    brief = ["--out", str(out), "--config", str(tmp_path / "brief.yaml")]
    model = run(tmp_path / "hostile", 0.5, model=hostile, curated=curated, n=12)
    assert cli.main(["report", str(folder), str(model), *brief, "--paper"]) == 0
    assert "wrote" in capsys.readouterr().out
    written = [file for file in out.rglob("paper_*") if file.suffix != ".png"]
    assert not [file for file in written if "phantoms/" in file.read_text(encoding="utf-8")], "patients, images, ids"
    files = {file.name for file in written}
    assert {"paper_flow.svg", "paper_scores.tex", "paper_characteristics.csv", "paper_stard_ai.tex"} <= files
    assert "## For a paper" in (out / "tables.md").read_text(encoding="utf-8")
    typeset(out / "tables", "paper_*.tex", "pdflatex")
    with (out / "tables" / "paper_scores.csv").open(encoding="utf-8-sig") as file:
        assert len(list(csv.reader(file))) == 1 + 9 + 3
    assert cli.main(["report", str(folder), *brief, "--paper", "false"]) == 0
    assert not [file for file in out.rglob("paper_*") if file.parent.name in ("tables", "figures")]


def test_a_comparison_of_what_was_asked_has_its_footnote(tmp_path):
    place = curate(tmp_path / "curated")
    plain, other = (run(tmp_path / name, 0.8, curated=place, seed=1) for name in ("plain", "other"))
    rows = read_predictions(other / "predictions.parquet")
    words = (Message("user", (Part("image"), Part("text", "Which?"))),)
    changed = [replace(p, record=replace(p.record, messages=words)) for p in rows]
    write_predictions(other / "predictions.parquet", changed)
    results, said = read_results([plain, other]), "which is what is compared: wording of 24 of 24 questions"
    assert said not in main_table(results).note
    assert said in main_table(replace(results, compare=("wording",))).note
