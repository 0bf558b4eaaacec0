"""The table has the published columns and the published counts (datasheet of version 1.0.1)."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from lmod_train.phantom.folders.brset import COLUMNS, row, write_table
from tests.published_brset import published_rows


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return published_rows(5)


def test_the_header_is_the_published_one(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", [row(1, 2, "Canon CR", 61.0, "male", "right", ["drusen"], 2, 1, ["illumination"])])
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        header, cells = list(csv.reader(file))
    assert header == list(COLUMNS)
    assert len(header) == 34
    assert {"insuline", "Illuminaton", "DR_SDRG", "DR_ICDR", "drusens", "increased_cup_disc"} <= set(header)
    cell = dict(zip(header, cells, strict=True))
    assert (cell["image_id"], cell["patient_id"], cell["patient_age"]) == ("img00001", "2", "61.0")
    assert (cell["patient_sex"], cell["exam_eye"], cell["drusens"], cell["Illuminaton"]) == (
        "1",
        "1",
        "1",
        "2",
    )
    assert (cell["DR_ICDR"], cell["DR_SDRG"], cell["macula"], cell["quality"]) == (
        "2",
        "1",
        "1",
        "Inadequate",
    )
    assert "," in cell["comorbidities"]


def test_class_counts_are_the_published_ones(rows: list[dict[str, str]]) -> None:
    assert len(rows) == 16_266
    assert len({r["patient_id"] for r in rows}) == 8_524
    assert Counter(r["DR_ICDR"] for r in rows) == {"0": 15183, "1": 158, "2": 451, "3": 78, "4": 396}
    assert Counter(r["DR_SDRG"] for r in rows) == {"0": 15188, "1": 280, "2": 133, "3": 263, "4": 402}
    positives = {
        **{"increased_cup_disc": 3205, "drusens": 2833, "diabetic_retinopathy": 1070, "other": 820},
        **{"macular_edema": 401, "amd": 299, "scar": 291, "hypertensive_retinopathy": 284, "myopic_fundus": 270},
        **{"nevus": 130, "vascular_occlusion": 101, "hemorrhage": 95, "retinal_detachment": 7},
    }
    assert {name: sum(r[name] == "1" for r in rows) for name in positives} == positives
    abnormal = {"macula": 4677, "vessels": 807, "optic_disc": 3279}
    assert {name: sum(r[name] == "2" for r in rows) for name in abnormal} == abnormal
    assert Counter(r["patient_sex"] for r in rows) == {"2": 10052, "1": 6214}
    assert round(sum(not r["patient_age"] for r in rows) / len(rows), 3) == 0.335


def test_errors_are_the_published_ones(rows: list[dict[str, str]]) -> None:
    assert Counter(r["optic_disc"] for r in rows)["bv"] == 1
    assert Counter(r["focus"] for r in rows)["0"] == 2
    assert sum((r["DR_ICDR"] != "0") != (r["diabetic_retinopathy"] == "1") for r in rows) == 15
    lost = [r for r in rows if r["image_id"] in {*(f"img{i:05d}" for i in range(4414, 4420)), "img06900"}]
    assert len(lost) == 7
    assert {r["DR_ICDR"] + r["macula"] + r["scar"] for r in lost} == {"010"}


def test_photographs_of_a_patient_agree_on_age_and_sex(rows: list[dict[str, str]]) -> None:
    people = {(r["patient_id"], r["patient_sex"], r["patient_age"]) for r in rows}
    assert len(people) == 8_524
    groups = Counter(min(int(float(r["patient_age"])) // 10, 8) for r in rows if r["patient_age"])
    assert min(groups[d] for d in range(2, 9)) > 100


def test_grades_rise_together(rows: list[dict[str, str]]) -> None:
    pairs = {(int(r["DR_ICDR"]), int(r["DR_SDRG"])) for r in rows}
    assert all(abs(a - b) <= 1 or (a, b) == (1, 0) for a, b in pairs), pairs


def test_seeds_assign_differently(rows: list[dict[str, str]]) -> None:
    other = published_rows(6)
    assert other != rows == published_rows(5)
