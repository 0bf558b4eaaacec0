"""BRSET read from phantoms whose truth is known, with every flaw of the real table and some more."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from openpyxl import Workbook

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.boxes import read_boxes
from lmod_train.data.curation.image_files import Opened, open_image
from lmod_train.data.sources.brset import Brset
from lmod_train.data.sources.discovery import discover
from lmod_train.phantom.folders.brset import cases, truths, write

FOLDER = Path("physionet.org") / "files" / "brazilian-ophthalmological" / "1.0.1"
N, SEED, SIZE = 14, 3, 32


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with phantoms below PhysioNet's folders; a test that damages files works on a copy."""
    folder = tmp_path_factory.mktemp("brset")
    write(folder, N, SEED, size=SIZE, workers=0)
    return folder


@pytest.fixture
def copy(raw: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(raw / FOLDER, tmp_path / "any name"))


def samples(root: Path) -> list[Sample]:
    return [s for s in Brset(root).samples() if isinstance(s, Sample)]


def drops(root: Path) -> list[Dropped]:
    return [d for d in Brset(root).samples() if isinstance(d, Dropped)]


def edit(root: Path, change: Callable[[list[list[str]]], object], name: str = "labels_brset.csv") -> None:
    """Let `change` work on the cells of the table, header first."""
    with (root / name).open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file))
    change(cells)
    with (root / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(cells)


def put(column: str, row: int, value: str) -> Callable[[list[list[str]]], None]:
    """Set one cell; rows from 1."""

    def change(cells: list[list[str]]) -> None:
        cells[row][cells[0].index(column)] = value

    return change


def test_photographs_open_and_have_no_boxes_as_drawn(raw: Path) -> None:
    for sample, truth in zip(samples(raw / FOLDER), truths(N, SEED), strict=True):
        opened = open_image(sample)
        assert isinstance(opened, Opened)
        assert opened.image.height == SIZE
        assert opened.image.width == round(
            SIZE * {"Canon CR": 2672 / 2056}.get(str(sample.patient.camera), 2984 / 2304)
        )
        boxed, problem = read_boxes(replace(sample, size=opened.image.size))
        assert [(r.structure, r.box) for r in boxed.regions] == list(truth.boxes) == []
        assert problem == ()


def test_the_flaws_of_the_real_table_are_listed_row_by_row(raw: Path) -> None:
    drawn = cases(N, SEED)
    expected = {(f"img{c.image:05d}", "missing photograph") for c in drawn if not c.taken}
    expected |= {(f"img{c.image:05d}", "unreadable label") for c in drawn if c.stray}
    found = drops(raw / FOLDER)
    assert {(d.key, d.reason) for d in found} == expected
    assert len(found) == len(expected) == 4
    assert all(d.file == "labels_brset.csv" for d in found)
    assert sorted(d.detail for d in found if d.reason == "unreadable label") == [
        "focus '0' is not one of 1, 2",
        "focus '0' is not one of 1, 2",
        "opticdisc 'bv' is not one of 1, 2",
    ]


def test_flag_and_grade_that_disagree_are_kept(raw: Path) -> None:
    torn = [s for s in samples(raw / FOLDER) if s.labels["icdr"] != "0" and s.labels["diabetic retinopathy"] == "no"]
    assert len(torn) == 1


@pytest.mark.parametrize("outer", ["", "physionet.org", "physionet.org/files/brazilian-ophthalmological"])
def test_physionets_folders_are_the_dataset_at_any_depth(raw: Path, outer: str) -> None:
    assert [s.key for s in samples(raw / outer)] == [t.key for t in truths(N, SEED)]
    assert Brset.found_in(raw / outer) == bool(outer)
    (found,) = discover(raw).sources
    assert (found.name, found.root) == ("brset", raw / "physionet.org")


def test_a_doubled_folder_is_found(copy: Path, tmp_path: Path) -> None:
    shutil.move(copy, tmp_path / "x" / "x" / "data")
    (found,) = discover(tmp_path).sources
    assert found.root == tmp_path / "x" / "x" / "data"
    assert len(samples(tmp_path / "x")) == N


def test_older_and_mirrored_copies_read_the_same(copy: Path) -> None:
    before = samples(copy)
    (copy / "labels_brset.csv").rename(copy / "labels.csv")
    (copy / "fundus_photos").rename(copy / "images")
    for file in sorted((copy / "images").glob("*.jpg"))[:3]:
        file.rename(file.with_suffix(".JPEG"))

    def respell(cells: list[list[str]]) -> None:
        wanted = {
            "insuline": "Insulin",
            "Illuminaton": "illumination",
            "DR_ICDR": " DR ICDR",
            "patient_id": "patient-id",
        }
        cells[0] = [wanted.get(name, name) for name in cells[0]]
        for row in cells[1:]:  # a table saved by a program that makes numbers of codes
            row[:] = [f"{cell}.0" if cell in ("0", "1", "2") else cell for cell in row]

    edit(copy, respell, "labels.csv")
    after = samples(copy)
    assert [(s.key, s.group, s.labels, s.patient) for s in after] == [
        (s.key, s.group, s.labels, s.patient) for s in before
    ]


def test_clutter_is_ignored_and_strays_are_listed(copy: Path) -> None:
    before = {(d.key, d.reason) for d in drops(copy)}
    for name in (
        "fundus_photos/img00001.jpg:Zone.Identifier",
        "__MACOSX/a.jpg",
        ".DS_Store",
        "SHA256SUMS.txt",
        "index.html",
    ):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_bytes(b"")
    assert {(d.key, d.reason) for d in drops(copy)} == before
    some = copy / "fundus_photos" / f"{samples(copy)[0].key}.jpg"
    shutil.copy(some, copy / f"{some.stem}.png")
    shutil.copy(some, copy / "fundus_photos" / "img99999.jpg")
    (copy / "notes.doc").write_bytes(b"")
    assert {(d.key, d.reason) for d in drops(copy)} - before == {
        ("fundus_photos/" + some.name, "same key twice"),
        ("fundus_photos/img99999.jpg", "no row in the table"),
        ("notes.doc", "stray file"),
    }
    assert len(samples(copy)) == N


@pytest.mark.parametrize(
    ("column", "value", "reason", "detail"),
    [
        ("patient_id", "", "no patient", "without a patient"),
        ("image_id", "", "no image id", "a row of patient"),
        ("image_id", "img00002", "same key twice", "earlier row"),
    ],
)
def test_rows_that_give_no_sample_are_listed(copy: Path, column: str, value: str, reason: str, detail: str) -> None:
    keys = [s.key for s in samples(copy)]
    assert {"img00002", "img00003"} <= set(keys)
    edit(copy, put(column, 3, value))
    assert [s.key for s in samples(copy)] == [key for key in keys if key != "img00003"]
    (dropped,) = [d for d in drops(copy) if d.reason == reason]
    assert detail in dropped.detail
    assert dropped.file == "labels_brset.csv"


@pytest.mark.parametrize(
    ("column", "value", "detail"),
    [
        ("patient_age", "old", "patientage 'old' is not an age in years"),
        ("patient_age", "180", "patientage '180' is not an age in years"),
        ("patient_sex", "3", "patientsex '3' is not one of 1, 2"),
        ("exam_eye", "OD", "exameye 'OD' is not one of 1, 2"),
        ("scar", "2", "scar '2' is not one of 0, 1"),
        ("macula", "0", "macula '0' is not one of 1, 2"),
        ("DR_ICDR", "5", "dricdr '5' is not one of 0, 1, 2, 3, 4"),
        ("quality", "good", "quality 'good' is not one of adequate, inadequate"),
        ("nevus", "", "nevus '' is not one of 0, 1"),
    ],
)
def test_an_unknown_value_drops_only_itself(copy: Path, column: str, value: str, detail: str) -> None:
    before = {s.key: s for s in samples(copy)}
    key = next(k for k in before if k not in {d.key for d in drops(copy)})
    edit(copy, put(column, int(key[3:]), value))
    (problem,) = [d for d in drops(copy) if d.key == key]
    assert (problem.reason, problem.detail) == ("unreadable label", detail)
    after = {s.key: s for s in samples(copy)}
    assert [k for k in before if before[k] != after[k]] == (
        [] if before[key].patient.age is None and "age" in detail else [key]
    )
    lost = set(before[key].labels.items()) - set(after[key].labels.items())
    assert len(lost) == (column in ("scar", "macula", "DR_ICDR", "nevus"))


def test_a_row_shifted_by_a_comma_is_left_out(copy: Path) -> None:
    edit(copy, lambda cells: cells[2].insert(4, "one more"))
    assert "img00002" not in [s.key for s in samples(copy)]
    assert ("img00002", "unreadable row") in {(d.key, d.reason) for d in drops(copy)}


def test_a_stray_quotation_mark_spoils_only_its_value_or_row(copy: Path) -> None:
    before = samples(copy)
    table = copy / "labels_brset.csv"
    lines = table.read_text(encoding="utf-8").splitlines()
    at = lines[0].split(",").index("comorbidities")
    for key, text in (("img00002", '"a" b'), ("img00003", '"never closed')):
        (row,) = [i for i, line in enumerate(lines) if line.startswith(f"{key},")]
        cells = next(csv.reader([lines[row]]))
        lines[row] = ",".join([*cells[:at], text, *cells[at + 1 :]])
    table.write_text("\n".join(lines), encoding="utf-8")
    assert samples(copy) == [s for s in before if s.key != "img00003"]
    (dropped,) = [d for d in drops(copy) if d.reason == "unreadable row"]
    assert dropped.key == "img00003" and "a quotation mark is not closed" in dropped.detail


def test_a_truncated_table_loses_its_last_rows(copy: Path) -> None:
    table = copy / "labels_brset.csv"
    lines = table.read_bytes().splitlines(keepends=True)
    table.write_bytes(b"".join(lines[:5]) + lines[5][:40])
    found = samples(copy)
    assert {s.key for s in found} <= {f"img{i:05d}" for i in range(1, 6)}
    assert sum(d.reason == "no row in the table" for d in drops(copy)) == N - len(found)


def test_a_table_that_cannot_be_read_is_listed_and_gives_no_samples(copy: Path) -> None:
    with (copy / "labels_brset.csv").open("ab") as file:
        file.write(b"\0\0\0")
    assert samples(copy) == []
    (dropped,) = drops(copy)
    assert (dropped.reason, dropped.file) == ("unreadable sheet", "labels_brset.csv")


def test_a_missing_column_is_listed_once(copy: Path) -> None:
    def without_nevus(cells: list[list[str]]) -> None:
        at = cells[0].index("nevus")
        for row in cells:
            del row[at]

    edit(copy, without_nevus)
    assert all("nevus" not in s.labels and "scar" in s.labels for s in samples(copy))
    (dropped,) = [d for d in drops(copy) if d.reason == "missing column"]
    assert "nevus" in dropped.detail


def test_tables_of_other_datasets_are_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("image,label\na,1\n")
    assert not Brset.found_in(tmp_path)
    with pytest.raises(SourceNotFound, match=r"the table \(labels_brset.csv or labels.csv\) is missing"):
        Brset(tmp_path).verify()


def test_a_table_without_photographs_is_not_enough(copy: Path) -> None:
    shutil.rmtree(copy / "fundus_photos")
    with pytest.raises(SourceNotFound, match="every photograph"):
        list(Brset(copy).samples())


@pytest.mark.parametrize("form", ["utf-16", "utf-16-be", "xlsx"])
def test_the_table_as_programs_save_it_again_gives_the_same(raw: Path, copy: Path, form: str) -> None:
    table = copy / "labels_brset.csv"
    text = table.read_text(encoding="utf-8")
    if form == "xlsx":
        book = Workbook()
        for row in csv.reader(text.splitlines()):
            book.active.append([int(cell) if cell.isdecimal() else cell or None for cell in row])
        table.unlink()
        book.save(copy / "labels_brset.xlsx")
    else:
        table.write_bytes(text.encode(form))
    assert Brset.found_in(copy)
    assert [(s.key, s.labels, s.patient) for s in samples(copy)] == [
        (s.key, s.labels, s.patient) for s in samples(raw / FOLDER)
    ]
