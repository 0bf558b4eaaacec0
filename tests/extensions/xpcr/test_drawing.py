"""What drawn rows of X-PCR have in common: places, defects that can be seen, and options that give nothing away."""

import numpy as np
from PIL import Image

from lmod_train.extensions.xpcr.phantom import (
    CLEAR,
    DEFECTS,
    draw_defect,
    is_clear,
    one_of,
    place_question,
    quality_question,
    rows,
    with_defect,
)
from tests.tabled import tabled

OWN = ("SLO", "EP", "SS")


def test_one_of_puts_the_truth_first():
    assert one_of("b", ("a", "b", "c")) == ("b", "a", "c")


@tabled(
    ("x", "y", "truth"),
    [(0.1, 0.2, "upper left"), (1.2, 0.2, "upper right"), (0.1, 0.9, "lower left"), (1.2, 0.9, "lower right")],
)
def test_a_place_is_in_a_quarter_of_a_wide_image(x, y, truth):
    question = place_question("frame", "pupil", x, y, 4 / 3)
    assert question.options[0] == f"{truth} quarter" and len(set(question.options)) == 4
    assert is_clear(x, y, 4 / 3) and not is_clear(x, 0.5 + CLEAR / 2, 4 / 3) and not is_clear(2 / 3, y, 4 / 3)


def test_every_defect_is_drawn_and_named():
    rng = np.random.default_rng(0)
    assert {draw_defect(rng) for _ in range(60)} == set(DEFECTS)
    assert {quality_question("frame", defect).options[0] for defect in DEFECTS} == set(DEFECTS.values())


def test_a_defect_changes_the_image_as_its_name_says():
    rng = np.random.default_rng(0)
    image = Image.fromarray(rng.integers(60, 200, (64, 64, 3), dtype=np.uint8))
    clear, blurred, dark, shaded = (np.asarray(with_defect(image, defect, 1), dtype=float) for defect in DEFECTS)
    assert (clear == np.asarray(image)).all()
    assert np.abs(np.diff(blurred, axis=1)).mean() < 0.8 * np.abs(np.diff(clear, axis=1)).mean()
    assert (dark < 0.8 * clear).all()
    share = shaded.mean(axis=2) / clear.mean(axis=2)
    assert share.min() < 0.75 and np.quantile(share, 0.7) > 0.9


def test_options_have_one_length_and_depend_on_the_question_alone():
    options = {}
    for row in rows(200, 4):
        for question in row.questions if row.modality in OWN else ():
            lengths = {len(option) for option in question.options}
            assert max(lengths) - min(lengths) <= 1, question
            options.setdefault((row.modality, question.category, question.text), set()).add(frozenset(question.options))
    assert len({key[:2] for key in options}) == 18 and all(len(lists) == 1 for lists in options.values())
