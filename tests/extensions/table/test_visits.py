"""`curate --table --visits`: two visits of an eye become a question of change, and no date leaves the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.cli import main
from lmod_train.core.artifacts.records import read_records
from lmod_train.extensions.table.values import visits_of

DATES = ("10.01.2019", "17.02.2020", "25.03.2021")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(dates: Sequence[str] = DATES, header: str = "Photo,Patient,Eye,Visit date,ICDR") -> dict[str, str]:
    """Write a table of eight patients, both eyes, three visits; return (earlier+later image) -> the true change."""
    Path("photos").mkdir()
    rows, truth = [header], {}
    for n in range(8):
        for side in ("OD", "OS"):
            grades = [(n * 3 + v * (n % 3) + (side == "OS")) % 5 for v in range(3)]
            for v, (date, grade) in enumerate(zip(dates, grades, strict=True)):
                name = f"{n}{side}{v}"
                Image.effect_noise((64, 64), 40 + n * 6 + v).convert("RGB").save(f"photos/{name}.png")
                rows.append(f"{name}.png,P{n:03d},{side},{date},{grade}")
                if v:
                    step = grade - grades[v - 1]
                    truth[f"{n}{side}{v - 1}+{name}"] = (
                        "progressed" if step > 0 else "improved" if step else "unchanged"
                    )
    Path("t.csv").write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")  # the last visit first
    return truth


CURATE = ["curate", "--table", "t.csv", "--images", "photos", "--modality", "CFP", "--workers", "1"]


def test_two_visits_are_a_question_with_its_truth_from_the_grades(capsys: pytest.CaptureFixture[str]):
    truth = write()
    assert main([*CURATE, "--visits", "--out", "out"]) == 0
    assert "asks how grades have changed" in capsys.readouterr().out
    records = read_records(Path("out/records"))
    pairs = [r for r in records if r.task == "icdr_change"]
    assert {r.key: r.answer.removeprefix("Answer: ") for r in pairs} == truth and len(truth) == 32
    assert all([Path(name).stem for name in r.image] == r.key.split("+") for r in pairs)
    splits = {(r.group, r.split) for r in records}
    assert len(splits) == len({group for group, _ in splits}), "a patient is in one split"
    again = [*CURATE[:2], "out/table.yaml", "--out", "again", "--follow_links", "--workers", "1"]
    assert main(again) == 0  # the plan says that visits are asked about
    assert {r.id for r in read_records(Path("again/records"))} == {r.id for r in records}


def test_no_date_is_in_the_curated_folder():
    write()
    assert main([*CURATE, "--visits", "--out", "out"]) == 0
    days = {*DATES, *(str(int(day)) for day in visits_of(DATES).values())}
    for file in Path("out").rglob("*"):
        data = file.read_bytes() if file.is_file() and file.suffix in (".json", ".csv", ".yaml", ".parquet") else b""
        assert not [day for day in days if day.encode() in data], file
    assert all(r.patient.visit is None for r in read_records(Path("out/records")))


def test_without_the_option_a_table_with_dates_is_asked_as_before():
    write()
    assert main([*CURATE, "--out", "out"]) == 0
    assert {r.task for r in read_records(Path("out/records"))} == {"icdr"}


@pytest.mark.parametrize("column", ["Patient", "Eye", "Visit date"])
def test_a_missing_column_is_named_before_anything_is_curated(column: str, capsys: pytest.CaptureFixture[str]):
    write()
    assert main([*CURATE, "--visits", "--out", "out", "--column", f"ignore={column}"]) == 2
    error = capsys.readouterr().err
    assert "--visits" in error and "expected columns of patient, eye, date and a grade" in error
    assert not Path("out/manifest.json").exists()


def test_dates_of_uncertain_order_are_refused(capsys: pytest.CaptureFixture[str]):
    write(("01.02.2019", "03.04.2020", "05.06.2021"))
    assert main([*CURATE, "--visits", "--out", "out"]) == 2
    assert "may have the day or the month first" in capsys.readouterr().err


def test_a_cell_that_is_no_date_is_listed():
    truth = write((*DATES[:2], "next spring"))
    assert main([*CURATE, "--visits", "--out", "out"]) == 0
    dropped = Path("out/dropped.csv").read_text()
    assert dropped.count("next spring") == 16 and dropped.count("no visit") == 16
    pairs = [r.key for r in read_records(Path("out/records")) if r.task == "icdr_change"]
    assert sorted(pairs) == sorted(key for key in truth if key.endswith("1"))


@pytest.mark.parametrize(
    ("cells", "order"),
    [
        (["31/01/2020", "01/02/2020"], [0, 1]), (["01/31/2020", "02/01/2020"], [0, 1]),
        (["2020-02-01", "2020-01-31"], [1, 0]), (["20200201", "20200131"], [1, 0]),
        (["2020年12月1日", "2020年2月3日"], [1, 0]), (["V2", "V10"], [0, 1]), (["visit 3", "visit 1"], [1, 0]),
        (["2020-01-31T08:00", "2020-02-01 07:00"], [0, 1]), (["29.02.2020", "01.03.2020"], [0, 1]),
    ],
)  # fmt: skip
def test_dates_and_numbers_are_in_order(cells: list[str], order: list[int]):
    found = visits_of(cells)
    assert sorted(range(len(cells)), key=lambda n: found[cells[n]]) == order


@pytest.mark.parametrize("cell", ["30.02.2020", "2020-13-01", "soon", "2020113", "", "1e5"])
def test_what_is_no_date_has_no_time(cell: str):
    assert visits_of([cell, "2020-01-01"]) == {"2020-01-01": 737425.0}
