import json
import warnings

import pytest
from matplotlib.text import Text
from PIL import Image

from lmod_train.core.tables import table
from lmod_train.report.figures.qualitative import COLUMNS, CROSS, MARKS, NOT_ASKED, draw_qualitative
from tests.report.figures.drawing import drawn, models

HOSTILE = "$\\frac{1}{0}$ <b>\x1b[2J\u202e{} %s "
BOXES = [[1, 10, 10, 90, 60], [2, 10, 10, 40, 30], [7, 60, 70, 99, 79]]
OUTCOMES = ("right", "wrong", "refused", "partly right")


@pytest.fixture
def curated(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("RGB", (100, 80), (200, 40, 30)).save(tmp_path / "images" / "a.png")
    Image.new("RGB", (40, 900), (20, 40, 130)).save(tmp_path / "images" / "b.png")
    return tmp_path


def grid(count, images=("images/a.png", "images/b.png"), reply="Region ID: 1; Type: iris", title="t", boxes=BOXES):
    rows = [
        ["anatomy", f"anatomy/phantoms/{k}", image, json.dumps(boxes), "1: iris; 2: lens", m, OUTCOMES[i % 4], reply]
        for k, image in enumerate(images)
        for i, m in enumerate(models(count))
    ]
    return table("examples", COLUMNS, rows, title)


def texts(axis):
    return [t.get_text() for t in axis.findobj(Text) if t.get_text()]


@pytest.mark.parametrize("count", [1, 4])
def test_texts_and_boxes_are_those_of_the_table(count, curated, tmp_path, monkeypatch):
    axes = drawn(lambda t, out: draw_qualitative(t, out, curated), grid(count), tmp_path, monkeypatch)
    for k, (left, right) in enumerate(axes):
        own = texts(right)
        assert own[:2] == [f"anatomy: anatomy/phantoms/{k}", "truth: 1: iris; 2: lens"]
        for name, outcome in zip(models(count), OUTCOMES, strict=False):
            assert any(line == f"{MARKS.get(outcome, CROSS)[0]} {name}: {outcome}" for line in own)
        assert own.count("Region ID: 1; Type: iris") == count
        corners = {(*p.get_xy(), p.get_width(), p.get_height()) for p in left.patches}
        assert corners == {(x0, y0, x1 - x0, y1 - y0) for _, x0, y0, x1, y1 in BOXES}
        assert texts(left) == ["1", "2", "7"]
        width, height = ((100, 80), (40, 900))[k]
        assert list(left.images[0].get_extent()) == [0, width, height, 0], "boxes are in pixels of the image"


@pytest.mark.parametrize("reply", [HOSTILE * 400, "W" * 5000, "\u9752\u5149\u773c" * 999, ""])
def test_no_reply_is_cut_off_or_interpreted(reply, curated, tmp_path, monkeypatch):
    title = f"t: examples; must stay on this machine: {HOSTILE * 9}"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        axes = drawn(
            lambda t, out: draw_qualitative(t, out, curated), grid(4, reply=reply, title=title), tmp_path, monkeypatch
        )
    own = texts(axes[0, 1])
    assert len(own) == 2 + 4 * (3 if reply else 1) and sum(line.endswith("\u2026") for line in own) == (
        4 if reply else 0
    )
    assert not any("\x1b" in line or "\u202e" in line for line in own)
    assert ("$\\frac{1}{0}$ <b>\\u001b[2J\\u202e{} %s" in " ".join(own)) == (reply.startswith("$"))


@pytest.mark.parametrize(
    ("image", "why"),
    [("images/c.png", "image not found"), ("", "asked without image")],
)
def test_without_an_image_there_is_a_grey_box(image, why, curated, tmp_path, monkeypatch):
    ((left, _),) = drawn(
        lambda t, out: draw_qualitative(t, out, curated), grid(2, images=[image]), tmp_path, monkeypatch
    )
    assert texts(left) == [why] and not left.images


def test_without_a_folder_or_examples_a_figure_is_drawn(tmp_path, monkeypatch):
    ((left, _),) = drawn(draw_qualitative, grid(1, images=["images/a.png"]), tmp_path, monkeypatch)
    assert texts(left) == ["image not found"]
    draw_qualitative(table("none", COLUMNS, [], "t"), tmp_path)
    assert (tmp_path / "none.svg").exists()


def test_marks_differ_without_colour():
    marks = [mark for mark, _ in (*MARKS.values(), CROSS)]
    assert len(set(marks)) == len(marks) == 4 and NOT_ASKED in MARKS
