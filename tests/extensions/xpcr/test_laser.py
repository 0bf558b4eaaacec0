"""Laser scans drawn for X-PCR: the truth of each stage is what the drawn masks and pixels show."""

from dataclasses import replace
from functools import cache

import numpy as np

from lmod_train.extensions.xpcr.phantom import draw_laser
from lmod_train.phantom.slo import CUP, RIM, structures
from tests.phantom.folders.seen import defect_seen, quarter_of


@cache
def lasers():
    return [draw_laser(seed) for seed in range(40)]


STEPS = {"0": "Routine", "1": "Review", "2": "Refer", "3": "Start"}


def extent(inside):
    rows, columns = np.nonzero(inside)
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def test_every_truth_is_that_of_the_mask_of_disc_and_cup():
    seen = set()
    for laser in lasers():
        truth = {question.category: question.options[0] for question in laser.questions}
        codes = structures(laser.eye, 512)
        disc, cup = extent(codes >= RIM), extent(codes == CUP)
        ratio = (cup[3] - cup[1]) / (disc[3] - disc[1])
        assert truth["AL"] == quarter_of(disc, codes.shape[::-1])
        low, high = {"u": (0, 0.3), "a": (0.7, 1)}.get(truth["LC"][0]) or map(float, truth["LC"].split(" to "))
        assert low < ratio < high
        assert (truth["DD"] == "glaucoma present") == (ratio > 0.6)
        assert truth["SG"] == f"cup grade {sum(ratio > border for border in (0.5, 0.65, 0.8))}"
        assert truth["CD"].startswith(STEPS[truth["SG"][-1]])
        assert tuple(truth) == ("IQA", "AL", "LC", "DD", "SG", "CD")
        seen |= set(truth.items())
    assert len(seen) == 4 + 4 + 4 + 2 + 4 + 4


def test_the_defect_is_in_the_image():
    for laser in lasers()[:16]:
        clean = replace(laser, defect="").picture(192)
        assert defect_seen(clean, laser.picture(192)) == laser.questions[0].options[0]
        assert clean.mode == "RGB" and clean.size == (249, 192)


def test_the_cup_stays_inside_the_disc():
    for laser in lasers():
        eye = laser.eye
        away = np.hypot(*((np.subtract(eye.cup, eye.disc)) / eye.disc_radii))
        assert away + max(np.divide(eye.cup_radii, eye.disc_radii)) <= 1
        assert np.isclose(eye.cup_radii[1] / eye.disc_radii[1], eye.cup_to_disc)


def test_a_seed_draws_one_truth():
    assert draw_laser(3) == lasers()[3] != lasers()[4]
