"""Frames of surgery drawn for X-PCR: the truth of each stage is what the outlines and pixels show."""

from dataclasses import replace

import numpy as np

from lmod_train.extensions.xpcr.phantom import draw_surgery
from lmod_train.phantom.instruments import INSTRUMENTS
from lmod_train.phantom.surgery import outlines
from tests.phantom.folders.seen import defect_seen, quarter_of

DRAWN = [draw_surgery(seed) for seed in range(60)]
STEPS = {"0": "Aspirate", "1": "Aspirate", "2": "Break lens at low", "3": "Break lens at top"}


def test_every_truth_is_that_of_the_outlines():
    seen, named = set(), set()
    for surgery in DRAWN:
        truth = {question.category: question.options[0] for question in surgery.questions}
        found = dict(outlines(surgery.scene, 768))
        (x0, y0), (x1, y1) = np.min(found["pupil"], axis=0), np.max(found["pupil"], axis=0)
        assert truth["AL"] == quarter_of((x0, y0, x1, y1), (768, 576))
        first, second = surgery.questions[2].text.removesuffix("?").rpartition(": ")[2].split(" or ")
        expected = {
            (False, False): f"neither {first} nor {second}",
            (True, False): f"{first} but without {second}",
            (False, True): f"{second} but without {first}",
            (True, True): f"{first}, as well as {second}",
        }[first in found, second in found]
        assert truth["LC"] == expected
        assert truth["DD"] == ("implanted lens" if "lens" in found else "a natural lens")
        haze = surgery.scene.haze
        assert truth["SG"] == f"opacity grade {sum(haze > border for border in (0.1, 0.4, 0.7))}"
        assert truth["CD"].startswith("Close" if "lens" in found else STEPS[truth["SG"][-1]])
        assert tuple(truth) == ("IQA", "AL", "LC", "DD", "SG", "CD")
        named |= {first, second}
        seen |= {(k, (first in found, second in found) if k == "LC" else v) for k, v in truth.items()}
    assert len(seen) == 4 + 4 + 4 + 2 + 4 + 4 and named == set(INSTRUMENTS)


def test_the_defect_is_in_the_image():
    for surgery in DRAWN[:16]:
        clean = replace(surgery, defect="").picture(194)
        assert defect_seen(clean, surgery.picture(194)) == surgery.questions[0].options[0]
        assert clean.mode == "RGB" and clean.size == (192, 144)


def test_a_seed_draws_one_truth():
    assert draw_surgery(3) == DRAWN[3] != DRAWN[4]
