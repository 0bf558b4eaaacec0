"""Boxes of phantoms in every layout of columns: the regions that are asked about are the boxes that were drawn."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Box, Record
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.extensions.table.places import structure_of
from lmod_train.phantom.truth import Truth
from tests.drawn import g1020

Row = Mapping[str, object]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Truth]]:
    root = tmp_path_factory.mktemp("drawn")
    g1020.write(root, n=4, seed=3, size=200, workers=1)
    return root, sorted(g1020.truths(n=4, seed=3, size=200), key=lambda truth: -len(truth.boxes))


def corners(*names: str) -> Callable[[Box], Row]:
    return lambda box: dict(zip(names, (box.x0, box.y0, box.x1, box.y1), strict=True))


def sides(*names: str) -> Callable[[Box], Row]:
    return lambda box: dict(zip(names, (box.x0, box.y0, box.width, box.height), strict=True))


LAYOUTS = {
    "x_min": corners("x_min", "y_min", "x_max", "y_max"),
    "xmin": corners("xmin", "ymin", "xmax", "ymax"),
    "X1": corners("X1", "Y1", "X2", "Y2"),
    "bbox": corners("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2"),
    "left right": corners("left", "top", "right", "bottom"),
    "x": sides("x", "y", "w", "h"),
    "left": sides("left", "top", "width", "height"),
    "whole": lambda box: {**corners("xmin", "ymin", "xmax", "ymax")(box), "width": 200, "height": 200},
}


def write(folder: Path, table: Sequence[Row]) -> Path:
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in table for name in row)))
        writer.writeheader()
        writer.writerows(table)
    return folder / "t.csv"


def curated(folder: Path, images: Path, table: Sequence[Row], *more: str) -> dict[str, Record]:
    command = ["curate", "--table", str(write(folder, table)), "--images", str(images), "--modality", "CFP"]
    command += ["--name", "clinic", "--out", str(folder / "OUT"), "--workers", "1", *more]
    status, losses = cli.main(command), folder / "OUT" / "losses.csv"
    assert (cli.main([*command, "--accept", str(losses)]) if losses.exists() else status) == 0
    return {r.key.rpartition("/")[2]: r for r in read_records(folder / "OUT" / "records") if r.task == "anatomy"}


def boxes_of(record: Record) -> set[tuple[str, Box]]:
    return {(region.structure, region.box) for region in record.regions}


def listed(folder: Path) -> dict[str, str]:
    drops = read_dropped(folder / "OUT" / "dropped.csv")
    return {d.key: d.detail for d in drops if d.reason in ("unreadable box", "unreadable value")}


def a_row_each(truths: Sequence[Truth], layout: Callable[[Box], Row]) -> list[dict[str, object]]:
    words = {"optic disc": "Disc", "optic cup": "optic_cup"}
    return [
        {"filename": f"{truth.key}.jpg", "class": words[structure], **layout(box)}
        for truth in truths
        for structure, box in truth.boxes
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_one_image_are_its_regions(tmp_path: Path, drawn: tuple[Path, list[Truth]], layout: str):
    images, truths = drawn
    records = curated(tmp_path, images, a_row_each(truths, LAYOUTS[layout]))
    assert {key: boxes_of(r) for key, r in records.items()} == {t.key: set(t.boxes) for t in truths}
    assert not [d for d in read_dropped(tmp_path / "OUT" / "dropped.csv") if d.key.startswith("line")]
    assert {word for r in records.values() for word in r.choices} == {"optic disc", "optic cup"}


@pytest.mark.parametrize("form", ["{}_{}", "{} {}", "optic_{}_{}"])
@pytest.mark.parametrize("layout", [LAYOUTS["x_min"], LAYOUTS["X1"], LAYOUTS["x"], LAYOUTS["left"]])
def test_columns_of_a_structure_are_its_box(tmp_path: Path, drawn: tuple[Path, list[Truth]], form: str, layout):
    images, truths = drawn
    table = [
        {"file": f"{t.key}.jpg", "glaucoma": t.labels["glaucoma"]}
        | {form.format(name[6:], side): v for name, box in t.boxes for side, v in layout(box).items()}
        for t in truths
    ]
    records = curated(tmp_path, images, table)
    assert {key: boxes_of(r) for key, r in records.items()} == {t.key: set(t.boxes) for t in truths}
    plan = ["curate", "--table", str(tmp_path / "OUT" / "table.yaml"), "--out", str(tmp_path / "NEW"), "--follow_links"]
    assert cli.main([*plan, "--workers", "1"]) == 0
    again = {r.key.rpartition("/")[2]: r for r in read_records(tmp_path / "NEW" / "records") if r.task == "anatomy"}
    assert {key: r.regions for key, r in again.items()} == {key: r.regions for key, r in records.items()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"xmin": 5000, "xmax": 5040}, "is not inside the image"),
        ({"xmin": -40}, "is not inside the image"),
        ({"xmax": 0}, "expected the upper left corner before the lower right one"),
        ({"xmin": 60, "xmax": 60}, "expected the upper left corner before the lower right one"),
        ({"ymin": ""}, "expected four numbers"),
        ({"xmin": 0.1, "ymin": 0.1, "xmax": 0.5, "ymax": 0.4}, "expected pixels"),
        ({"class": "fundus"}, "no structure of the vocabulary"),
        ({"class": ""}, "its structure is not known"),
    ],
)
def test_a_box_that_cannot_be_one_costs_its_own_value(
    tmp_path: Path, drawn: tuple[Path, list[Truth]], change: Row, said: str
):
    images, truths = drawn
    table = a_row_each(truths, LAYOUTS["xmin"])
    table[1] |= change
    records = curated(tmp_path, images, table)
    assert list(listed(tmp_path)) == ["line 3"] and said in listed(tmp_path)["line 3"]
    first, *others = truths
    assert boxes_of(records[first.key]) == {first.boxes[0]}
    assert {t.key: set(t.boxes) for t in others} == {t.key: boxes_of(records[t.key]) for t in others}


@pytest.mark.parametrize("names", [("x", "y", "width", "height"), ("x_center", "y_center", "w", "h"),
                                   ("x1", "y1", "w", "h"), ("xmin", "xmax", "ymin", "y")])  # fmt: skip
def test_names_that_leave_the_layout_open_are_no_box(tmp_path: Path, drawn: tuple[Path, list[Truth]], names):
    images, truths = drawn
    table = [row | {"glaucoma": "yes"} for row in a_row_each(truths, corners(*names))]
    assert curated(tmp_path, images, table) == {}


def test_a_structure_that_the_options_lack_is_added_to_them(tmp_path: Path, drawn: tuple[Path, list[Truth]]):
    images, truths = drawn
    table = [
        *a_row_each(truths, LAYOUTS["x"]),
        {"filename": f"{truths[0].key}.jpg", "class": "Fovea", "x": 9, "y": 8, "w": 30, "h": 20},
    ]
    records = curated(tmp_path, images, table)
    assert ("fovea", Box(9, 8, 39, 28)) in boxes_of(records[truths[0].key])
    assert {r.choices for r in records.values()} == {("optic disc", "optic cup", "fovea")}


def test_structures_are_named_in_the_languages_of_diagnoses():
    """Words of a language never hide a name of the benchmark; one word of each language names the disc."""
    names = ("Papille", "Sehnervenkopf", "papille optique", "Papila óptica", "disco óptico", "视盘", "視神経乳頭")
    assert {structure_of(name) for name in names} == {"optic disc"}
    assert structure_of("Exkavation") == "optic cup" and structure_of("Makulaforamen") == "macular hole"
    for term in STRUCTURES:
        assert all(structure_of(word) == term.name for word in (term.name, *term.chinese)), term.name


def test_od_beside_a_box_is_the_disc_unless_os_is_there_too():
    assert structure_of("OD") == structure_of("od", ["OD", "OC", "disc"]) == "optic disc"
    assert structure_of("OD", ["OD", "os"]) is None and structure_of("OS", ["OD", "OS"]) is None


def test_a_box_of_no_structure_is_not_used_and_one_of_two_is_asked(
    tmp_path: Path, drawn: tuple[Path, list[Truth]], capsys
):
    images, truths = drawn
    table = [row | {"glaucoma": "yes", "class": ""} for row in a_row_each(truths, LAYOUTS["x"])]
    assert curated(tmp_path, images, table) == {}
    assert re.search(r"  x +a box, not used", capsys.readouterr().out)
    table = [row | {"target": row["class"]} for row in a_row_each(truths, LAYOUTS["x"])]
    command = ["curate", "--table", str(write(tmp_path, table)), "--images", str(images), "--modality", "CFP"]
    assert cli.main([*command, "--out", str(tmp_path / "TWO")]) == 2
    assert "which of class, target names the structure in the box" in capsys.readouterr().err
    assert len(curated(tmp_path / "TWO", images, table, "--column", "structure=target")) == len(truths)


def test_a_structure_in_another_word_is_stated(tmp_path: Path, drawn: tuple[Path, list[Truth]]):
    images, truths = drawn
    table = [
        row | {"class": {"Disc": "Papille"}.get(str(row["class"]), "?")} for row in a_row_each(truths, LAYOUTS["x"])
    ]
    stated = ["--column", "structure=class", "--value", "class:Papille=optic disc"]
    records = curated(tmp_path, images, table, *stated)
    assert {key: boxes_of(r) for key, r in records.items()} == {t.key: {t.boxes[0]} for t in truths}
