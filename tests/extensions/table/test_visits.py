"""`curate --table --visits`: two visits of an eye become a question of change, and no date leaves the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.cli import main
from lmod_train.core.artifacts.records import read_records
from lmod_train.data.cells.ordered import visits_of

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


def test_a_cell_that_is_no_date_is_listed_without_its_words():
    truth = write()
    lines = Path("t.csv").read_text().splitlines()
    places = [n for n, line in enumerate(lines) if DATES[2] in line][:4]  # 4 of 48 rows
    lost = [lines[n].partition(".")[0] for n in places]
    for n in places:
        lines[n] = lines[n].replace(DATES[2], "next spring")
    Path("t.csv").write_text("\n".join(lines) + "\n")
    assert main([*CURATE, "--visits", "--out", "out"]) == 0
    dropped = Path("out/dropped.csv").read_text()
    assert dropped.count("neither a date nor the number") == dropped.count("no visit") == 4
    assert "next spring" not in dropped
    pairs = [r.key for r in read_records(Path("out/records")) if r.task == "icdr_change"]
    assert sorted(pairs) == sorted(key for key in truth if key.partition("+")[2] not in lost)


@pytest.mark.parametrize(
    "dates",
    [
        ("01.02.19", "17.02.20", "25.03.21"), ("2019-05", "2019-06", "2019-07"), ("12.19", "01.20", "02.21"),
        ("baseline", "month 6", "month 12"),
        ("V-1", "V1", "V2"), ("week 1", "month 1", "year 1"), (*DATES[:2], "next spring"),
    ],
)  # fmt: skip
def test_visits_that_are_not_understood_stop(dates: Sequence[str], capsys: pytest.CaptureFixture[str]):
    write(dates)
    assert main([*CURATE, "--visits", "--out", "out"]) == 2
    error = capsys.readouterr().err
    assert "more than a tenth of the rows have neither a date nor a number" in error and "(16)" in error


@pytest.mark.parametrize(
    "dates",
    [
        ("-2", "-1", "0"), ("-1", "0", "6"), ("1.0", "2.0", "10.0"), ("2019", "2020", "2021"), ("T0", "T1", "T2"),
        ("Visit #1", "visit #2", "Visit #3"), ("43800", "43900", "44000"),
    ],
)  # fmt: skip
def test_numbers_with_signs_and_decimals_keep_their_order(dates: Sequence[str]):
    truth = write(dates)
    assert main([*CURATE, "--visits", "--out", "out"]) == 0
    pairs = [r for r in read_records(Path("out/records")) if r.task == "icdr_change"]
    assert {r.key: r.answer.removeprefix("Answer: ") for r in pairs} == truth
