"""A classifier of filled crops: it finds a planted leak, and nothing where there is none."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lmod_train.core.artifacts.shortcuts import Shortcut, read_shortcuts, write_shortcuts
from lmod_train.data.curation.image_files import write_image
from lmod_train.extensions.looking.blind import FOLDS, METRIC, _folds, _row, filled_crops, write_filled_crops
from tests.scoring.make import record

CHOICES = ("GLAUCOMA", "NON-GLAUCOMA")


def curated(tmp_path, leak, n=60):
    """Images with a noisy disc, filled with a colour; by the class if it leaks."""
    rng, records = np.random.default_rng(0), []
    for at in range(n):
        answer = CHOICES[at % 2]
        noise = rng.integers(60, 110, (8, 8, 3), dtype=np.uint8)
        whole = Image.fromarray(noise).resize((64, 64), Image.Resampling.BICUBIC)
        filled = whole.copy()
        ImageDraw.Draw(whole).ellipse((20, 20, 40, 40), fill=(250, 240, 200))
        shade = 100 + (20 * (at % 2) if leak else 0) + int(rng.integers(-6, 7))
        ImageDraw.Draw(filled).ellipse((20, 20, 40, 40), fill=(shade, 60, 40))
        for variant, image in (("as_is", whole), ("evidence_removed.mean", filled)):
            name = f"images/s/{at}.{variant}.jpg"
            write_image(tmp_path / name, image)
            one = record(f"{at}/{variant}", answer, task="glaucoma_grounding", choices=CHOICES, group=f"p{at // 2}")
            records.append(replace(one, key=str(at), variant=variant, image=(name,), image_plain=(name,)))
    return records


def test_a_planted_leak_is_found_and_no_other(tmp_path):
    (leaking,) = filled_crops(tmp_path / "a", curated(tmp_path / "a", leak=True))
    (clean,) = filled_crops(tmp_path / "b", curated(tmp_path / "b", leak=False))
    assert (leaking.task, leaking.shortcut, leaking.metric) == ("glaucoma_grounding", "filled_crop.mean", METRIC)
    assert leaking.value > 0.9 and leaking.low > 0.7 and leaking.n == 60
    assert 0.3 < clean.value < 0.7 and clean.low < 0.5 < clean.high


def test_the_place_of_the_fill_counts_as_a_leak(tmp_path):
    """A fill of one colour, at a place that differs by class."""
    records, rng = curated(tmp_path, leak=False), np.random.default_rng(1)
    for one in records:
        if one.variant != "as_is":
            shift = 14 * (one.answer == CHOICES[0]) + int(rng.integers(3))
            image = Image.open(tmp_path / one.image[0].replace("evidence_removed.mean", "as_is"))
            ImageDraw.Draw(image).ellipse((20 + shift, 20, 40 + shift, 40), fill=(100, 60, 40))
            write_image(tmp_path / one.image[0], image)
    assert filled_crops(tmp_path, records)[0].low > 0.7


@pytest.mark.parametrize("sizes", ([40] * 4 + [1] * 40, [1] * 44))
def test_patients_with_many_images_are_no_leak(sizes):
    """Features of each patient's own, that tell nothing of the answer: half are right, over many draws."""
    rng, found = np.random.default_rng(0), []
    for _ in range(16):
        seen = []
        for patient, n in enumerate(sizes):
            own = 2 * rng.normal(size=60)
            one = record(f"{patient}", CHOICES[patient % 2], choices=CHOICES, group=f"p{patient}")
            seen += [(one, own + rng.normal(size=60)) for _ in range(n)]
        found.append(_row("t", "mean", seen).value)
    assert 0.42 < np.mean(found) < 0.6


def test_each_fold_has_every_answer_and_whole_patients():
    """Of answers that at least five patients have, in one eye or both."""
    for left, right, both in ((5, 5, 0), (30, 5, 5), (7, 6, 12), (0, 40, 5)):
        images = np.array([[3, 0]] * left + [[0, 1]] * right + [[1, 1]] * both)
        folds = _folds(images)
        assert np.ptp(np.bincount(folds, minlength=FOLDS)) <= 1
        assert all(set(folds[images[:, answer] > 0]) == set(range(FOLDS)) for answer in (0, 1))


def test_too_few_patients_are_no_number(tmp_path):
    (row,) = filled_crops(tmp_path, curated(tmp_path, leak=True, n=6))
    assert (row.n, row.value) == (0, None)
    assert filled_crops(tmp_path, []) == []


def test_rows_stand_beside_those_of_blind_and_replace_earlier_ones(tmp_path):
    records = curated(tmp_path, leak=True)
    other = Shortcut("glaucoma", "words", "val+test", "accuracy", 10, 0.5, 0.2, 0.8)
    write_shortcuts(
        tmp_path / "audit.csv", [other, Shortcut("glaucoma_grounding", "filled_crop.mean", "all", METRIC, 1, 0.1)]
    )
    rows = write_filled_crops(tmp_path, records)
    assert read_shortcuts(tmp_path) == [other, *rows]
