"""Strips of images with answers beneath."""

from dataclasses import replace

from PIL import Image

from lmod_train.core.tables import table
from lmod_train.core.types import Box, Fact, Region
from lmod_train.data.curation.image_files import write_image
from lmod_train.extensions.looking import results as strip
from lmod_train.extensions.looking.results import CHANGED, COLUMNS, STAYED, draw_strip, fact_sheets
from lmod_train.report.figures.qualitative import draw_qualitative
from tests import tiny


def rows(records=("a",), models=("m",)):
    for record in records:
        for shown in ("as_is", "blank"):
            for model in models:
                answer = f"{model} says NON-GLAUCOMA at length" if model else ""
                yield [record, shown, f"images/s/{shown}.jpg", model, answer, "no" if shown == "as_is" else "yes"]


def drawn(tmp_path, monkeypatch, **kinds):
    """The texts and images that are drawn, by matplotlib's own objects."""
    for shown, colour in (("as_is", (200, 10, 10)), ("blank", (10, 10, 200))):
        write_image(tmp_path / f"images/s/{shown}.jpg", Image.new("RGB", (40, 30), colour))
    seen, tile = [], strip._tile

    def noted(axis, *rest):
        tile(axis, *rest)
        seen.append(([(t.get_text(), t.get_color()) for t in axis.texts], [i.get_array() for i in axis.images]))

    monkeypatch.setattr(strip, "_tile", noted)
    draw_strip(table("strip", COLUMNS, list(rows(**kinds)), "an eye"), tmp_path, tmp_path)
    assert {p.suffix for p in tmp_path.glob("strip.*")} == {".png", ".svg"}
    return seen


def test_images_in_order_and_changed_answers_in_another_colour(tmp_path, monkeypatch):
    first, second = drawn(tmp_path, monkeypatch)
    assert first[1][0][0, 0, 0] > 150 > second[1][0][0, 0, 0]
    assert {c for _, c in first[0]} == {STAYED} and {c for _, c in second[0]} == {CHANGED}
    assert "".join(t for t, _ in first[0]).startswith("m: m says")


def test_a_sheet_without_replies_and_a_missing_image(tmp_path, monkeypatch):
    seen = drawn(tmp_path, monkeypatch, records=("a", "b"), models=("",))
    assert len(seen) == 4 and all(texts == [] and len(images) == 1 for texts, images in seen)
    (tmp_path / "images/s/blank.jpg").unlink()
    draw_strip(table("strip", COLUMNS, list(rows()), ""), tmp_path, tmp_path)
    draw_strip(table("strip", COLUMNS, list(rows()), ""), tmp_path, None)


def test_a_sheet_of_facts_has_a_row_an_image_with_its_boxes(tmp_path):
    facts = (Fact("vcdr", 0.625, "ratio", 0.07), Fact("rim.thinnest", "inferior"), Fact("hole.width", 12.0, "px", 1.0))
    disc = (Region("optic disc", Box(2, 2, 8, 8), 1),)
    one = tiny.record("glaucoma/refuge/1", source="refuge", key="1", image_plain=("images/refuge/1.jpg",), facts=facts)
    boxed, bare = replace(one, task="anatomy", regions=disc), replace(one, key="2", facts=())
    (sheet,) = fact_sheets([one, boxed, bare])
    assert sheet.name == "facts-refuge"
    ((source, key, image, boxes, measured, *no_reply),) = sheet.rows
    assert (source, key, image) == ("refuge", "1", "images/refuge/1.jpg")
    assert measured == "vcdr 0.625 ± 0.07; rim.thinnest inferior; hole.width 12 ± 1 px"
    assert boxes == "[[1, 2.0, 2.0, 8.0, 8.0]]" and no_reply == ["", "", ""]
    draw_qualitative(sheet, tmp_path)
    assert (tmp_path / "facts-refuge.png").exists()
