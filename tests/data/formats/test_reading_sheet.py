"""A blank sheet: every question once, and nothing that gives an answer away."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.data.formats.reading_sheet import COLUMNS, LETTERS, code_of, letters, sheet_of, write_blank
from tests.data.formats.conftest import anatomy, record, write_curated


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def diseased(folder: Path, count: int = 12) -> Path:
    """Write a folder whose paths, keys and ids name the diagnosis, as those of real sources do."""
    names = [("GLAUCOMA", "NON-GLAUCOMA")[n % 2] for n in range(count)]
    records = [
        record("glaucoma", n, id=f"glaucoma/e/{key}", key=key, image=(image,), image_plain=(image,), answer=name)
        for n, name in enumerate(names)
        for key in [f"{name}/{n}"]
        for image in [f"images/e/{key}.jpg"]
    ]
    return write_curated(folder, records, open_eyes=True, e=True)


def test_each_question_has_a_row_and_each_region_one(free: Path, tmp_path: Path):
    sheet = sheet_of(free, split="all")
    folder = write_blank(sheet, tmp_path / "s.csv")
    found = rows(tmp_path / "s.csv")
    assert tuple(found[0]) == COLUMNS and all(row["answer"] == row["comment"] == "" for row in found)
    assert len(found) == 4 + 2 * 2 + 1, "the second turn of a conversation holds the answer to the first"
    assert sheet.left_out == {"later turns of conversations, which contain the answers to earlier ones": 1}
    regions = [row for row in found if row["region"]]
    assert {(row["id"], row["region"]) for row in regions} == {
        (code_of(anatomy(*one)), region) for one in ((0, "train"), (1, "val")) for region in "12"
    }
    assert regions[0]["choices"] == "optic disc | optic cup"
    named = {name for row in found for name in row["image"].split("; ")}
    assert {file.name for file in (folder / "images").iterdir()} == named
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert all(f'src="images/{name}"' in page for name in named) and not (folder / "NOTICE").exists()
    assert set(re.findall(r"<code>([a-z-]+)</code>", page)) == {row["id"] for row in found}


def test_neither_names_nor_words_nor_order_give_the_answer_away(tmp_path: Path):
    curated = diseased(tmp_path / "c", 40)
    folder = write_blank(sheet_of(curated, split="all"), tmp_path / "s.csv")
    prompt = {"question", "choices"}
    written = " ".join(value for row in rows(tmp_path / "s.csv") for name, value in row.items() if name not in prompt)
    written += " ".join(file.relative_to(tmp_path).as_posix() for file in folder.rglob("*"))
    assert "glaucoma" not in written.casefold()
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert not any(name in page for r in sheet_of(curated, split="all").records for name in (r.id, r.key, *r.image))
    classes = {code_of(r): r.answer for r in sheet_of(curated, split="all").records}
    order = [classes[row["id"]] == "GLAUCOMA" for row in rows(tmp_path / "s.csv")]
    changes = sum(a != b for a, b in pairwise(order))
    assert 10 <= changes <= 30, "20 are expected of a shuffle; sorted by class there is 1, as curated there are 39"
    assert [row["image"][:2] for row in rows(tmp_path / "s.csv")] == [f"{n:02}" for n in range(1, 41)]


def test_what_stands_beside_the_pixels_of_an_image_is_left_out(tmp_path: Path):
    curated = diseased(tmp_path / "c")
    file = sorted((curated / "images").rglob("*.jpg"))[0]
    with Image.open(file) as image:
        image.save(file, comment=b"advanced glaucoma")
    assert b"advanced" in file.read_bytes()
    folder = write_blank(sheet_of(curated, split="all"), tmp_path / "s.csv")
    copied = list((folder / "images").iterdir())
    assert len(copied) == 12 and not any(b"advanced" in one.read_bytes() for one in copied)


def test_the_order_is_that_of_the_seed(tmp_path: Path):
    curated = diseased(tmp_path / "c")
    orders = [[r.id for r in sheet_of(curated, split="all", seed=seed).records] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2] and sorted(orders[0]) == sorted(orders[2])


def test_questions_about_one_photograph_are_together_and_counted(tmp_path: Path):
    marked = [replace(anatomy(n, "train"), image_plain=(f"images/open_eyes/part/{n:03}.jpg",)) for n in range(5)]
    curated = write_curated(tmp_path / "c", [*(record("glaucoma", n) for n in range(5)), *marked], open_eyes=True)
    sheet = sheet_of(curated, split="train")
    assert [r.task for r in sheet.records] == ["anatomy", "glaucoma"] * 5
    assert all(a.key == b.key for a, b in zip(sheet.records[::2], sheet.records[1::2], strict=True))
    assert sheet.several_tasks() == 5


def test_a_part_of_the_records_can_be_chosen(free: Path, tmp_path: Path):
    assert {r.split for r in sheet_of(free).records} == {"test"}
    limited = sheet_of(free, split="all", tasks=["glaucoma"], limit=2)
    assert sorted(r.key for r in limited.records) == ["part/000", "part/001"]
    (tmp_path / "ids").write_text("glaucoma/open_eyes/part/001\nglaucoma/open_eyes/part/003\nelse/where/1\n")
    chosen = sheet_of(free, split="train", subset=tmp_path / "ids")
    assert [r.key for r in chosen.records] == ["part/001"]
    assert list(chosen.left_out.values()) == [2]
    with pytest.raises(BadArgument, match=r"(?s)--subset.*--split all"):
        sheet_of(free, split="val", subset=tmp_path / "ids")


def test_a_source_that_must_not_be_passed_on_has_a_notice(mixed: Path, tmp_path: Path):
    sheet = sheet_of(mixed, split="train")
    folder = write_blank(sheet, tmp_path / "s.csv")
    assert sheet.stays and "closed_eyes | licence of closed_eyes | no" in (folder / "NOTICE").read_text()
    assert "must not be passed on" in (folder / "index.html").read_text()


def test_the_same_command_changes_nothing_and_a_filled_in_sheet_is_never_overwritten(free: Path, tmp_path: Path):
    path, sheet = tmp_path / "s.csv", sheet_of(free, split="all")
    write_blank(sheet, path)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "s").rglob("*")}
    write_blank(sheet, path)
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "s").rglob("*")} == before
    path.write_text(path.read_text(encoding="utf-8").replace(",,", ",GLAUCOMA,", 1), encoding="utf-8")
    filled = path.read_bytes()
    with pytest.raises(BadArgument, match="filled in"):
        write_blank(sheet, path)
    assert path.read_bytes() == filled
    with pytest.raises(BadArgument, match="new or empty folder"):
        write_blank(sheet_of(free, split="test"), tmp_path / "s.tsv")


def test_a_missing_image_leaves_neither_table_nor_folder(tmp_path: Path):
    curated = diseased(tmp_path / "c")
    next((curated / "images").rglob("*.jpg")).unlink()
    with pytest.raises(ArtifactError, match=r"curated image cannot be read"):
        write_blank(sheet_of(curated, split="all"), tmp_path / "s.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


def test_a_table_without_suffix_is_refused(free: Path, tmp_path: Path):
    with pytest.raises(BadArgument, match=r"e\.g\. `--blank s.csv`"):
        write_blank(sheet_of(free, split="all"), tmp_path / "s")


def test_a_code_is_of_all_that_is_asked_and_not_of_the_truth():
    one = record("glaucoma", 0)
    codes = {code_of(other) for other in (one, replace(one, choices=("A",)), replace(one, image_sha256=("1" * 64,)))}
    assert len(codes) == 3 and code_of(replace(one, answer="NON-GLAUCOMA", split="test")) == code_of(one)
    assert re.fullmatch(f"[{LETTERS}]{{4}}(-[{LETTERS}]{{4}}){{2}}", code_of(one))
    assert len({letters(str(n), 12) for n in range(20_000)}) == 20_000
