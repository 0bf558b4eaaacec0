"""Images: ids, addresses, files."""

from pathlib import Path

import pytest

from lmod_train.data.sources.row_ids import BadRow
from lmod_train.extensions.ophthalwechat.pairs import Pictures, address, file_of, files_by_name, image_id
from lmod_train.extensions.ophthalwechat.questions import Row
from lmod_train.extensions.ophthalwechat.words import words

WORDS = words()


def filled(*rows):
    pictures = Pictures()
    problems = [pictures.add(Row(n, values), f"row {n}", WORDS) for n, values in enumerate(rows, 2)]
    return pictures, problems


def test_rows_of_one_address_are_one_image_and_fill_each_others_gaps():
    rows = ({"image": 1, "url": "http://a/b"}, {"image": "7.png", "url": " https://a/b#x", "modality": "OCT"})
    pictures, problems = filled(*rows, {"image": 3, "url": "https://a/c"}, {"image": 4})
    assert [(p.id, p.ids, p.modality) for p in pictures] == [
        ("1", ["1", "7"], "OCT"),
        ("3", ["3"], ""),
        ("4", ["4"], ""),
    ]
    assert pictures.find("7", "") is pictures.find("", "https://a/b") is pictures.by_id["1"]
    assert pictures.find("5", "https://a/b") is None and problems == [[], [], [], []]


def test_an_id_stands_once():
    with pytest.raises(BadRow) as caught:
        filled({"image": 1}, {"image": "1.jpg"})
    assert (caught.value.reason, "row 2" in caught.value.detail) == ("same id twice", True)


def test_the_file_may_name_the_image():
    pictures, _ = filled({"file": "x/scan 1.JPG", "url": "u"})
    assert [p.id for p in pictures] == ["x/scan 1"] and image_id("a.b") == "a.b"
    files = files_by_name(Path("r"), [Path("r/pics/x/Scan 1.jpg"), Path("r/a.txt")])
    assert file_of(pictures.by_id["x/scan 1"], files) == Path("r/pics/x/Scan 1.jpg")
    assert file_of(next(iter(pictures)), {}) is None


def test_addresses_without_a_scheme_are_as_they_are():
    assert address(" a/b#c ") == "a/b#c" and address("http://a/b#c") == "a/b"
