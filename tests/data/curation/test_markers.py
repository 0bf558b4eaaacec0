from itertools import combinations, pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from lmod_train.core.types import Box, Region
from lmod_train.data.curation.prepare import COLOURS, label_boxes, label_size, mark, place_label
from tests.tabled import tabled

TISSUE = (190, 80, 30)
DEUTERANOPIA = np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]])  # Machado 2009


def overlap(a, b):
    return max(0, min(a.x1, b.x1) - max(a.x0, b.x0)) * max(0, min(a.y1, b.y1) - max(a.y0, b.y0))


def count(image, colour):
    return int((np.asarray(image) == colour).all(axis=-1).sum())


def test_the_original_is_untouched_and_no_regions_draw_nothing():
    image = Image.new("RGB", (200, 200), TISSUE)
    marked = mark(image, [Region("x", Box(50, 50, 90, 90), 1)], 1.0)
    assert count(image, TISSUE) == 200 * 200 and count(marked, COLOURS[0]) > 100
    assert mark(image, [], 1.0).tobytes() == image.tobytes()


def test_the_frame_lies_round_the_scaled_box_and_hides_nothing_inside():
    marked = np.asarray(mark(Image.new("RGB", (1000, 1000), TISSUE), [Region("x", Box(800, 600, 1200, 1000), 2)], 0.5))
    assert (marked[300:500, 400:600] == TISSUE).all()
    stroke, edge = 12, 3
    for y, x in ((300 - edge - 1, 500), (500 + edge, 500), (400, 400 - edge - 1), (400, 600 + edge)):
        assert tuple(marked[y, x]) == COLOURS[1]
    assert tuple(marked[300 - edge - stroke, 500]) == COLOURS[1]
    assert tuple(marked[300 - stroke - 2 * edge - 1, 590]) == TISSUE


@tabled("side", [60, 120, 224, 1024])
def test_digits_stay_readable_at_224_and_120_pixels(side):
    marked = mark(
        Image.new("RGB", (side, side), TISSUE), [Region("x", Box(side // 3, side // 2, side // 2, side - 9), 8)], 1
    )
    label = COLOURS[7]
    for seen in (224, 120):
        if seen <= side:
            small = np.asarray(marked.resize((seen, seen), Image.Resampling.BOX)).astype(int)
            light = (small.min(axis=-1) > 130).any(axis=1)  # white digits on violet
            assert light.sum() >= round(0.07 * seen)
    assert count(marked, label) > 0


@tabled("box", [(0, 0, 9, 9), (111, 0, 120, 9), (0, 81, 9, 90), (111, 81, 120, 90), (0, 0, 120, 90)])
def test_at_every_edge_the_label_is_inside_the_image(box):
    width, height = label_size(12, 10)
    spot = place_label(Box(*box), [], [], (width, height), 2, (120, 90))
    assert spot.x0 >= 0 and spot.y0 >= 0 and spot.x1 <= 120 and spot.y1 <= 90
    assert (spot.width, spot.height) == (width, height)
    if box != (0, 0, 120, 90):
        assert overlap(spot, Box(*box)) == 0


def test_numbers_are_written_where_they_are_said_to_be():
    regions = [Region("cup", Box(300, 260, 380, 340), 2), Region("disc", Box(280, 240, 400, 360), 5)]
    image = Image.new("RGB", (320, 240), TISSUE)
    marked = np.asarray(mark(image, regions, 0.5))
    spots = label_boxes(image.size, regions, 0.5)
    assert spots.keys() == {2, 5}
    for number, spot in spots.items():
        inside = marked[spot.y0 : spot.y1, spot.x0 : spot.x1]
        assert (inside != TISSUE).any(axis=-1).all()
        assert (inside == COLOURS[number - 1]).all(axis=-1).mean() > 0.3
    assert label_boxes(image.size, [], 0.5) == {}


def test_a_nested_cup_is_never_covered_and_labels_do_not_cover_each_other():
    disc, cup = Box(600, 400, 780, 590), Box(650, 450, 720, 530)
    size = label_size(1, 77)
    first = place_label(cup, [disc], [], size, 12, (1024, 1024))
    second = place_label(disc, [cup], [first], size, 12, (1024, 1024))
    assert overlap(first, cup) == overlap(second, cup) == overlap(first, second) == 0


@settings(max_examples=40, deadline=None)
@example([(0, 16, 31)])
@given(st.lists(st.tuples(st.integers(0, 280), st.integers(0, 180), st.integers(4, 60)), min_size=1, max_size=6))
def test_labels_are_always_inside_and_clear_while_there_is_room(corners):
    boxes = [Box(x, y, min(300, x + s), min(200, y + s)) for x, y, s in corners]
    labels = []
    for i, box in enumerate(boxes):
        spot = place_label(box, boxes[:i] + boxes[i + 1 :], labels, (14, 18), 2, (300, 200))
        assert spot.x0 >= 0 and spot.y0 >= 0 and spot.x1 <= 300 and spot.y1 <= 200
        labels.append(spot)
    hidden = overlap(labels[0], boxes[0]) / boxes[0].area
    assert len(boxes) > 1 or hidden <= 1 / 40, "less than half a step of 5 % is no reason to go further from the box"


def test_colours_are_well_apart_and_neighbours_also_for_colour_blind_eyes():
    assert len(COLOURS) >= 10
    assert min(np.linalg.norm(np.subtract(a, b)) for a, b in combinations(COLOURS, 2)) > 60
    seen = [DEUTERANOPIA @ c for c in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in pairwise(seen)) > 80
