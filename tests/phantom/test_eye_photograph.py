from dataclasses import replace
from itertools import pairwise

import numpy as np
from PIL import Image

from lmod_train.core.types import Box
from lmod_train.phantom.eye_photograph import SMALLEST, boxes, draw_eye_photograph, render
from tests.tabled import tabled

VIEWS = ("right", "left", "both", "iris")


def inside(image, box):
    return np.asarray(image).astype(float)[box.y0 : box.y1, box.x0 : box.x1]


def changed(one, other):
    """Return the box around the pixels in which two pictures differ."""
    rows, columns = np.nonzero((np.asarray(one) != np.asarray(other)).any(axis=-1))
    return Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)


def sharp(seed, view, cataract=False):
    """Return a photograph without defocus, noise or darkness, so that pixels show what was drawn."""
    taken = draw_eye_photograph(seed, view, cataract=cataract)
    return replace(taken, blur=0.0, noise=0.0, brightness=1.0, tint=(1.0, 1.0, 1.0), grey=False)


@tabled("view", VIEWS)
def test_the_same_seed_gives_the_same_pixels_and_another_gives_others(view):
    first = render(draw_eye_photograph(4, view, cataract=False), 72)
    assert first.size == (72, 72) and first.mode == "RGB"
    assert first.tobytes() == render(draw_eye_photograph(4, view, cataract=False), 72).tobytes()
    assert first.tobytes() != render(draw_eye_photograph(5, view, cataract=False), 72).tobytes()


@tabled("seed", range(6))
@tabled("view", ["right", "left", "iris"])
def test_cataract_changes_only_the_pupil(view, seed):
    clear, cloudy = sharp(seed, view), sharp(seed, view, cataract=True)
    pupil = dict(boxes(clear, 128))["pupil"]
    one, other = render(clear, 128), render(cloudy, 128)
    found = changed(one, other)
    for got, drawn in zip(
        (found.x0, found.y0, found.x1, found.y1), (pupil.x0, pupil.y0, pupil.x1, pupil.y1), strict=True
    ):
        assert abs(got - drawn) <= 1  # half a pixel of soft edge
    assert np.median(inside(one, pupil)) < 60 < 90 < np.median(inside(other, pupil))


@tabled("seed", range(6))
def test_the_iris_box_is_where_a_colour_of_the_iris_shows(seed):
    taken = sharp(seed, "left")
    one, other = (render(replace(taken, colour=c), 128) for c in ((0.2, 0.5, 0.2), (0.6, 0.3, 0.6)))
    found, iris = changed(one, other), dict(boxes(taken, 128))["iris"]
    for got, drawn in zip((found.x0, found.y0, found.x1, found.y1), (iris.x0, iris.y0, iris.x1, iris.y1), strict=True):
        assert abs(got - drawn) <= 2  # its darkest rim hardly shows a colour


@tabled("seed", range(6))
@tabled("view", ["right", "left"])
def test_the_nasal_side_distinguishes_right_and_left_eyes(view, seed):
    taken = sharp(seed, view)
    picture = render(taken, 160)
    name, box = boxes(taken, 160)[0]
    assert name == f"{view} eye"
    middle = taken.eyes[0].y * 160
    row = np.asarray(picture).astype(float)[round(middle) - 2 : round(middle) + 3]
    red = (row[..., 0] - row[..., 2]).mean(axis=0) / row.mean(axis=(0, 2))  # the caruncle is pink, the corner is not
    ends = (
        red[box.x0 + box.width // 25 : box.x0 + box.width // 8],
        red[box.x1 - box.width // 8 : box.x1 - box.width // 25],
    )
    assert (ends[1].mean() > ends[0].mean()) == (view == "right")


@tabled("seed", range(4))
def test_the_eye_box_is_where_the_white_shows_between_the_lids(seed):
    taken = replace(sharp(seed, "right"), skin=(0.0, 0.0, 0.0))
    _, box = boxes(taken, 128)[0]
    light = np.asarray(render(taken, 128).convert("L")) > 60
    away = light.copy()
    away[box.y0 - 3 : box.y1 + 3, box.x0 - 3 : box.x1 + 3] = False  # the moist edge of the lower lid shines
    assert light.sum() > 200 and not away.any()
    rows, columns = np.flatnonzero(light.any(axis=1)), np.flatnonzero(light.any(axis=0))
    assert columns[0] - box.x0 < 12 and box.x1 - columns[-1] < 12  # the corners narrow to a point
    assert abs(int(rows[-1]) + 1 - box.y1) <= 4


@tabled("seed", range(20))
@tabled("view", VIEWS)
def test_boxes_lie_in_the_image_and_in_each_other_at_every_size(view, seed):
    taken = draw_eye_photograph(seed, view, cataract=False)
    for size in (SMALLEST, 128):
        found = boxes(taken, size)
        assert [n for n, _ in found] == [n for e in taken.eyes for n in (f"{e.side} eye", "iris", "pupil")][
            view == "iris" :
        ]
        for outer, inner in pairwise(found):
            if inner[0] in ("iris", "pupil") and outer[0] != "pupil":
                a, b = outer[1], inner[1]
                assert 0 <= a.x0 <= b.x0 < b.x1 <= a.x1 <= size and 0 <= a.y0 <= b.y0 < b.y1 <= a.y1 <= size


def test_the_right_eye_of_a_face_is_on_the_left_of_the_image():
    eyes = draw_eye_photograph(0, "both", cataract=True).eyes
    assert [e.side for e in eyes] == ["right", "left"] and eyes[0].x < eyes[1].x and all(e.haze > 0.5 for e in eyes)


def test_sizes_show_the_same_scene():
    taken = draw_eye_photograph(9, "left", cataract=False)
    small, large = boxes(taken, 64), boxes(taken, 256)
    for (name, a), (other, b) in zip(small, large, strict=True):
        assert name == other and max(abs(4 * a.x0 - b.x0), abs(4 * a.y1 - b.y1)) <= 4
    shrunk = render(replace(taken, noise=0.0), 256).resize((64, 64), Image.Resampling.BOX)
    drawn = np.asarray(render(replace(taken, noise=0.0), 64)).astype(float)
    assert np.abs(drawn - np.asarray(shrunk)).mean() < 14
