import numpy as np
from PIL import Image

from lmod_train.report import canvas as picture_canvas
from lmod_train.report.canvas import COLOURS, FONT, LINES, MARKERS, canvas, families, hide_from, undrawn


def paint(folder):
    folder.mkdir()
    with canvas(folder, "picture", 1, 2, (4, 2)) as axes:
        axes[0, 0].plot([0, 1], [0, 1], color=COLOURS[0], lw=8)
        axes[0, 1].plot([0, 1], [0, 1], color=COLOURS[1], lw=8)
        hide_from(axes, 1)
    return folder


def test_a_picture_comes_as_two_files_with_the_same_bytes_each_time(tmp_path):
    first, second = paint(tmp_path / "a"), paint(tmp_path / "b")
    assert {p.name for p in first.iterdir()} == {"picture.png", "picture.svg"}
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()


def test_what_is_hidden_is_not_drawn(tmp_path):
    pixels = np.asarray(Image.open(paint(tmp_path / "a") / "picture.png").convert("RGB")).reshape(-1, 3)
    shown, hidden = (tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in COLOURS[:2])
    assert np.sum(np.all(pixels == shown, axis=1)) > 100 and not np.any(np.all(pixels == hidden, axis=1))


def test_runs_are_told_apart_without_colour():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == 8 and len(set(map(str, LINES))) == 4


def test_a_chinese_font_is_used_after_the_usual_one_if_installed(monkeypatch):
    from matplotlib import font_manager

    for installed, expected in ((["SimHei", "WenQuanYi Zen Hei"], "WenQuanYi Zen Hei"), (["Cantarell"], None)):
        monkeypatch.setattr(font_manager.fontManager, "get_font_names", lambda found=installed: found)
        families.cache_clear()
        assert families() == (FONT, *([expected] if expected else []))
    families.cache_clear()


def test_characters_without_a_glyph_are_named(monkeypatch):
    monkeypatch.setattr(picture_canvas, "families", lambda: (FONT,))
    assert undrawn("a \u9752\u03b1\n\u5149\u9752 \u2713") == "\u9752\u5149"
