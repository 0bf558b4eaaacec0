"""What holds for every folder that is drawn: the seed decides it, a second run keeps it, other options are refused."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import load_workbook

from lmod_train.cli import phantoms
from lmod_train.core.errors import BadArgument
from lmod_train.core.extension import named
from lmod_train.phantom.shots import write_workbook

FOLDERS = {name: named(m) for name, m in phantoms.drawn_folders().items() if m.startswith("lmod_train.phantom.")}
SMALL = {"n": 4, "seed": 1, "size": 64, "workers": 0}


@pytest.fixture(params=FOLDERS)
def folder(request):
    return FOLDERS[request.param]


def files(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_the_seed_decides_every_image(folder, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        folder.write(tmp_path / name, **SMALL | {"seed": seed})
    one, same, other = (files(tmp_path / name) for name in "abc")
    assert one == same
    images = [name for name in one if name.endswith((".jpg", ".png", ".npz"))]
    assert len(images) >= 4 and not {one[name] for name in images} & set(other.values())


def test_a_workbook_holds_no_time_of_writing(tmp_path):
    write_workbook(tmp_path / "a.xlsx", ("id", "age"), [(1, 70)])
    with ZipFile(tmp_path / "a.xlsx") as book:
        assert {entry.date_time for entry in book.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert set(re.findall(r"\d{4}-\d\d-\d\dT[^<]*", book.read("docProps/core.xml").decode())) == {
            "1980-01-01T00:00:00Z"
        }
    assert load_workbook(tmp_path / "a.xlsx").active["B2"].value == 70


def test_a_second_run_keeps_the_files_and_other_options_are_refused(folder, tmp_path):
    folder.write(tmp_path, **SMALL)
    next(p for p in tmp_path.rglob("*") if p.suffix in (".jpg", ".png", ".npz")).write_bytes(b"kept")
    before = files(tmp_path)
    for other in ({}, {"n": 5}, {"seed": 0}, {"size": 68}):
        if other:
            with pytest.raises(BadArgument, match="name a new folder"):
                folder.write(tmp_path, **SMALL | other)
        else:
            folder.write(tmp_path, **SMALL)
        assert files(tmp_path) == before


def test_no_image_is_as_few_as_can_be(folder, tmp_path):
    with pytest.raises(BadArgument, match="n=-1"):
        folder.write(tmp_path, **SMALL | {"n": -1})
    assert list(tmp_path.iterdir()) == [] == folder.truths(0, 0)
    folder.write(tmp_path, **SMALL | {"n": 0})
    assert not [name for name in files(tmp_path) if name.endswith((".jpg", ".png", ".npz"))]


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("brset", 8, r"size=\(8, 8\)"),
        ("cataract_1k", 30, "size=30"),
        ("cataract_1k", 66, "size=66"),
        ("fairseg", 8, "size=8"),
        ("oimhs", 8, "size=8"),
    ],
)
def test_a_bad_size_is_named_before_anything_is_written(tmp_path, name, size, said):
    with pytest.raises(BadArgument, match=said):
        FOLDERS[name].write(tmp_path, **SMALL | {"size": size})
    assert list(tmp_path.iterdir()) == []
