"""A table is curated only where every value of its used columns is in the records, or its loss is accepted."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.data.curation.manifest_files import read_dropped
from tests.extensions.table.accepting import accepted, stopped

ROWS = 60
Rows = list[dict[str, str]]

SEXES = (("M", "F"), ("male", "female"), ("m", "w"), ("男", "女"), ("H", "F"))
SIDES = (("OD", "OS"), ("R", "L"), ("rechts", "links"), ("右眼", "左眼"), ("OD", "OI"))
DISEASES = (
    ("glaucoma", "normal", "cataract"),
    ("Glaukom", "gesund", "Katarakt"),
    ("glaucoma", "normal", "catarata"),
    ("青光眼", "正常", "白内障"),
    ("DR", "AMD", "normal"),
)
FLAGS = (("1", "0"), ("yes", "no"), ("ja", "nein"), ("是", "否"), ("Y", "N"))


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("PHOTOS")
    for n in range(ROWS):
        noise = np.random.default_rng(n).integers(0, 255, (24, 24, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / f"a{n:02}.png")
    return folder


def clean(draw: random.Random) -> Rows:
    """Return a table without anything hidden: two images a patient, each value in at least six rows."""
    patients, sexes, sides = draw.choice(("P{:03}", "{:05}", "a-{:02}")), draw.choice(SEXES), draw.choice(SIDES)
    diseases, flags, offset = draw.choice(DISEASES), draw.choice(FLAGS), draw.randrange(60)
    kept = draw.sample(["sex", "age", "DME", "drusen", "DR grade", "clarity"], draw.randrange(1, 7))
    each = draw.choice((1, 2, 6, 12))
    rows = []
    for n in range(ROWS):
        person, disease = n // each, diseases[n % 3]
        sick = disease not in ("normal", "gesund", "正常")
        row = {"image": f"a{n:02}.png", "patient_id": patients.format(person + offset), "eye": sides[n % 2]}
        row |= {"diagnosis": disease, "sex": sexes[person % 2], "age": str(40 + person % 40)}
        row |= {"DME": flags[not (sick and n // 3 % 2)], "drusen": flags[not (sick and n // 6 % 2)]}
        row |= {"DR grade": "1234"[n // 3 % 4] if sick else "0"}
        row |= {"clarity": ("good", "fair", "poor")[n // 4 % 3]}
        rows.append({name: row[name] for name in ("image", "patient_id", "eye", "diagnosis", *kept)})
    order = list(rows[0])
    draw.shuffle(order)
    return [{name: row[name] for name in order} for row in rows]


def hidden_class(rows: Rows, draw: random.Random) -> None:
    column = draw.choice(["eye", *(name for name in ("sex", "DME") if name in rows[0])])
    word = draw.choice(("none of them", "zz", "both?", "k.x."))
    for row in draw.sample(rows, draw.randrange(1, 12)):
        row[column] = word


def named_none(rows: Rows, draw: random.Random) -> None:
    word, value = draw.choice(("None", "nil", "NA", "unknown")), rows[0]["diagnosis"]
    for row in rows:
        row["diagnosis"] = word if row["diagnosis"] == value else row["diagnosis"]


def spreadsheet_ids(rows: Rows, draw: random.Random) -> None:
    ids = draw.choice((("1.23457E+17",), ("1,23E+05", "1,24E+05"), ("#REF!",), ("0", "1")))
    for n, row in enumerate(rows):
        row["patient_id"] = ids[n % len(ids)]


def contradicting(rows: Rows, draw: random.Random) -> None:
    swapped = draw.sample(range(ROWS), draw.randrange(10, 40))
    for n, row in enumerate(rows):
        sick = n % 2 == 0
        row["Glaucoma (reader 1)"] = str(int(sick))
        row["Glaucoma (reader 2)"] = str(int(sick is not (n in swapped)))
        row["diagnosis"] = "unclear"


def doubled(rows: Rows, draw: random.Random) -> None:
    for n in draw.sample(range(1, ROWS), draw.randrange(8, 20)):
        rows[n]["image"] = rows[n - 1]["image"]


def not_found(rows: Rows, draw: random.Random) -> None:
    for n in draw.sample(range(ROWS), draw.randrange(7, 25)):
        rows[n]["image"] = f"b{n:02}.png"


HIDDEN: tuple[Callable[[Rows, random.Random], None], ...] = (
    hidden_class,
    named_none,
    spreadsheet_ids,
    contradicting,
    doubled,
    not_found,
)


def typed(folder: Path, photographs: Path, rows: Rows, *more: str) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    command = ["curate", "--table", str(folder / "t.csv"), "--images", str(photographs), "--modality", "CFP"]
    return [*command, "--out", str(folder / "OUT"), "--workers", "1", *more]


def wrongly_curated(folder: Path, photographs: Path, seeds: range, kinds: Any) -> list[str]:
    """Return the tables whose status is 0 although something is hidden in them, or 2 although nothing is."""
    wrong = []
    for seed in seeds:
        draw = random.Random(seed)
        rows = clean(draw)
        kind = kinds[seed % len(kinds)] if kinds else None
        if kind:
            kind(rows, draw)
        status = cli.main(typed(folder / str(seed), photographs, rows, "--plan"))
        if status != (2 if kind else 0):
            wrong.append(f"seed {seed}, {kind.__name__ if kind else 'clean'}: status {status}")
    return wrong


def test_a_table_with_something_hidden_stops(tmp_path: Path, photographs: Path):
    assert wrongly_curated(tmp_path, photographs, range(18), HIDDEN) == []


def test_a_table_with_nothing_hidden_does_not_stop(tmp_path: Path, photographs: Path):
    assert wrongly_curated(tmp_path, photographs, range(1000, 1010), ()) == []


@pytest.mark.slow
def test_five_hundred_tables_stop_and_two_hundred_do_not(tmp_path: Path, photographs: Path):
    assert wrongly_curated(tmp_path / "hidden", photographs, range(100, 600), HIDDEN) == []
    assert wrongly_curated(tmp_path / "clean", photographs, range(2000, 2200), ()) == []


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_records_and_listed_losses_by_value(tmp_path: Path, photographs: Path, capsys, seed: int):
    draw = random.Random(seed)
    rows = clean(draw)
    for n in draw.sample(range(ROWS), 3):
        rows[n]["image"] = f"b{n}.png"
        rows[n - 1]["eye"] = "OU"
    accepted(typed(tmp_path, photographs, rows, "--name", "clinic"), capsys)
    records = {r.key: r for r in read_records(tmp_path / "OUT" / "records") if r.task in ("four_way", "diagnosis")}
    lost = {d.key: d for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.extent == "gone"}
    for value in {row["diagnosis"] for row in rows}:
        lines = [n for n, row in enumerate(rows) if row["diagnosis"] == value]
        kept = [n for n in lines if rows[n]["image"].removesuffix(".png") in records]
        assert len(lines) == len(kept) + sum(f"line {n + 2}" in lost for n in lines)
    of_both = [row for row in rows if row["eye"] == "OU" and not row["image"].startswith("b")]
    assert sum(r.patient.laterality is None for r in records.values()) == len(of_both)


def test_a_class_that_is_lost_is_shown_with_its_shares_and_can_be_accepted(tmp_path: Path, photographs: Path, capsys):
    rows = [{"image": f"a{n:02}.png", "sex": "F" if n < 30 else "M" if n < 48 else "X?"} for n in range(ROWS)]
    error = stopped(typed(tmp_path, photographs, rows), capsys)
    assert "'X?'   12    0        20 %   -> 0 %   12 unreadable value (lines 50, 51, 52, ...)" in error
    assert "'F'    30    30       50 %   -> 62 %" in error
    assert accepted(typed(tmp_path, photographs, rows), capsys) == error
    assert len(read_records(tmp_path / "OUT" / "records")) == 48


@pytest.mark.parametrize(("lost", "stops"), [(0, False), (6, False), (7, True)])
def test_a_tenth_of_the_images_may_be_missing(tmp_path: Path, photographs: Path, lost: int, stops: bool):
    rows = [{"image": f"a{n:02}.png", "glaucoma": "yes" if n % 2 else "no"} for n in range(ROWS)]
    for n in range(lost):
        rows[n * 2 + n % 2]["image"] = f"b{n}.png"
    assert cli.main(typed(tmp_path, photographs, rows)) == (2 if stops else 0)


@pytest.mark.parametrize(("lost", "of", "stops"), [(1, 10, False), (2, 10, True), (5, 6, False), (6, 6, True)])
def test_a_value_of_ten_rows_may_lose_a_tenth_and_none_may_vanish(
    tmp_path: Path, photographs: Path, lost: int, of: int, stops: bool
):
    rows = [{"image": f"a{n:02}.png", "clarity": "poor" if n < of else "good", "eye": "OD"} for n in range(ROWS)]
    for n in range(lost):
        rows[n]["image"] = f"b{n}.png"
    assert cli.main(typed(tmp_path, photographs, rows, "--ask", "clarity", "--plan")) == (2 if stops else 0)


def test_images_that_cannot_be_read_count_after_they_were_tried(tmp_path: Path, photographs: Path, capsys):
    folder = tmp_path / "PHOTOS"
    folder.mkdir()
    for n in range(20):
        Image.fromarray(np.random.default_rng(n).integers(0, 255, (24, 24, 3), dtype=np.uint8)).save(
            folder / f"{n}.png"
        )
    for n in range(0, 20, 5):
        (folder / f"{n}.png").write_bytes(b"no picture")
    rows = [{"image": f"{n}.png", "glaucoma": "yes" if n % 2 else "no"} for n in range(20)]
    error = accepted(typed(tmp_path, folder, rows), capsys)
    assert "4 of 20 rows have no image (image_unreadable 4)" in error
    assert "a value" not in capsys.readouterr().err and len(read_records(tmp_path / "OUT" / "records")) == 16


def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path, photographs: Path, capsys):
    rows = [{"image": f"a{n:02}.png", "glaucoma": "yes" if n % 2 else "no"} for n in range(ROWS)]
    command = typed(tmp_path, photographs, rows)
    (tmp_path / "OUT" / "images").mkdir(parents=True)
    (tmp_path / "OUT" / "images" / "mine.jpg").write_bytes(b"mine")
    for name in ("", "table.yaml"):  # a plan that a user has put there makes the folder no curated one
        if name:
            (tmp_path / "OUT" / name).write_text("", encoding="utf-8")
        assert cli.main(command) == 2 and "expected a new or empty folder" in capsys.readouterr().err
        assert (tmp_path / "OUT" / "images" / "mine.jpg").exists()
