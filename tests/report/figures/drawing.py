"""Draws a table and keeps the axes, and checks of texts: none cut off, none over another."""

from contextlib import contextmanager
from itertools import combinations

from matplotlib.axis import Axis
from matplotlib.text import Text

from lmod_train.report.canvas import canvas
from lmod_train.report.figures import sheet
from lmod_train.report.figures.sheet import SMALL

MODELS = ("InternVL3-8B", "llava-med-v1.5-mistral-7b (tuned on LMOD+ with LoRA, seed 3)", "GPT-4o", "$x_1$ <b>", "cnn")


def models(count):
    return [MODELS[i] if i < len(MODELS) else f"{MODELS[i % len(MODELS)]} [{i}]" for i in range(count)]


def drawn(draw, table, out, monkeypatch):
    """Return the axes of a figure, (rows, columns), after checking its files and texts."""
    axes = axes_of(draw, table, out, monkeypatch)
    check_texts(axes.flat[0].figure)
    return axes


def axes_of(draw, table, out, monkeypatch):
    """Return the axes of a figure, (rows, columns), after checking its files."""
    kept = []

    @contextmanager
    def keeping(*arguments, **options):
        with canvas(*arguments, **options) as axes:
            kept.append(axes)
            yield axes

    monkeypatch.setattr(sheet, "canvas", keeping)
    draw(table, out)
    assert all((out / f"{table.name}.{kind}").stat().st_size > 0 for kind in ("png", "svg"))
    return kept[-1]


def check_texts(figure):
    """Check that texts are large enough for print, inside the figure, and apart."""
    figure.draw_without_rendering()  # after the SVG, whose resolution differs
    renderer = figure.canvas.get_renderer()
    texts = [t for t in shown(figure) if t.get_text().strip()]
    assert texts and all(t.get_fontsize() >= SMALL for t in texts)
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts]
    for text, box in boxes:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        assert inside, f"{text!r} is cut off: {box} of {figure.bbox}"
    for (first, a), (second, b) in combinations(boxes, 2):
        over = min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
        assert not over, f"{first!r} is over {second!r}: {a} {b}"


def shown(figure):
    """Return the texts that are drawn: not the labels of ticks beyond the ends of an axis."""
    axes = [a for a in figure.findobj(Axis) if a.axes.get_visible() and a.get_visible()]
    every = {t for a in figure.findobj(Axis) for tick in (*a.majorTicks, *a.minorTicks) for t in tick.findobj(Text)}
    ticks = [t for a in axes for tick in a._update_ticks() for t in (tick.label1, tick.label2) if t.get_visible()]
    others = [t for t in figure.findobj(Text) if t not in every and t.get_visible()]
    hidden = {t for axis in figure.axes if not axis.get_visible() for t in axis.findobj(Text)}
    return [t for t in (*ticks, *others) if t not in hidden]
