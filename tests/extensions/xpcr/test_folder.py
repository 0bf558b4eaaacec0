"""Phantoms of X-PCR: the same rows in three layouts, with truth in the pixels."""

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.xpcr import phantom as xpcr
from lmod_train.phantom.eye import Eye

STAGE_NAMES = ("IQA", "AL", "LC", "DD", "SG", "CD")

ROWS = xpcr.rows(24, 5)


def test_rows_are_the_same_for_one_seed_and_differ_for_another():
    assert xpcr.rows(24, 5) == ROWS and xpcr.rows(6, 5) == ROWS[:6]
    assert xpcr.rows(24, 6)[0].drawn != ROWS[0].drawn


def test_every_diagnosis_stage_and_answer_occurs():
    answers = {}
    for row in xpcr.rows(160, 5):
        for question in row.questions:
            answers.setdefault((row.modality, question.category, question.sub_label), set()).add(question.options[0])
    assert all(len(found) > 1 for found in answers.values()), answers
    assert {category for _, category, _ in answers} == {"IQA", "AL", "LC", "DD", "SG", "CD"}


def test_every_row_of_the_five_modalities_has_six_stages():
    stages = {row.modality: {q.category for q in row.questions} for row in ROWS}
    assert stages == {name: set(STAGE_NAMES) for name in ("CFP", "OCT", "SLO", "EP", "SS")}
    assert [row.modality for row in ROWS[:6]] == ["CFP", "OCT", "SLO", "EP", "SS", "CFP"]


def test_the_side_in_the_name_is_that_of_the_eye():
    for row in ROWS:
        if isinstance(row.drawn, Eye):
            assert row.place.endswith(f"_{row.drawn.laterality}.jpg")


def test_the_disc_is_where_the_answer_is():
    for row in (row for row in ROWS if isinstance(row.drawn, Eye) and row.drawn.diagnosis == "normal"):
        import io

        pixels = np.asarray(Image.open(io.BytesIO(xpcr.image_file(row, 64))).convert("L"), dtype=float)
        brightest = pixels.reshape(64, 2, 32).max(axis=2).max(axis=0)
        answer = next(q.options[0] for q in row.questions if q.sub_label == "optic disc")
        assert answer == ("In the left half" if brightest[0] > brightest[1] else "In the right half")


def test_a_scan_has_at_most_one_defect():
    for row in xpcr.rows(300, 5):
        if row.modality == "OCT":
            assert row.drawn.dim + (row.drawn.shield is not None) + row.drawn.blurred <= 1


def test_the_tables_are_the_same_whatever_is_there(tmp_path):
    for n in range(2):
        xpcr.write(tmp_path / str(n), 5, 1, size=32, workers=0)
    first, again = (sorted((tmp_path / str(n)).rglob("*.*")) for n in range(2))
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in again] and len(first) >= 4
    with pytest.raises(BadArgument, match="drawn with"):
        xpcr.write(tmp_path / "0", 5, 2, size=32, workers=0)


@pytest.mark.parametrize(("n", "size"), [(-1, 32), (2, 8)])
def test_wrong_numbers_are_named(tmp_path, n, size):
    with pytest.raises(BadArgument):
        xpcr.write(tmp_path, n, 0, size=size, workers=0)
