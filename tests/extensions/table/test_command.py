"""`curate --table` as a newcomer types it: what is printed, asked, written and kept back."""

from __future__ import annotations

import base64
import csv
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from openpyxl import Workbook
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Record, Reply
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.extensions.table.command import precision
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio
from lmod_train.tasks.own import Own
from tests.extensions.table.accepting import accepted

HEADER = ["Foto", "Patient", "Auge", "Diagnose", "Alter", "Geschlecht", "Augendruck"]
DIAGNOSES = ("Glaukom", "gesund", "Katarakt", "DR")


def photographs(folder: Path, names: Sequence[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for seed, name in enumerate(names):
        noise = np.random.default_rng(seed).integers(0, 255, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / name)
    return folder


def clinic(folder: Path, n: int = 24, header: Sequence[str] = HEADER, **changed: str) -> list[str]:
    """Write a table of `n` photographs, two a patient, and return the command that curates it."""
    names = [f"f{i:02}.jpg" for i in range(n)]
    images = photographs(folder / "PHOTOS", names)
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(header)
        for i, name in enumerate(names):
            row = [
                name,
                f"P{i // 2:03}",
                "RL"[i % 2],
                DIAGNOSES[i // 2 % 4],
                f"{30 + i // 2}",
                "wm"[i // 2 % 2],
                f"{12 + i},5",
            ]
            writer.writerow([changed.get(f"{head}{i}", cell) for head, cell in zip(HEADER, row, strict=True)])
    return ["curate", "--table", str(folder / "table.csv"), "--images", str(images), "--modality", "CFP",
            "--out", str(folder / "OUT"), "--workers", "1"]  # fmt: skip


def by_task(out: Path) -> dict[str, list[Record]]:
    records = read_records(out / "records")
    return {task: [r for r in records if r.task == task] for task in sorted({r.task for r in records})}


def test_a_table_becomes_the_questions_of_the_benchmark(tmp_path: Path, capsys):
    assert cli.main(clinic(tmp_path)) == 0
    printed = capsys.readouterr().out
    for line in (r"Foto +image", r"Auge +side of the eye +L -> left, R -> right", r"Geschlecht +sex +m -> male, w",
                 r"Augendruck +your own, asked with --ask", r"licence: not stated; nothing of it leaves this machine",
                 r"12 patients, \d of them in test; too few for an accuracy on test to tell anything"):  # fmt: skip
        assert re.search(line, printed), line
    tasks = by_task(tmp_path / "OUT")
    assert {name: len(records) for name, records in tasks.items()} == {"age_group": 24, "four_way": 24, "sex": 24}
    first = next(r for r in tasks["four_way"] if r.key == "f01")
    assert first.answer == "DISEASE: glaucoma" and first.patient.laterality == "left" and first.patient.age == 30
    for record in tasks["four_way"]:
        pair = {r.split for r in tasks["four_way"] if r.group == record.group}
        assert len(pair) == 1


def test_the_first_command_to_go_on_with_gives_a_result_without_a_model(tmp_path: Path, capsys, monkeypatch):
    command = clinic(tmp_path)
    command[command.index("--out") + 1] = "MY OUT"
    monkeypatch.chdir(tmp_path)
    assert cli.main(command) == 0
    first, second, *_ = re.findall(r"`(python -m lmod_train [^`]+)`", capsys.readouterr().out)
    assert "--model" not in second, "the model is the one that comes with the package"
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
    assert cli.main([*shlex.split(first)[3:], *quiet]) == 0
    scores = (tmp_path / "runs" / "MY OUT" / "scripted" / "scores.csv").read_text()
    assert all(f",{task},all,majority,24," in scores for task in ("four_way", "sex", "age_group"))


@pytest.mark.parametrize("n", [1, 2, 4, 8, 14, 16, 40, 200])
def test_what_a_test_split_can_tell_is_what_a_report_says_of_it(n: int):
    told = precision(n)
    right = np.array([i % 2 for i in range(n)], dtype=float)
    (score,) = compute_scores("t", "all", {"right": right, "items": np.ones(n)}, list(map(str, range(n))), [_ACCURACY])
    width = None if score.low is None or score.high is None else score.high - score.low
    if width is None or width > 0.5:
        assert told.endswith("too few for an accuracy on test to tell anything")
    else:
        assert float(told.rpartition("± ")[2]) == pytest.approx(width / 2, abs=0.006)


_ACCURACY = Measure("accuracy", lambda sums: ratio(sums["right"], sums["items"]), items_in)


@pytest.mark.parametrize("has_patients", [True, False])
def test_a_report_says_where_intervals_are_over_images(tmp_path: Path, has_patients: bool, monkeypatch):
    command = clinic(tmp_path) + ([] if has_patients else ["--column", "ignore=Patient"])
    monkeypatch.chdir(tmp_path)
    assert cli.main(command) == 0
    quiet = ["--trainer.enable_progress_bar", "false", "--trainer.logger", "false"]
    tried = ["validate", "--config", "scripted", "--data.curated", "OUT", "--data.tasks", "sex", "--run", "RUN"]
    assert cli.main([*tried, "--data.split", "all", *quiet]) == 0
    assert cli.main(["report", "RUN", "--out", "REPORT"]) == 0
    written = " ".join((tmp_path / "REPORT" / "tables.md").read_text().split())
    said = (
        "Intervals are clustered by patient, but over images and not over patients for table, which states no patients."
    )
    assert (said in written) is not has_patients and "Intervals are clustered by patient" in written


def test_no_name_or_number_of_a_patient_is_in_what_is_written(tmp_path: Path):
    header = ["Foto", "Patientenname", *HEADER[2:]]
    command = clinic(tmp_path, header=header, **{f"Patient{i}": f"Erika Mueller {i // 2}" for i in range(24)})
    assert cli.main(command) == 2
    assert cli.main([*command, "--column", "patient=Patientenname"]) == 0
    records = read_records(tmp_path / "OUT" / "records")
    assert len({r.group for r in records}) == 12
    written = b"".join(f.read_bytes() for f in (tmp_path / "OUT").rglob("*") if f.is_file() and f.suffix != ".jpg")
    assert b"Erika" not in written and "Erika" not in repr(records)


def test_what_is_in_doubt_stops_and_the_printed_command_answers_it(tmp_path: Path, capsys):
    header = ["Foto", "ID", *HEADER[2:]]
    command = clinic(tmp_path, header=header, **{f"Geschlecht{i}": str(1 + i // 2 % 2) for i in range(24)})
    assert cli.main(command) == 2
    error = capsys.readouterr().err
    assert "ID: whether it is the patient" in error and "Geschlecht: which words 1, 2 stand for" in error
    assert not (tmp_path / "OUT" / "records").exists() and (tmp_path / "OUT" / "table.yaml").exists()
    printed = shlex.split(re.findall(r"`(python [^`]+)`", error)[0])
    assert printed[-6:] == ["--column", "patient=ID", "--value", "sex:1=male", "--value", "sex:2=female"]
    assert cli.main(printed[3:]) == 0
    assert {r.patient.sex for r in read_records(tmp_path / "OUT" / "records")} == {"male", "female"}


@pytest.mark.parametrize("answer", ["sex:1=female", "Geschlecht:1=female"])
def test_the_user_decides_what_a_code_stands_for(tmp_path: Path, answer: str):
    command = clinic(tmp_path, **{f"Geschlecht{i}": str(1 + i // 2 % 2) for i in range(24)})
    assert cli.main([*command, "--value", answer, "--value", answer.replace("1=female", "2=male")]) == 0
    first = next(r for r in read_records(tmp_path / "OUT" / "records") if r.key == "f00")
    assert first.patient.sex == "female"


def test_the_plan_is_written_edited_and_used_again(tmp_path: Path, capsys):
    command = clinic(tmp_path)
    assert cli.main([*command, "--plan", "--ask", "Augendruck"]) == 0
    printed = shlex.split(re.findall(r"`([^`]+)` curates by it", capsys.readouterr().out)[0])
    out, file = tmp_path / "OUT", tmp_path / "OUT" / "table.yaml"
    assert sorted(f.name for f in out.iterdir() if not f.name.startswith(".")) == ["table.yaml", "understood.html"]
    plan = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert plan["columns"]["Auge"] == {"means": "laterality", "words": {"L": "left", "R": "right"}}
    (question,) = plan["questions"]
    assert (question["name"], question["kind"], question["column"]) == ("augendruck", "number", "Augendruck")
    question |= {"words": "What is the pressure of this eye?", "unit": "mmHg"}
    plan["columns"]["Alter"]["means"] = "ignore"
    file.write_text(yaml.safe_dump(plan, allow_unicode=True), encoding="utf-8")
    assert cli.main([*printed[3:], "--workers", "1"]) == 0
    tasks = by_task(out)
    assert sorted(tasks) == ["augendruck", "four_way", "sex"]
    asked = tasks["augendruck"][0]
    assert (
        "What is the pressure of this eye?" in asked.messages[0].parts[-1].text and asked.answer == "Answer: 12.5 mmHg"
    )
    assert cli.main([*printed[3:], "--workers", "1"]) == 0, "finished: nothing to do"


def test_a_plan_that_names_files_elsewhere_stops_until_they_are_allowed(tmp_path: Path, capsys):
    assert cli.main([*clinic(tmp_path), "--plan", "--redistributable", "--licence", "CC BY 4.0"]) == 0
    assert "--follow_links --redistributable` curates by it" in capsys.readouterr().out
    plan = ["curate", "--table", str(tmp_path / "OUT" / "table.yaml"), "--out", str(tmp_path / "NEW"), "--workers", "1"]
    assert cli.main(plan) == 2
    error = capsys.readouterr().err
    assert f"names files outside its folder: {tmp_path / 'table.csv'} and {tmp_path / 'PHOTOS'}" in error
    assert not (tmp_path / "NEW" / "records").exists()
    printed = shlex.split(re.findall(r"Yours: `([^`]+)`", error)[0])
    assert cli.main(printed[3:]) == 0
    closed = read_manifest(tmp_path / "NEW")["sources"]["table"]
    assert closed["redistributable"] is False, "a plan does not say so of files elsewhere"
    (tmp_path / "OUT" / "table.yaml").rename(tmp_path / "table.yaml")
    beside = ["curate", "--table", str(tmp_path / "table.yaml"), "--out", str(tmp_path / "BESIDE"), "--workers", "1"]
    assert cli.main(beside) == 0
    assert read_manifest(tmp_path / "BESIDE")["sources"]["table"]["redistributable"] is True


def test_images_of_a_table_do_not_stay_with_their_metadata(tmp_path: Path):
    command = clinic(tmp_path)
    names = [f"f{i:02}.jpg" for i in range(24)]
    rows = (tmp_path / "table.csv").read_text(encoding="utf-8")
    for name in names:
        rows = rows.replace(name, base64.b64encode((tmp_path / "PHOTOS" / name).read_bytes()).decode())
    (tmp_path / "table.csv").write_text(rows, encoding="utf-8")
    del command[command.index("--images") : command.index("--images") + 2]
    (tmp_path / "home").symlink_to("/")  # beside the table, whose folder holds no images
    for _ in range(2):
        assert cli.main(command) == 0
        assert not list((tmp_path / "OUT").glob("*.parquet"))
    assert len(by_task(tmp_path / "OUT")["four_way"]) == 24


@pytest.mark.parametrize("column", ["Diagnose", "diagnosis"])
def test_a_column_is_asked_by_its_name_or_meaning(tmp_path: Path, column: str):
    assert cli.main([*clinic(tmp_path, Diagnose0="Keratokonus"), "--ask", column]) == 0
    asked = by_task(tmp_path / "OUT")["diagnosis"]
    assert len(asked) == 24 and asked[0].choices == (
        "Keratokonus", "cataract", "diabetic retinopathy", "glaucoma", "normal",
    )  # fmt: skip


@pytest.mark.parametrize(("column", "choices"), [("Auge", ("left", "right")), ("Geschlecht", ("female", "male"))])
def test_a_column_that_is_used_otherwise_can_be_asked_too(
    tmp_path: Path, capsys, column: str, choices: tuple[str, ...]
):
    accepted([*clinic(tmp_path, Auge0="OD", Auge1="OU", Geschlecht1="x9"), "--ask", column], capsys)
    asked = by_task(tmp_path / "OUT")[column.casefold()]
    assert len(asked) == 23 and asked[0].choices == choices and len({r.answer for r in asked}) == 2


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("good", "poor", "fair"), "asks clear: choice, one of fair, good, poor: Based on the image, what is: clear?"),
        (("yes", "no"), "asks clear: yes_no, yes or no: Based on the image, what is: clear?"),
        (("1,5", "2,5", "3,5"), "asks clear: number, a number: Based on the image, what is: clear?"),
        (("a pale disc with a notch", "normal", *map(str, range(11))), "asks clear: open, free text: Based"),
        ((*"abcdefgh",), "asks clear: open, free text: Based"),
    ],
)
def test_the_kind_of_a_question_is_printed_with_its_choices_and_words(
    tmp_path: Path, capsys, cells: tuple[str, ...], said: str
):
    assert cli.main([*rows(tmp_path, "clear", *cells), "--ask", "clear", "--plan"]) == 0
    assert said in capsys.readouterr().out


def test_questions_that_nobody_named_are_printed_too(tmp_path: Path, capsys):
    columns = ("0;Keratokonus; drusen", "1;glaucoma, cataract;x", "2;normal;y", "3;normal;z")
    assert cli.main([*rows(tmp_path, "stage;diagnosis;note", *columns), "--plan"]) == 0
    printed = capsys.readouterr().out
    assert "asks stage: grade, a grade, in order 0, 1, 2, 3: Based on the image, what is: stage?" in printed
    several = "asks diagnosis: several, several of Keratokonus, cataract, glaucoma, normal: Which diagnoses"
    assert several in printed


def test_a_code_without_a_word_is_no_value(tmp_path: Path, capsys):
    command = clinic(tmp_path, **{f"Geschlecht{i}": str(i // 2 % 3) for i in range(24)})
    told = accepted([*command, "--value", "sex:1=male", "--value", "sex:2=female"], capsys)
    assert re.search(r"Geschlecht +'0' +8 +0 +33 % +-> 0 % +8 unreadable value", told)
    assert len(by_task(tmp_path / "OUT")["sex"]) == 16
    lost = [d for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "unreadable value"]
    assert len(lost) == 8 and "no word for sex was given" in lost[0].detail


def test_one_wrong_cell_costs_its_own_value(tmp_path: Path, capsys):
    command = clinic(tmp_path, Alter3="1957", Auge4="OU", Foto5="none.jpg", Geschlecht6="", Patient7="")
    accepted(command, capsys)
    out = tmp_path / "OUT"
    drops = read_dropped(out / "dropped.csv")
    listed = {(d.key, d.reason, d.extent) for d in drops}
    assert listed == {
        ("line 5", "unreadable value", "part"),
        ("line 6", "unreadable value", "part"),
        ("line 7", "no image", "gone"),
        ("line 9", "no patient", "part"),
        ("f05.jpg", "no row in the table", "gone"),
    }
    tasks = by_task(out)
    assert {name: len(records) for name, records in tasks.items()} == {"age_group": 22, "four_way": 23, "sex": 22}


def test_rows_of_one_image_are_one_sample_without_what_they_contradict(tmp_path: Path):
    assert cli.main(clinic(tmp_path, Foto1="f00.jpg", Diagnose1="gesund")) == 0
    drops = read_dropped(tmp_path / "OUT" / "dropped.csv")
    assert ("line 3", "same image twice") in {(d.key, d.reason) for d in drops}
    assert sum(d.reason == "contradictory rows" for d in drops) == 2, "the diagnosis and the side"
    tasks = by_task(tmp_path / "OUT")
    assert len(tasks["four_way"]) == 22 and len(tasks["sex"]) == 23


def test_a_row_with_both_eyes_is_two_images_of_one_patient(tmp_path: Path):
    images = photographs(tmp_path / "PHOTOS", [f"{i}_{side}.jpg" for i in range(8) for side in ("l", "r")])
    rows = ["Patient ID,Left-Fundus,Right-Fundus,Left-Diagnosis,Right-Diagnosis,Diagnosis,Sex"]
    rows += [f"p{i},{i}_l.jpg,{i}_r.jpg,glaucoma,{'cataract' if i % 2 else 'normal'},AMD,F" for i in range(8)]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    command = ["curate", "--table", str(tmp_path / "t.csv"), "--images", str(images), "--modality", "CFP"]
    assert cli.main([*command, "--out", str(tmp_path / "OUT"), "--workers", "1"]) == 0
    asked = by_task(tmp_path / "OUT")["four_way"]
    sides = {(r.patient.laterality, r.answer) for r in asked}
    assert sides == {("left", "DISEASE: glaucoma"), ("right", "DISEASE: normal"), ("right", "DISEASE: cataract")}
    assert len(asked) == 16 and len({r.group for r in asked}) == 8


def test_a_column_of_splits_is_kept_with_patients_together(tmp_path: Path):
    command = clinic(
        tmp_path,
        header=[*HEADER[:-1], "split"],
        **{f"Augendruck{i}": ("test" if i < 9 else "train") for i in range(24)},
    )
    assert cli.main(command) == 0
    splits = {r.key: r.split for r in read_records(tmp_path / "OUT" / "records")}
    assert {splits[f"f{i:02}"] for i in range(10)} == {"test"}, "the patient of the tenth is in test"
    moved = [d for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.reason == "split of its group"]
    assert [d.key for d in moved] == ["f09"]


def test_nothing_is_left_out_to_balance_unless_asked(tmp_path: Path):
    command = clinic(tmp_path, **{f"Diagnose{i}": "Glaukom" for i in range(16)})
    assert cli.main(command) == 0
    assert len(by_task(tmp_path / "OUT")["four_way"]) == 24
    command[command.index("--out") + 1] = str(tmp_path / "BALANCED")
    assert cli.main([*command, "--balance"]) == 0
    assert len(by_task(tmp_path / "BALANCED")["four_way"]) < 24


def test_only_a_stated_licence_lets_images_leave(tmp_path: Path):
    command = clinic(tmp_path)
    assert cli.main([*command, "--licence", "CC BY 4.0", "--redistributable"]) == 0
    stated = read_manifest(tmp_path / "OUT")["sources"]["table"]
    assert stated["licence"] == "CC BY 4.0" and stated["redistributable"] is True
    assert cli.main(["export", str(tmp_path / "OUT"), "--to", "llava", "--out", str(tmp_path / "EXPORT")]) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--modality", ""], "the modality of the images, which is not guessed"),
        (["--modality", "fundus"], "an abbreviation such as CFP"),
        (["--images", "NOWHERE"], "an existing folder"),
        (["--table", "none.csv"], "an existing file"),
        (["--column", "patient"], "MEANING=NAME"),
        (["--column", "patient=Nobody"], "a column of the table"),
        (["--column", "shoe=Foto"], "one of image, patient"),
        (["--value", "sex=1"], "COLUMN:CELL=WORD"),
        (["--value", "sex:m=boy"], "a word for sex: female, male"),
        (["--value", "sex:x=male"], "a cell that occurs in sex"),
        (["--value", "Augen:L=left"], "did you mean `--value Auge:L=left`"),
        (["--column", "patien=Patient"], "did you mean `--column patient=Patient`"),
        (["--column", "patient=Pateint"], "did you mean `--column patient=Patient`"),
        (["--ask", "shoes"], "a column of the table"),
        (["--name", "my clinic"], "letters, digits and underscores"),
        (["--sheet", "2"], "as the file is no workbook"),
    ],
)
def test_a_wrong_option_is_named_with_its_cure(tmp_path: Path, capsys, change: list[str], said: str):
    command = clinic(tmp_path, 6)
    if change[0] in command:
        command[command.index(change[0]) + 1] = change[1]
    else:
        command += change
    assert cli.main(command) == 2
    error = capsys.readouterr().err
    assert said in error and "Next:" in error


def test_a_table_without_a_question_says_how_to_ask_one(tmp_path: Path, capsys):
    images = photographs(tmp_path / "PHOTOS", [f"{i}.jpg" for i in range(9)])
    (tmp_path / "t.csv").write_text(
        "file,clarity\n" + "\n".join(f"{i}.jpg,{'good' if i % 2 else 'poor'}" for i in range(9))
    )
    command = ["curate", "--table", str(tmp_path / "t.csv"), "--images", str(images), "--modality", "OCT"]
    command += ["--out", str(tmp_path / "OUT"), "--workers", "1"]
    assert cli.main(command) == 2
    (cure,) = re.findall(r"`(--ask[^`]+)`", capsys.readouterr().err)
    assert cli.main([*command, *shlex.split(cure)]) == 0
    assert by_task(tmp_path / "OUT")["clarity"][0].choices == ("good", "poor")


def test_a_changed_command_leaves_the_folder_and_prints_the_one_that_goes_on(tmp_path: Path, capsys):
    command, out = clinic(tmp_path), tmp_path / "OUT"
    assert cli.main(command) == 0
    before = {f: f.read_bytes() for f in out.rglob("*") if f.is_file()}
    assert cli.main([*command, "--ask", "Augendruck"]) == 2
    error = capsys.readouterr().err
    assert "settings.tasks: " in error or "settings.tasks.augendruck/en: absent -> " in error
    assert {f: f.read_bytes() for f in out.rglob("*") if f.is_file() and f.name != ".lock"} == before
    printed = shlex.split(re.findall(r"`(python [^`]+)`", error)[0])
    assert cli.main(printed[3:]) == 0 and (tmp_path / "OUT-2" / "records" / "augendruck.parquet").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--column", "ignore=Patient"], 'columns.Patient: "patient" -> "ignore"'),
        (["--value", "Auge:L=right", "--value", "Auge:R=left"], 'words.Auge.L: "left" -> "right"'),
        (["--licence", "CC0"], 'licence: "not stated" -> "CC0"'),
        (["--licence", "CC0", "--redistributable"], "redistributable: false -> true"),
        (["--modality", "SLO"], 'modality: "CFP" -> "SLO"'),
        (["--seed", "3"], "seed: 0 -> 3"),
        ([], "sha256: "),
    ],
)
def test_what_differs_from_the_folder_that_exists_is_named(tmp_path: Path, capsys, change: list[str], said: str):
    command = clinic(tmp_path, 12)
    assert cli.main(command) == 0
    if not change:
        file = tmp_path / "table.csv"
        file.write_text(file.read_text(encoding="utf-8").replace("P001", "P9"), encoding="utf-8")
    capsys.readouterr()
    assert cli.main([*command, *change]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert cli.main(shlex.split(re.findall(r"`python -m lmod_train ([^`]+)`", error)[0])) == 0


@pytest.mark.parametrize("hidden", [0, 3])
def test_hidden_rows_and_other_sheets_are_told_in_the_plan_too(tmp_path: Path, capsys, hidden: int):
    command = clinic(tmp_path, 12)
    book = Workbook()
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        for cells in csv.reader(file, delimiter=";"):
            book.active.append(cells)
    for line in range(4, 4 + hidden):
        book.active.row_dimensions[line].hidden = True
    if hidden:
        book.create_sheet("Second reader").append(["f00.jpg", "normal"])
    book.save(tmp_path / "table.xlsx")
    command[command.index("--table") + 1] = str(tmp_path / "table.xlsx")
    assert cli.main(command) == 0
    written = yaml.safe_load((tmp_path / "OUT" / "table.yaml").read_text(encoding="utf-8")).get("notes", [])
    assert bool(hidden) is any("not read: 'Second reader'" in note for note in written)
    assert bool(hidden) is ("hidden rows, as of a filter, are read too: 3 in sheet 'Sheet'" in written)
    printed = capsys.readouterr().out
    assert all(note in printed for note in written)
    assert cli.main(by_plan(tmp_path)) == 0, "notes are no part of the plan"


def rows(folder: Path, header: str, *cells: str, n: int = 12) -> list[str]:
    """Write a table of `n` rows, whose cells repeat, and return the command that curates it."""
    names = [f"x{i:02}.jpg" for i in range(n)]
    images = photographs(folder / "PHOTOS", names)
    told = [f"{name};{cells[i % len(cells)].replace('#', str(i // 2))}" for i, name in enumerate(names)]
    (folder / "t.csv").write_text("\n".join([f"file;{header}", *told]), encoding="utf-8")
    command = ["curate", "--table", str(folder / "t.csv"), "--images", str(images), "--modality", "CFP"]
    return [*command, "--out", str(folder / "OUT"), "--workers", "1"]


def answers(out: Path, task: str) -> dict[str, str]:
    return {r.key: r.answer for r in read_records(out / "records") if r.task == task}


@pytest.mark.parametrize("header", ["Diagnose RA;Diagnose LA", "dx_l;dx_r", "OS diagnosis;OD diagnosis"])
def test_labels_of_each_eye_go_to_the_image_of_that_eye(tmp_path: Path, header: str):
    first = "right" if header.endswith("LA") else "left"
    sides = {"right": "R;#", "left": "L;#"}
    other = next(side for side in sides if side != first)
    command = rows(tmp_path, f"Auge;patient;{header}", *(f"{sides[side]};glaucoma;normal" for side in (first, other)))
    assert cli.main(command) == 0
    told = answers(tmp_path / "OUT", "four_way")
    assert {told[f"x{i:02}"] for i in range(0, 12, 2)} == {"DISEASE: glaucoma"}
    assert {told[f"x{i:02}"] for i in range(1, 12, 2)} == {"DISEASE: normal"}


@pytest.mark.parametrize(
    ("header", "cells", "said"),
    [
        ("Diagnose RA;Diagnose LA", ("glaucoma;normal",), "of which eye the images are"),
        ("dx;split", ("normal;fold 1", "glaucoma;fold 2"), "which of train, val and test"),
        ("ICDR", ("1", "2", "3", "5"), "are levels of icdr"),
        ("patient;dx", ("P#;glaucoma", ";normal"), "whose images those are of the 6 rows"),
        ("Reader A diagnosis;Reader B diagnosis", ("glaucoma;normal", "normal;normal"), "which of Reader A diagnosis"),
        ("Pseudonym;dx", ("K#;glaucoma", "K#;normal"), "whether it is the patient"),
    ],
)
def test_what_could_be_wrong_in_silence_is_asked(
    tmp_path: Path, capsys, header: str, cells: tuple[str, ...], said: str
):
    assert cli.main(rows(tmp_path, header, *cells)) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["glaucoma", "Glaucoma (reader 1)", "Glaucoma (1: there)"])
@pytest.mark.parametrize("codes", [("1", "2"), ("0", "2"), ("2", "3"), ("1", "2", "3"), ("1", "2", "9")])
@pytest.mark.parametrize("reading", ["--value", "--column"])
def test_codes_of_a_disease_can_be_yes_and_no_or_grades(
    tmp_path: Path, capsys, name: str, codes: tuple[str, ...], reading: str
):
    command = rows(tmp_path, f"patient;{name}", *(f"P#;{code}" for code in codes))
    assert cli.main(command) == 2
    error = capsys.readouterr().err
    said = dict.fromkeys(re.findall(r"`(--(?:value|column) [^`]+)`", error.partition("Next:")[0]))
    values, *grades = map(shlex.split, said)
    grade = grades[0] if grades else values
    assert bool(grades) is (codes not in (("0", "2"), ("1", "2", "9"))), "a gap is no scale"
    if reading == "--column" and grades:
        assert cli.main([*command, *grade]) == 0
        assert {len(r.choices) for r in read_records(tmp_path / "OUT" / "records")} == {len(codes)}
        return
    assert [word.rpartition("=")[2] for word in values[1::2]] == (["no", "yes"] if codes[0] == "0" else ["yes", "no"])
    printed = shlex.split(re.findall(r"`python -m lmod_train ([^`]+)`", error)[0])
    unknown = ["--column", f"ignore={name}"]  # neither 2 nor 3 is a yes or a no anywhere
    assert printed == [*command, *(unknown if codes == ("2", "3") else values if len(codes) == 2 else grade)]
    if len(codes) > 2:  # the third code was given no word
        accepted([*command, *values], capsys)
    else:
        assert cli.main([*command, *values]) == 0
    asked = answers(tmp_path / "OUT", "glaucoma")
    positive = {key for key, answer in asked.items() if "NON" not in answer}
    first = {f"x{i:02}" for i in range(0, 12, len(codes))}
    assert positive == (first if codes[0] != "0" else set(asked) - first) and len(asked) == 24 // len(codes)


def test_a_plain_diagnosis_counts_before_that_of_a_referral(tmp_path: Path):
    assert cli.main(rows(tmp_path, "referral diagnosis;diagnosis", "normal;glaucoma", "glaucoma;cataract")) == 0
    assert set(answers(tmp_path / "OUT", "four_way").values()) == {"DISEASE: glaucoma", "DISEASE: cataract"}


def test_one_odd_word_of_a_split_costs_its_own_value(tmp_path: Path, capsys):
    cells = ("normal;train", "glaucoma;val", "normal;test", "glaucoma;hidden")
    accepted(rows(tmp_path, "dx;split", *cells), capsys)
    splits = {r.key: r.split for r in read_records(tmp_path / "OUT" / "records")}
    assert [splits[f"x{i:02}"] for i in range(3)] == ["train", "val", "test"]
    assert sum("hidden" in d.detail for d in read_dropped(tmp_path / "OUT" / "dropped.csv")) == 3


def test_spellings_of_one_patient_are_one(tmp_path: Path):
    assert (
        cli.main(
            rows(tmp_path, "patient;dx", "A-1;normal", "a1;glaucoma", "A 1;normal", "0012;glaucoma", "12.0;normal")
        )
        == 0
    )
    assert len({r.group for r in read_records(tmp_path / "OUT" / "records")}) == 2


def test_patients_who_share_an_image_are_one(tmp_path: Path):
    command = clinic(tmp_path, Foto5="f02.jpg")
    assert cli.main(command) == 0
    groups = {r.key: r.group for r in read_records(tmp_path / "OUT" / "records")}
    assert groups["f03"] == groups["f04"] != groups["f06"]


def test_plus_and_minus_in_a_column_of_a_disease_are_yes_and_no(tmp_path: Path):
    assert cli.main(rows(tmp_path, "glaucoma", "+", "-")) == 0
    assert len(answers(tmp_path / "OUT", "glaucoma")) == 12


def test_a_cell_that_is_no_choice_of_its_question_is_listed(tmp_path: Path, capsys):
    command = rows(tmp_path, "dx;clarity", "normal;good", "glaucoma;poor", "normal;fair")
    assert cli.main([*command, "--plan", "--ask", "clarity"]) == 0
    file = tmp_path / "OUT" / "table.yaml"
    file.write_text(file.read_text().replace("  - fair\n", ""))
    command = ["curate", "--table", str(file), "--out", str(tmp_path / "OUT"), "--workers", "1", "--follow_links"]
    accepted(command, capsys)
    assert len(answers(tmp_path / "OUT", "clarity")) == 8
    assert sum("no answer to the question" in d.detail for d in read_dropped(tmp_path / "OUT" / "dropped.csv")) == 4


@pytest.mark.parametrize(("old", "new"), [("questions: []", "questions: {a: 1}"), ("questions: []", "questions: [a]"),
                                          ("means: image", "mean: image"), ("sheet:", "shet:")])  # fmt: skip
def test_a_misspelt_plan_is_refused(tmp_path: Path, capsys, old: str, new: str):
    assert cli.main([*clinic(tmp_path, 8), "--plan"]) == 0
    file = tmp_path / "OUT" / "table.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert cli.main(["curate", "--table", str(file), "--out", str(tmp_path / "NEW"), "--follow_links"]) == 2
    assert "the table.yaml that `curate --table` wrote" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--table", "--help"], ["--table", "t.csv", "-h"], ["--help", "--table=t.csv"]])
def test_help_needs_no_table(arguments: list[str], capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["curate", *arguments])
    assert ended.value.code == 0 and "--modality" in capsys.readouterr().out


def edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> list[str]:
    """Change the plan in OUT and return the command that curates by it."""
    file = folder / "OUT" / "table.yaml"
    plan = yaml.safe_load(file.read_text(encoding="utf-8"))
    change(plan)
    file.write_text(yaml.safe_dump(plan, allow_unicode=True), encoding="utf-8")
    return by_plan(folder)


def by_plan(folder: Path, out: str = "OUT") -> list[str]:
    """Return the command that curates by the plan in OUT."""
    file = folder / "OUT" / "table.yaml"
    return ["curate", "--table", str(file), "--out", str(folder / out), "--workers", "1", "--follow_links"]


@pytest.mark.parametrize(
    ("asked", "name", "truth"),
    [("Augendruck", "auge", "16.5"), ("Auge", "augendruck", "right"), ("Diagnose", "auge", "cataract")],
)
def test_a_question_takes_its_answers_from_the_column_that_it_names(tmp_path: Path, asked: str, name: str, truth: str):
    def rename(plan: dict[str, Any]) -> None:
        (first,) = (q for q in plan["questions"] if q["column"] == asked)
        again = {"name": "again", "words": "What is it?", "column": asked, "kind": "open"}
        plan["questions"] = [*(q for q in plan["questions"] if q is not first), first | {"name": name}, again]

    assert cli.main([*clinic(tmp_path, Diagnose0="Keratokonus"), "--plan", "--ask", asked]) == 0
    assert cli.main(edited(tmp_path, rename)) == 0
    told = by_task(tmp_path / "OUT")
    assert {r.key: r.answer for r in told[name]}["f04"] == f"Answer: {truth}"
    assert {r.key: r.answer for r in told["again"]}["f04"] == truth.replace(".", "," if asked == "Augendruck" else ".")
    assert len(told[name]) == len(told["again"]) == 24
    assert sorted(told) == sorted(
        {"age_group", "four_way", "sex", "diagnosis", name, "again"} - ({"diagnosis"} if asked == "Diagnose" else set())
    )


@pytest.mark.parametrize(
    ("change", "said"), [({"column": "Nobody"}, "a column of the table"), ({}, "another name for each question")]
)
def test_a_question_about_no_column_or_of_a_name_that_is_taken_is_refused(
    tmp_path: Path, capsys, change: dict[str, str], said: str
):
    def add(plan: dict[str, Any]) -> None:
        plan["questions"].append(plan["questions"][0] | change)

    assert cli.main([*clinic(tmp_path, 8), "--plan", "--ask", "Augendruck"]) == 0
    assert cli.main(edited(tmp_path, add)) == 2
    assert said in capsys.readouterr().err


def quiz(folder: Path, header: str, *lines: str) -> list[str]:
    """Write a table of VLMEvalKit, one line a question, each `{0}` a photograph, and return its command."""
    images = photographs(folder / "PHOTOS", [f"q{i}.jpg" for i in range(4)])
    held = [base64.b64encode((images / f"q{i}.jpg").read_bytes()).decode() for i in range(4)]
    told = [line.format(*held).replace("|", "\t") for line in (header, *lines)]
    (folder / "quiz.tsv").write_text("\n".join(told), encoding="utf-8")
    return ["curate", "--table", str(folder / "quiz.tsv"), "--modality", "CFP", "--out", str(folder / "OUT"),
            "--workers", "1"]  # fmt: skip


QUIZ = "index|image|question|hint|A|B|C|D|answer|category|l2-category"


def test_a_table_of_vlmevalkit_is_asked_as_it_is(tmp_path: Path, capsys):
    command = quiz(
        tmp_path,
        QUIZ,
        "1|{0}|Which part?||disc|cup|macula||B|anatomy|coarse",
        "2|1|Which disease?|Seen at 70.|DR|AMD|glaucoma|none|(c)|disease|fine",
        "3|{1}|Which part?||disc|cup|macula||Macula|anatomy|fine",
        "4|{2}|What is red?||||||a haemorrhage||",
        "5|{3}|Which?||1|2|3|4|2|anatomy|fine",
        "6|['{0}', '{1}']|Which?||disc|cup|||A|anatomy|fine",
        "1000001|1|Which part?||cup|macula|disc||A|anatomy|coarse",
        "2000001|1|Which part?||macula|disc|cup||C|anatomy|coarse",
        "1000003|3|Which lesion?||disc|cup|macula||A|anatomy|fine",
    )
    assert "2 of 9 rows have no question" in accepted(command, capsys)
    tasks = by_task(tmp_path / "OUT")
    asked = {r.key: r for r in tasks["question"]}
    told = {key: (r.choices["ABCD".index(r.answer[-1])], dict(r.tags)) for key, r in asked.items()}
    assert told == {
        "line-2": ("cup", {"category": "anatomy", "l2_category": "coarse"}),
        "line-3": ("glaucoma", {"category": "disease", "l2_category": "fine"}),
        "line-4": ("macula", {"category": "anatomy", "l2_category": "fine"}),
        "line-10": ("disc", {"category": "anatomy", "l2_category": "fine"}),
    }
    assert asked["line-3"].messages[0].parts[-1].text.startswith("Seen at 70.\nWhich disease?\nA. DR")
    (free,) = tasks["open_question"]
    assert free.answer == "a haemorrhage" and not free.tags
    drops = {d.key: (d.reason, d.detail) for d in read_dropped(tmp_path / "OUT" / "dropped.csv")}
    assert drops == {
        "line 6": ("no question", "the answer '2' may be counted from 0 or from 1"),
        "line 7": ("no image", "a list of 2 images, expected one"),
        "line 8": ("copy of a question", "line 2 asks the same with its options in another order"),
        "line 9": ("copy of a question", "line 2 asks the same with its options in another order"),
    }


def test_a_cell_with_several_files_is_listed(tmp_path: Path, capsys):
    command = quiz(
        tmp_path,
        "index|image_path|question|answer",
        *(f"{i}|q{i}.jpg|What?|a disc" for i in range(3)),
        '3|["q0.jpg", "q1.jpg"]|What?|a cup',
    )
    accepted([*command, "--images", str(tmp_path / "PHOTOS")], capsys)
    (lost,) = (d for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.extent == "gone" and "line" in d.key)
    assert (lost.key, lost.detail) == (
        "line 5",
        'image_path: \'["q0.jpg", "q1.jpg"]\' is a list of 2 images, expected one',
    )


def test_a_category_of_a_table_without_questions_is_none_of_a_question(tmp_path: Path):
    assert cli.main(rows(tmp_path, "category;dx", "first round;normal", "second round;glaucoma")) == 0
    assert not any(r.tags for r in read_records(tmp_path / "OUT" / "records"))


def test_questions_of_a_table_are_chinese_on_request(tmp_path: Path):
    values = [f"--value=clarity:{cell}={word}" for cell, word in (("good", "清晰"), ("poor", "模糊"))]
    command = rows(tmp_path, "dx;retinal detachment;clarity", "good;no;good", "npdr;yes;poor")
    given = [*values, "--value=dx:npdr=非增殖性", "--value=dx:good=正常", "--ask", "clarity", "--language", "zh"]
    assert cli.main([*command, *given]) == 0
    tasks = by_task(tmp_path / "OUT")
    words = {name: tasks[name][0].messages[0].parts[-1].text for name in ("clarity", "diagnosis")}
    assert words["clarity"] == (
        "根据这张图像，“clarity”是什么？ 请从以下选项中选择一个回答：模糊, 清晰。请按此格式回答：答案: <选项>。"
    )
    assert words["diagnosis"].startswith("这张图像显示的是哪种诊断？ 请从")
    assert {r.answer for r in tasks["diagnosis"]} == {"答案: 正常", "答案: 非增殖性"}
    assert {r.answer for r in tasks["clarity"]} == {"答案: 模糊", "答案: 清晰"}
    assert cli.main(by_plan(tmp_path, "NEW")) == 0
    assert by_task(tmp_path / "NEW")["clarity"][0].messages == tasks["clarity"][0].messages


def test_ready_questions_are_chinese_on_request(tmp_path: Path):
    command = quiz(tmp_path, QUIZ, "1|{0}|这是什么？||视盘|视杯|||B||", "2|{1}|这是什么？||||||黄斑||")
    assert cli.main([*command, "--language", "zh"]) == 0
    tasks = by_task(tmp_path / "OUT")
    assert tasks["question"][0].messages[0].parts[-1].text == (
        "这是什么？\nA. 视盘\nB. 视杯\n请用一个选项的字母回答。\n请按此格式回答：Answer: <LETTER>"
    )
    assert "请基于图片用中文回答问题" in tasks["open_question"][0].messages[0].parts[-1].text
    assert {r.language for r in (*tasks["question"], *tasks["open_question"])} == {"zh"}


@pytest.mark.parametrize("name", ["glaucoma", "AMD"])
def test_the_printed_command_makes_ticks_a_question(tmp_path: Path, capsys, name: str):
    assert cli.main(rows(tmp_path, f"patient;{name}", "#;x", "#;")) == 2
    printed = shlex.split(re.findall(r"Next: run `([^`]+)`", capsys.readouterr().err)[0])
    assert cli.main(printed[3:]) == 0
    asked = list(read_records(tmp_path / "OUT" / "records"))
    assert len(asked) == 12 and len({r.answer for r in asked}) == 2


def test_contradicting_values_are_counted_on_the_screen(tmp_path: Path, capsys):
    accepted(clinic(tmp_path, Geschlecht1="m", Geschlecht4="m", Geschlecht5="w"), capsys)
    assert re.search(r"4 .*contradictory values", capsys.readouterr().out)
    assert len(by_task(tmp_path / "OUT")["sex"]) == 20 and len(by_task(tmp_path / "OUT")["four_way"]) == 24


@pytest.mark.parametrize("column", ["clarity", "dx", "stage"])
def test_choices_are_those_of_rows_with_an_image(tmp_path: Path, capsys, column: str):
    command = rows(tmp_path, "patient;clarity;dx;stage", "#;good;AMD;1", "#;poor;glaucoma;2", "#;fair;Keratokonus;0")
    more = ["none.jpg;p;blurred;uveitis;3", "file;patient;clarity;dx;stage", ";n = 12;3 kinds;4 kinds;7"]
    with (tmp_path / "t.csv").open("a", encoding="utf-8") as file:
        file.write("\n" + "\n".join(more))
    accepted([*command, "--ask", column], capsys)
    (asked,) = [records for task, records in by_task(tmp_path / "OUT").items() if task in (column, "diagnosis")][:1]
    given = {r.answer.partition(": ")[2] for r in asked}
    assert len(asked) == 12 and {choice.casefold() for choice in asked[0].choices} == {g.casefold() for g in given}
    lost = {d.key: d.detail for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.extent == "gone"}
    assert set(lost) == {"line 14", "line 15", "line 16"} and "header again" in lost["line 15"]


def test_images_of_a_second_number_of_the_patient_stay_together(tmp_path: Path, capsys):
    command = rows(tmp_path, "patient_id;MRN;dx", "#;7;glaucoma", "#;8;normal", "#;9;AMD")
    assert cli.main(command) == 2
    error = capsys.readouterr().err
    assert "share either of patient_id and MRN" in error
    printed = shlex.split(re.findall(r"Next: run `([^`]+)`", error)[0])
    assert cli.main(printed[3:]) == 0
    assert len({r.group for r in read_records(tmp_path / "OUT" / "records")}) == 1


def test_a_column_that_is_left_out_takes_its_questions_with_it(tmp_path: Path):
    assert cli.main([*clinic(tmp_path), "--plan", "--ask", "Augendruck"]) == 0
    command = edited(tmp_path, lambda plan: None)
    assert cli.main([*command, "--column", "ignore=Augendruck"]) == 0
    assert sorted(by_task(tmp_path / "OUT")) == ["age_group", "four_way", "sex"]
    assert "augendruck" not in read_manifest(tmp_path / "OUT")["counts"]


def test_a_reply_may_name_a_choice_by_a_synonym_of_the_plan(tmp_path: Path):
    command = rows(tmp_path, "dx", "good", "npdr")
    assert cli.main([*command, "--value=dx:npdr=非增殖性", "--value=dx:good=正常", "--language", "zh", "--plan"]) == 0
    assert cli.main(edited(tmp_path, lambda plan: plan["questions"][0].update(synonyms={"非增殖性": ["背景期"]}))) == 0
    record = by_task(tmp_path / "OUT")["diagnosis"][0]
    (stated,) = yaml.safe_load((tmp_path / "OUT" / "table.yaml").read_text(encoding="utf-8"))["questions"]
    task = Own(**{key: value for key, value in stated.items() if key != "column"})
    assert task.parse(Reply(record.id, "答案: 背景期"), record) == "非增殖性"


def test_an_unknown_modality_is_refused_with_the_first_seven():
    from lmod_train.core.errors import BadArgument
    from lmod_train.core.vocabulary.modalities import MODALITIES
    from lmod_train.extensions.table.command import _plan

    with pytest.raises(BadArgument) as refused:
        _plan(Path("t.csv"), Path(), "XYZ", "", "", False, "", "en")
    assert f"such as {', '.join(m.name for m in MODALITIES[:7])}.\n" in str(refused.value)


def test_the_help_of_the_command_without_a_table_names_the_one_with(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["curate", "--help"])
    assert "curate --table --help" in " ".join(capsys.readouterr().out.split())
