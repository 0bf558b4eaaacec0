"""The command `answers`: from a blank sheet to a report, as a person would type it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.types import Record
from lmod_train.data.formats.reading_sheet import code_of
from tests.tabled import stored


def fill(path: Path, records: list[Record], wrong: frozenset[int] = frozenset(), tasks: tuple[str, ...] = ()) -> Path:
    """Fill in a sheet with the truth, in small letters, except in rows of these numbers."""
    known = {code_of(r): r for r in records}
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        record = known[row["id"]]
        truth = {str(r.id): r.structure for r in record.regions}.get(row["region"], record.answer)
        row["answer"] = "cannot tell" if number in wrong else truth.lower() + " "
    filled = path.with_name("reader_1.csv")
    with filled.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return filled


def answers(*arguments: str | Path) -> int:
    return cli.main(["answers", *map(str, arguments)])


def test_a_person_answers_and_is_scored_as_a_model(
    curated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert answers("--blank", "s.csv", "--curated", curated, "--split", "all", "--seed", "4") == 0
    printed = capsys.readouterr().out
    assert "images have questions of several tasks" in printed
    assert "questions in an order of seed 4" in printed and "s/index.html" in printed
    filled = fill(tmp_path / "s.csv", read_records(curated / "records"))
    assert answers(filled.name, "--curated", curated, "--run", "runs/one") == 0
    printed = capsys.readouterr().out
    assert "reader_1: " in printed and "answers read" in printed and "not understood" not in printed
    rows = read_scores(Run(Path("runs/one")).scores)
    assert {row[:2] for row in rows} == {("one", "reader_1")}
    headline = {
        s.task: s.value for *_, s in rows if s.subset == "all" and s.metric in ("accuracy_strict", "f1_lmod_plus")
    }
    assert headline == {"anatomy": 1.0, "four_way": 1.0, "glaucoma": 1.0}
    assert cli.main(["rescore", "runs/one"]) == 0 and read_scores(Run(Path("runs/one")).scores) == rows
    assert cli.main(["report", "runs/one", "--out", "report"]) == 0
    assert "reader_1" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_what_the_parser_does_not_read_is_listed_by_line(
    curated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    answers("--blank", "s.csv", "--curated", curated, "--split", "all", "--tasks", "glaucoma", "--limit", "5")
    filled = fill(tmp_path / "s.csv", read_records(curated / "records"), frozenset({1, 3}))
    text = filled.read_text(encoding="utf-8").splitlines()
    text[5] = text[5].rpartition(";")[0].rpartition(";")[0] + ";;"
    filled.write_text("\n".join(text) + "\n", encoding="utf-8")
    assert answers(filled, "--curated", curated, "--run", "runs/one", "--reader", "读者") == 0
    printed = capsys.readouterr().out
    assert "1 rows without an answer, which no score contains: line 6" in printed
    assert "not understood: 2 answers" in printed
    assert "line 3: 'cannot tell' (refused), expected GLAUCOMA, NON-GLAUCOMA" in printed and "line 5: " in printed
    assert "4 of 5 records have a reply" in printed and "| 读者" in printed


@pytest.mark.parametrize(
    ("arguments", "problem"),
    stored(__file__, "answers.errors_name_what_to_type"),
)
def test_errors_name_what_to_type(
    curated: Path, tmp_path: Path, arguments: list[str], problem: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert answers(*arguments, "--curated", curated) == 2
    printed = capsys.readouterr().err
    assert problem in printed and "Next: " in printed
    assert list(tmp_path.iterdir()) == []


def test_the_curated_folder_is_no_run(curated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "s.csv").write_text("id,answer\nx,y\n", encoding="utf-8")
    before = sorted(file.name for file in curated.iterdir())
    assert answers(tmp_path / "s.csv", "--curated", curated, "--run", curated) == 2
    assert "this is a curated folder" in capsys.readouterr().err
    assert sorted(file.name for file in curated.iterdir()) == before
