"""The page of a blank sheet: escaped, without scripts, each image once."""

from __future__ import annotations

import re

from lmod_train.data.formats.reading_sheet import page

EVIL = "<script>alert(1)</script>"
COLUMNS = ("id", "images", "question", "choices", "regions")


def shown(*rows: tuple, stays: bool) -> str:
    return page([dict(zip(COLUMNS, row, strict=True)) for row in rows], stays=stays)


def test_everything_is_escaped_and_nothing_is_run_or_loaded_from_elsewhere():
    text = shown(("bcdf", ("1-bcdfgh.jpg",), f"{EVIL} 左眼?", (EVIL, "B"), ()), stays=True)
    assert EVIL not in text and text.count("&lt;script&gt;") == 2 and "左眼?" in text
    assert "default-src 'none'" in text and not re.search(r"https?:|<script| on\w+=", text)
    assert "must not be passed on" in text


def test_questions_about_one_image_stand_below_it():
    questions = [(name, images, "q", (), ()) for name, images in (("a", ("1.jpg",)), ("b", ("1.jpg",)), ("c", ()))]
    text = shown(*questions, ("d", ("2.jpg",), "q", ("x",), (1, 2)), stays=False)
    assert text.count('<img src="images/1.jpg"') == 1 and text.count("<section") == 3
    assert "No image." in text and "each of the regions 1, 2" in text and "passed on" not in text
