"""The collapse lab's figure and table."""

from contextlib import contextmanager

import numpy as np
from PIL import Image

from lmod_train.report.canvas import COLOURS, canvas
from lmod_train.training.lab import picture
from lmod_train.training.lab.collapse import Outcome
from lmod_train.training.lab.picture import draw, table


def outcome(start, answers, seed=0, **shares):
    own = {"right": 0.0, "empty": 0.0, "repetitive": 0.0, "at_limit": 0.0, "distinct": 0.5} | shares
    return Outcome(seed, start, answers, 8, 2, 30.0, 1.0, **own, doctor="passes", example="a | b\nc")


def test_seeds_share_a_row_with_their_range_and_an_escaped_example():
    rows = table([outcome("merged", "short", s, right=v) for s, v in enumerate((0.9, 1.0))]).splitlines()
    assert rows[3] == "" and rows[4].startswith("Limitations:") and len(rows) == 5
    assert "| 90 to 100 % |" in rows[2] and rows[2].endswith("| `a \\| b c` |")


def test_the_height_of_bars_grows_with_the_share(tmp_path):
    inked = []
    for share in (0.0, 1.0):
        given = [outcome("merged", "short", right=share), outcome("delta", "short", empty=share)]
        pixels = np.asarray(Image.open(draw(given, [[1.0, 0.5], [1.0, 1.0]], tmp_path)).convert("RGB")).astype(int)
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
    given = [outcome("merged", "short"), outcome("delta", "short"), outcome("merged", "short", 1)]
    draw(given, [range(35), range(0, 70, 2), range(35)], tmp_path)
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in panels[0].lines]
    steps = [0, 10, 20, 30]  # each point is the mean of ten steps, or of those that are left
    assert drawn == [(steps, [4.5, 14.5, 24.5, 32]), (steps, [9, 29, 49, 64]), drawn[0]]
    named = [text.get_text() for text in panels[0].get_legend().get_texts()]
    assert named == ["from merged weights", "from delta weights"], "one entry a start, not one a seed"


def test_the_limitations_follow_the_table():
    given = [outcome("merged", "short"), outcome("delta", "long"), outcome("merged", "short", 1)]
    text = " ".join(table(given).split())
    assert "at 1e-3 long replies are empty too" in text and "content of the authors' weight files is not known" in text
    assert "2 distinct long answers and 0 (not run) distinct varied ones" in text
    assert "0.8 minutes per seed" in text, "90 seconds over two seeds"
