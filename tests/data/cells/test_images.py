"""A cell names a file as written, in another case, without ending or leading folders, and never by likeness."""

from __future__ import annotations

import base64
import io
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lmod_train.data.cells.image_names import embedded, folder_of, is_embedded

FILES = (
    "a/1.jpg",
    "b/1.jpg",
    "a/02.JPG",
    "x.y.png",
    "Müller.jpeg",
    "deep/er/3.tif",
    "both.jpg",
    "both.png",
    "notes.txt",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("images")
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("a/1.jpg", ["a/1.jpg"]),
        ("b\\1.jpg", ["b/1.jpg"]),
        ("./a/1.jpg", ["a/1.jpg"]),
        ("A/1.JPG", ["a/1.jpg"]),
        ("a/1", ["a/1.jpg"]),
        ("/data/clinic/photos/a/1.jpg", ["a/1.jpg"]),
        ("photos/x.y.png", ["x.y.png"]),
        ("er/3.tif", ["deep/er/3.tif"]),
        ("3", ["deep/er/3.tif"]),
        ("x.y", ["x.y.png"]),
        (unicodedata.normalize("NFD", "Müller"), ["Müller.jpeg"]),
        ("1.jpg", ["a/1.jpg", "b/1.jpg"]),
        ("both", ["both.jpg", "both.png"]),
        ("both.png", ["both.png"]),
        ("c/1.jpg", []),
        ("2", []),
        ("x", []),
        ("11.jpg", []),
        ("notes.txt", []),
        ("../a/1.jpg", ["a/1.jpg"]),
        ("", []),
    ],
)
def test_what_a_cell_names(folder: Path, cell: str, names: list[str]):
    images = folder_of(folder)
    found, _ = images.find(cell)
    assert sorted(file.relative_to(folder).as_posix() for file in found) == sorted(names)


def test_a_number_is_a_file_only_if_the_user_says_so(folder: Path):
    images = folder_of(folder)
    for cell in ("2", "002", "2.jpg"):
        assert images.find(cell)[0] == () and [f.name for f in images.find(cell, numbers=True)[0]] == ["02.JPG"]


def test_images_in_base64_are_decoded_and_rows_point_to_rows():
    one, two = b"\xff\xd8\xff" + bytes(90), b"\x89PNG" + bytes(range(90))
    coded = [base64.b64encode(one).decode(), "data:image/png;base64," + base64.b64encode(two).decode()]
    held = embedded([*coded, "7", "", "9", coded[0][:-1] + "!"], ["7", "8", "9", "10", "11", "12"])
    assert held is not None and held[:3] == [one, two, one] and held[3] == "no image"
    assert held[4] == "row 9 has no image" and str(held[5]).startswith("not base64")
    assert embedded(["1.jpg", "2.jpg"], ["0", "1"]) is None
    assert embedded(["a sentence of more than sixty-four characters, which is no image at all"], ["0"]) is None


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "BMP", "WEBP", "GIF", "JPEG2000", "PPM"])
@pytest.mark.parametrize("begin", ["", "data:image/x;base64,"])
def test_images_in_base64_are_told_from_long_paths(kind: str, begin: str):
    held = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(held, kind)
    cell = begin + base64.b64encode(held.getvalue()).decode()
    assert is_embedded([cell, "7", "", cell]) and is_embedded([cell, cell, "x" * 90])
    for path in ("/data/" + "a" * 90, "/data/clinic_1/" * 6 + "1.jpg", "P-" * 50 + "/1", "n" * 64 + ".png"):
        assert not is_embedded([path, path]) and not is_embedded(["1.jpg"])
