"""Photographs of the lens drawn for X-PCR: the truth of each stage is what the drawn eye and its pixels show."""

from dataclasses import replace

import numpy as np

from lmod_train.extensions.xpcr.phantom import draw_lens
from lmod_train.phantom.eye_photograph import boxes
from tests.phantom.folders.seen import defect_seen, quarter_of

DRAWN = [draw_lens(seed) for seed in range(40)]
STEPS = {"0": "Routine", "1": "New", "2": "Refer", "3": "Plan"}
SIZE = 256


def test_every_truth_is_that_of_the_drawn_pupil():
    seen = set()
    for lens in DRAWN:
        truth = {question.category: question.options[0] for question in lens.questions}
        found = dict(boxes(lens.photograph, SIZE))
        pupil, iris = found["pupil"], found["iris"]
        assert truth["AL"] == quarter_of((pupil.x0, pupil.y0, pupil.x1, pupil.y1), (SIZE, SIZE))
        haze = lens.photograph.eyes[0].haze
        wide, cloudy = pupil.width > 0.5 * iris.width, haze > 0
        named = {
            (False, False): "neither a lens opacity nor a wide pupil",
            (True, False): "a lens opacity but without a wide pupil",
            (False, True): "a wide pupil but without a lens opacity",
            (True, True): "a lens opacity, as well as a wide pupil",
        }
        assert truth["LC"] == named[cloudy, wide]
        assert truth["DD"] == ("cataract present" if cloudy else "without cataract")
        assert truth["SG"] == f"opacity grade {sum(haze > border for border in (0.1, 0.45, 0.75))}"
        assert truth["CD"].startswith(STEPS[truth["SG"][-1]])
        assert tuple(truth) == ("IQA", "AL", "LC", "DD", "SG", "CD")
        seen |= set(truth.items())
    assert len(seen) == 4 + 4 + 4 + 2 + 4 + 4


def test_the_grade_is_the_grey_of_the_pupil():
    greys = {grade: [] for grade in range(4)}
    for lens in DRAWN:
        pupil = dict(boxes(lens.photograph, SIZE))["pupil"]
        (x, y), (w, h) = ((pupil.x0 + pupil.x1) // 2, (pupil.y0 + pupil.y1) // 2), (pupil.width // 4, pupil.height // 4)
        grey = np.asarray(replace(lens, defect="").picture(SIZE).convert("L"))
        greys[lens.grade].append(np.median(grey[y - h : y + h, x - w : x + w]))
    assert all(max(greys[grade]) < min(greys[grade + 1]) for grade in range(3)), greys


def test_the_defect_is_in_the_image():
    for lens in DRAWN[:16]:
        clean = replace(lens, defect="").picture(192)
        assert defect_seen(clean, lens.picture(192)) == lens.questions[0].options[0]
        assert clean.mode == "RGB" and clean.size == (192, 192)


def test_a_seed_draws_one_truth():
    assert draw_lens(3) == DRAWN[3] != DRAWN[4]
