"""`curate --table` where the images, the table or its rows are not where they were said to be."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from tests.extensions.table.test_command import clinic, photographs


def moved(command: list[str], images: str | None) -> list[str]:
    at = command.index("--images")
    return [*command[:at], *(["--images", images] if images else []), *command[at + 2 :]]


def next_command(error: str) -> list[str]:
    return shlex.split(re.findall(r"`python -m lmod_train ([^`]+)`", error)[-1])


SPELLINGS = ["f{}.jpg", "F{}.JPG", "f{}", "PHOTOS/f{}.jpg", "{root}/PHOTOS/f{}.jpg", "C:\\p\\f{}.jpg"]


@pytest.mark.parametrize("place", ["PHOTOS", "PHOTOS/empty", "OTHER", None])
@pytest.mark.parametrize("cells", SPELLINGS)
def test_the_folder_of_the_images_is_said_wherever_it_is_near(
    tmp_path: Path, capsys, monkeypatch, place: str | None, cells: str
):
    names = {f"Foto{i}": cells.replace("{}", f"{i:02}").replace("{root}", str(tmp_path)) for i in range(24)}
    command = clinic(tmp_path, **names)
    photographs(tmp_path / "OTHER", ["zz.jpg", "yy.jpg", "xx.jpg"])
    (tmp_path / "PHOTOS" / "empty").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    command = moved(command, str(tmp_path / place) if place else None)
    if place != "PHOTOS":
        assert cli.main(command) == 2
        error = capsys.readouterr().err
        said = [names["Foto0"], names["Foto1"], "none of 24 cells", "column Foto"]
        said += ["'xx.jpg'", "'yy.jpg'"] if place == "OTHER" else ["holds no image"] if place else ["no `--images`"]
        assert not [words for words in said if words not in error.replace("\\\\", "\\")], error
        assert "zz.jpg" not in error and not (tmp_path / "OUT" / "table.yaml").exists()
        command = next_command(error)
        assert command[-2:] == ["--images", str(tmp_path / "PHOTOS")] and command.count("--images") == 1
    assert cli.main(command) == 0
    assert len({r.key for r in read_records(tmp_path / "OUT" / "records")}) == 24


@pytest.mark.parametrize(("there", "stops"), [(0, True), (1, True), (12, False), (24, False)])
def test_a_table_of_more_images_than_the_folder_has_is_no_wrong_folder(tmp_path: Path, capsys, there: int, stops: bool):
    command = clinic(tmp_path)
    part = photographs(tmp_path / "PART", [f"other{i}.jpg" for i in range(2)])
    for i in range(there):
        (tmp_path / "PHOTOS" / f"f{i:02}.jpg").rename(part / f"f{i:02}.jpg")
    assert cli.main(moved(command, str(part))) == (0 if there == 24 else 2)
    error = capsys.readouterr().err
    assert f"{there or 'none'} of 24 cells" in error if stops else there == 24 or "12 of 24 rows have no image" in error
    for file in part.glob("other*"):  # a trial on a few images: all of them are named
        file.unlink()
    if there > 1:
        assert cli.main([*moved(command, str(part)), "--plan"]) == (0 if there == 24 else 2)


def test_files_that_are_nowhere_near_are_asked_for(tmp_path: Path, capsys):
    command = clinic(tmp_path)
    (tmp_path / "PHOTOS").rename(tmp_path / "deep")
    (tmp_path / "A" / "B").mkdir(parents=True)
    (tmp_path / "deep").rename(tmp_path / "A" / "B" / "deep")
    (tmp_path / "EMPTY").mkdir()
    assert cli.main(moved(command, str(tmp_path / "EMPTY"))) == 2
    error = capsys.readouterr().err
    assert next_command(error)[-2:] == ["--images", "DIR"] and "`--column image=NAME`" in error


def test_a_column_whose_cells_name_files_is_said_where_its_name_does_not(tmp_path: Path, capsys):
    images = photographs(tmp_path / "PHOTOS", [f"a{i}.jpg" for i in range(12)])
    lines = [f"a{i % 10 if i < 11 else 99};{'normal' if i % 2 else 'glaucoma'}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["code;dx", *lines]))
    command = ["curate", "--table", str(tmp_path / "t.csv"), "--images", str(images), "--modality", "CFP"]
    assert cli.main([*command, "--out", str(tmp_path / "OUT"), "--workers", "1"]) == 2
    error = capsys.readouterr().err
    assert "10 of 11 cells of the column code" in error
    assert next_command(error)[-2:] == ["--column", "image=code"] and cli.main(next_command(error)) == 0


@pytest.mark.parametrize("missing", ["tabel.csv", "TABLE.CSV", "sub/table.csv", "nothere.csv"])
def test_a_missing_table_is_called_missing(tmp_path: Path, capsys, missing: str):
    command = clinic(tmp_path, 4)
    (tmp_path / "note.pdf").write_text("x")
    command[command.index("--table") + 1] = str(tmp_path / missing)
    assert cli.main(command) == 2
    error = capsys.readouterr().err
    assert f"{str(tmp_path / missing)!r}: expected an existing file" in error and "xlsx" not in error
    there = f"`--table {tmp_path / 'table.csv'}`"
    said = {"nothere.csv": "table.csv", "sub/table.csv": "name the table"}.get(missing, there)
    assert said in error and "note.pdf" not in error


@pytest.mark.parametrize(("n", "said"), [(0, "it has no rows"), (1, "1 patient, 0 of them in test")])
def test_a_table_of_few_rows(tmp_path: Path, capsys, n: int, said: str):
    command = clinic(tmp_path, 2)
    lines = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "table.csv").write_text("\n".join(lines[: n + 1]), encoding="utf-8")
    assert cli.main(command) == (0 if n else 2)
    printed = capsys.readouterr()
    assert said in (printed.out if n else printed.err)
    assert "--folds" not in printed.out and "image" not in printed.err.partition("Next")[0].partition("OUT")[0]


def test_an_empty_table_is_not_said_to_be_of_a_wrong_kind(tmp_path: Path, capsys):
    command = clinic(tmp_path, 2)
    (tmp_path / "table.csv").write_text("")
    assert cli.main(command) == 2
    assert "the table is empty" in (error := capsys.readouterr().err) and "name a table with a header and rows" in error
