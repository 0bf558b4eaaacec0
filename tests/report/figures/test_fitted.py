import pytest
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties

from lmod_train.report.canvas import families
from lmod_train.report.figures.qualitative import CUT, fitted, inches

TEXTS = (
    "the optic disc is pale, the cup is large " * 9,
    "W" * 300,
    "\u9752\u5149\u773c" * 90,
    "i" * 50 + " \x1b[2J\u202e" * 30,
)


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("text", TEXTS)
def test_lines_are_as_wide_as_matplotlib_draws_them(text):
    renderer, properties = RendererAgg(100, 100, 720), FontProperties(family=list(families()), size=7)
    lines = fitted(text, 2.0, 4, inches(7))
    assert len(lines) == 4 and lines[-1].endswith(CUT) and "\x1b" not in "".join(lines)
    drawn = [renderer.get_text_width_height_descent(line, properties, False)[0] / 720 for line in lines]
    assert max(drawn) <= 2.05 and min(drawn[:-1]) > 1.2, "neither cut off nor broken too early"


def test_a_text_that_fits_is_whole():
    text = "one two \u9752\u5149\u773c three"
    assert fitted(text, 100, 1, lambda _: 1) == [text]
    assert "".join(fitted(text, 7, 9, lambda _: 1)).replace(" ", "") == text.replace(" ", "")
    assert fitted("", 5, 2, lambda _: 1) == [""]
    assert fitted("abcdef", 2, 3, lambda _: 1) == ["ab", "cd", "ef"]
    assert fitted("abcdefg", 2, 3, lambda _: 1) == ["ab", "cd", f"e{CUT}"]
