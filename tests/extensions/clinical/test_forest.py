"""The forest plot for 1 to 24 models, and names that could break it."""

import re
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.tables import table
from lmod_train.extensions.clinical.fairness import COLUMNS, DRAWN, draw_forest, drawn_groups
from lmod_train.report.canvas import COLOURS
from tests.report.make import LURE


def rows(models, groups):
    rng = np.random.default_rng(0)
    for m in range(models):
        for g in range(groups):
            value = float(rng.uniform(0.1, 0.9))
            yield [
                f"model {m:02} of a long name, 7B instruct",
                f"g{g}",
                40 + g,
                20,
                value,
                (value - 0.1, value + 0.1),
                0.5,
            ]


def drawn(tmp_path, models, groups):
    draw_forest(table("forest-t-k", COLUMNS, list(rows(models, groups)), "t by k"), tmp_path)
    return (tmp_path / "forest-t-k.svg").read_text(), Image.open(tmp_path / "forest-t-k.png").size


def heights(svg):
    """The y of each model's name."""
    return sorted({float(y) for y in re.findall(r'id="ytick_\d+".*?<use [^>]*y="([\d.]+)"', svg, re.S)})


@pytest.mark.parametrize(("models", "groups"), [(1, 2), (3, 3), (24, 4)])
def test_every_model_has_room_for_its_name_and_groups(tmp_path, models, groups):
    svg, (_, height) = drawn(tmp_path, models, groups)
    at = heights(svg)
    assert len(at) == models
    assert all(b - a > 72 * 0.1 * groups for a, b in pairwise(at)), "a tenth of an inch per group"
    assert height < 150 * 18, "on a page"


def test_all_intervals_are_drawn_in_a_colour_per_group(tmp_path):
    svg, _ = drawn(tmp_path, 5, 3)
    for colour in COLOURS[:3]:
        assert svg.lower().count(f"stroke: {colour.lower()}") >= 5
    assert svg.lower().count("stroke: #777777") == 5, "the value over all groups, of each model"


def test_of_many_groups_the_largest_are_drawn(tmp_path):
    every = list(rows(2, 12))
    assert drawn_groups(every) == [f"g{k}" for k in range(12 - DRAWN, 12)]
    drawn(tmp_path, 2, 12)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_hostile_names_missing_scores_and_intervals(tmp_path):
    names = [LURE, "$x^{", "=1+1", "a\nb\u202e", "\\frac", "", "眼底" * 40]
    cells = (LURE, 0.5, (None, None), 0.5), ("b" * 300, None, (None, None), None), ("c", 1.0, (0.3, 1.0), 0.5)
    made = [[name, group, 3, 1, *rest] for name in names for group, *rest in cells]
    draw_forest(table("forest-../t-k", COLUMNS, made, LURE), tmp_path)
    assert {f.suffix for f in tmp_path.iterdir()} == {".png", ".svg"} and len(list(tmp_path.iterdir())) == 2
    svg = next(tmp_path.glob("*.svg")).read_text(encoding="utf-8")
    assert "<script" not in svg


def test_the_same_table_gives_the_same_files(tmp_path):
    first, _ = drawn(tmp_path, 3, 2)
    assert drawn(tmp_path, 3, 2)[0] == first
