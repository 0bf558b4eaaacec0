"""A user's table of captions: bad rows are listed, and nothing outside its folder is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from lmod_train.core.csv_files import csv_bytes
from lmod_train.core.errors import BadArgument
from lmod_train.extensions.drafting.caption_files import copy_images, read_captions
from lmod_train.extensions.drafting.caption_steps import read_keywords
from tests.tabled import tabled

COLUMNS = ("id", "image", "caption", "group", "modality", "subspecialty", "text_in_image")


def table(folder: Path, *rows: tuple[str, ...]) -> Path:
    (folder / "a").mkdir(exist_ok=True)
    Image.new("RGB", (4, 4)).save(folder / "a" / "1.png")
    path = folder / "CAPTIONS.csv"
    path.write_bytes(csv_bytes(COLUMNS, rows))
    return path


def test_rows_are_read_with_their_facts_and_images_copied(tmp_path: Path):
    path = table(tmp_path, ("", "a/1.png", "Drusen,  left  eye.", "", "CFP", "retina", "Yes"))
    (one,), left = read_captions(path)
    assert (one.key, one.image, one.text, one.group) == ("a/1.png", "images/a/1.png", "Drusen, left eye.", "a/1.png")
    assert one.tags == {"subspecialty": "retina", "text_in_image": "yes"} and not one.phantom and not left
    copy_images([one], path, tmp_path / "DRAFT")
    assert (tmp_path / "DRAFT" / one.image).read_bytes() == (tmp_path / "a" / "1.png").read_bytes()


@tabled(
    ("row", "reason"),
    [
        (("1", "a/1.png", "", "", "", "", ""), "no_caption"),
        (("1", "", "Drusen.", "", "", "", ""), "no_image"),
        (("1", "../secret.png", "Drusen.", "", "", "", ""), "no_image"),
        (("1", "/etc/passwd", "Drusen.", "", "", "", ""), "no_image"),
        (("1", "CAPTIONS.csv", "Drusen.", "", "", "", ""), "no_image"),  # not an image
        (("1", "a/2.png", "Drusen.", "", "", "", ""), "no_image"),
        (("0", "a/1.png", "Drusen.", "", "", "", ""), "same_id"),
        (("1", "a/1.png", "Drusen.", "", "camera", "", ""), "unknown_modality"),
        (("1", "a/1.png", "Drusen.", "", "", "", "perhaps"), "unknown_flag"),
    ],
)
def test_each_bad_row_is_listed_with_its_reason(tmp_path: Path, row: tuple[str, ...], reason: str):
    found, left = read_captions(table(tmp_path, ("0", "a/1.png", "Drusen.", "", "", "", ""), row))
    assert [one.reason for one in left] == [reason]
    assert len(found) == (2 if reason.startswith("unknown") else 1)


def test_a_table_without_a_caption_that_can_be_used_is_refused(tmp_path: Path):
    with pytest.raises(BadArgument, match="no_caption"):
        read_captions(table(tmp_path, ("1", "a/1.png", "", "", "", "", "")))
    with pytest.raises(BadArgument, match="at least one keyword"):
        (tmp_path / "words.csv").write_text("keyword\n\n", encoding="utf-8")
        read_keywords(tmp_path / "words.csv")
    (tmp_path / "words.csv").write_text("keyword\n年龄\ngender\n年龄\n", encoding="utf-8")
    assert read_keywords(tmp_path / "words.csv") == ("年龄", "gender")
