"""Strips of images with answers beneath."""

from PIL import Image

from lmod_train.core.tables import table
from lmod_train.data.curation.image_files import write_image
from lmod_train.extensions.looking import results as strip
from lmod_train.extensions.looking.results import CHANGED, COLUMNS, STAYED, draw_strip


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
