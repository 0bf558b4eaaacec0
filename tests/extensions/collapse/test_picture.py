"""The collapse lab's figure and table."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from PIL import Image

from lmod_train.core.types import Score
from lmod_train.extensions.collapse import results as picture
from lmod_train.extensions.collapse.lab import Arm, Outcome, Recipe, Result
from lmod_train.extensions.collapse.results import draw, table
from lmod_train.report.canvas import COLOURS, canvas


def result(start, answers, *seeds, losses=(), steps=120):
    """Return the result of seeds, each the shares that differ from nothing right and nothing wrong."""
    zero = {"right": 0.0, "empty": 0.0, "repetitive": 0.0, "at_limit": 0.0, "distinct": 0.5}
    told = {"doctor": "passes", "example": "a | b\nc"}
    outcomes = [
        Outcome(i, start, answers, 2e-3, steps, 8, 2, 30.0, 1.0, **(zero | own), **told) for i, own in enumerate(seeds)
    ]
    score = Score(answers, "all", "right", 8, float(np.mean([o.right for o in outcomes])), 0.8, 1.0)
    return Result(Arm(start, answers, Recipe(steps=steps)), outcomes, score, losses or [[1.0]] * len(seeds))


def test_seeds_share_a_row_with_mean_interval_and_range_and_an_escaped_example():
    rows = table([result("merged", "short", {"right": 0.9}, {"right": 1.0})]).splitlines()
    assert rows[3] == "" and rows[4].startswith("Limitations:") and len(rows) == 5
    assert rows[2].startswith("| merged | short | 0.002 | 120 | 2 | 2 | 1.00 | 95 % (80-100) | 90 to 100 % | 0 % |")
    assert rows[2].endswith("| `a \\| b c` |")
    assert rows[0].count("|") == rows[1].count("|") == rows[2].replace("\\|", "").count("|")


def test_the_height_of_bars_grows_with_the_share(tmp_path):
    inked = []
    for share in (0.0, 1.0):
        given = [result("merged", "short", {"right": share}), result("delta", "short", {"empty": share})]
        pixels = np.asarray(Image.open(draw(given, tmp_path)).convert("RGB")).astype(int)
        lower = pixels[len(pixels) // 2 :]
        wanted = [np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in COLOURS[:2]]
        inked.append([(((lower - colour) ** 2).sum(-1) < 30).sum() for colour in wanted])
    assert all(more > less + 2000 for less, more in zip(*inked, strict=True))


def test_the_losses_are_drawn_over_the_optimiser_steps_that_they_are_of(tmp_path, monkeypatch):
    panels = []

    @contextmanager
    def keeping(*arguments, **options):
        with canvas(*arguments, **options) as axes:
            panels.extend(axes[0])
            yield axes

    monkeypatch.setattr(picture, "canvas", keeping)
    given = [
        result("merged", "short", {}, {}, losses=[range(35), range(35)]),
        result("delta", "short", {}, losses=[range(0, 70, 2)]),
        result("delta", "short", {}, losses=[range(0, 70, 2)], steps=360),
    ]
    draw(given, tmp_path)
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in panels[0].lines]
    steps = [0, 10, 20, 30]  # each point is the mean of ten steps, or of those that are left
    assert drawn[:3] == [(steps, [4.5, 14.5, 24.5, 32]), (steps, [4.5, 14.5, 24.5, 32]), (steps, [9, 29, 49, 64])]
    named = [text.get_text() for text in panels[0].get_legend().get_texts()]
    assert named == [f"{arm}, rate 0.002" for arm in ("merged, 120 steps", "delta, 120 steps", "delta, 360 steps")]
    assert len({line.get_color() for line in panels[0].lines}) == 3, "one colour an arm, not one a seed"


def test_the_limitations_follow_the_table():
    given = [result("merged", "short", {}, {}), result("delta", "long", {})]
    text = " ".join(table(given).split())
    assert "at 1e-3 long replies are empty too" in text and "content of the authors' weight files is not known" in text
    assert "2 distinct long answers and 0 (not run) distinct varied ones" in text
    assert "0.8 minutes per seed" in text, "90 seconds over two seeds"


def test_a_rate_at_the_end_of_the_range_is_named():
    slow, fast = result("merged", "short", {}), result("delta", "short", {})
    fast = replace(fast, arm=replace(fast.arm, recipe=Recipe(lr=8e-3)))
    middle = replace(slow, arm=replace(slow.arm, start="base", recipe=Recipe(lr=4e-3)))
    assert "The rate of delta, merged is an end of the range" in table([slow, fast, middle])
    assert "an end of the range" not in table([slow, slow])
