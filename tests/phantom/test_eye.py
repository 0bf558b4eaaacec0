import math
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.phantom.eye import DIAGNOSES, draw_eye
from tests.tabled import tabled


@cache
def eyes_of(diagnosis):
    return [draw_eye(seed, diagnosis) for seed in range(40)]


def all_eyes():
    return [eye for diagnosis in DIAGNOSES for eye in eyes_of(diagnosis)]


def test_diagnoses_are_words_of_the_vocabulary():
    assert set(DIAGNOSES) <= {term.name for term in CONDITIONS}


def test_the_same_seed_gives_the_same_eye_and_another_seed_another():
    assert draw_eye(3, "glaucoma") == draw_eye(3, "glaucoma") != draw_eye(4, "glaucoma")


@tabled("diagnosis", ["cataract", "diabetic retinopathy", "glaucoma"])
def test_a_diagnosis_changes_its_own_signs_and_nothing_else(diagnosis):
    signs = {
        "cataract": ("haze",),
        "diabetic retinopathy": ("lesions",),
        "glaucoma": ("cup", "cup_radii", "cup_to_disc"),
    }[diagnosis]
    for sick, well in zip(eyes_of(diagnosis), eyes_of("normal"), strict=True):
        assert sick != well
        assert replace(sick, diagnosis="normal", **{sign: getattr(well, sign) for sign in signs}) == well


def test_signs_lie_in_the_stated_ranges():
    for eye in all_eyes():
        low, high = (0.62, 0.85) if eye.diagnosis == "glaucoma" else (0.20, 0.45)
        assert low <= eye.cup_to_disc <= high
        low, high = (0.5, 1.0) if eye.diagnosis == "cataract" else (0, 0.08)
        assert low <= eye.haze <= high
        assert 6 <= len(eye.lesions) <= 20 if eye.diagnosis == "diabetic retinopathy" else eye.lesions == ()


def test_disc_is_nasal_of_a_fifth_to_a_seventh_and_holds_the_cup():
    for eye in all_eyes():
        assert (eye.disc[0] > 0.5) == (eye.laterality == "right") == (eye.disc[0] > eye.fovea[0])
        assert 1 / 7 <= 2 * eye.disc_radii[0] <= 1 / 5 and 1 / 7 <= 2 * eye.disc_radii[1] <= 0.23
        for angle in (2 * math.pi * k / 64 for k in range(64)):
            x = (eye.cup[0] + eye.cup_radii[0] * math.cos(angle) - eye.disc[0]) / eye.disc_radii[0]
            y = (eye.cup[1] + eye.cup_radii[1] * math.sin(angle) - eye.disc[1]) / eye.disc_radii[1]
            assert math.hypot(x, y) < 1
    assert 0.35 < Counter(eye.laterality for eye in eyes_of("normal"))["right"] / 40 < 0.65


def test_everything_lies_inside_the_field():
    for eye in all_eyes():
        things = [(*eye.disc, max(eye.disc_radii)), (*eye.fovea, 0.0), *((s.x, s.y, s.radius) for s in eye.lesions)]
        for x, y, radius in things:
            reach = math.hypot(x - eye.camera.field[0], y - eye.camera.field[1]) + radius
            assert reach < eye.camera.field_radius and radius <= x <= 1 - radius and radius <= y <= 1 - radius


def test_some_lesions_are_two_pixels_wide_at_120_and_none_covers_the_disc():
    for eye in eyes_of("diabetic retinopathy"):
        assert sum(2 * lesion.radius * 120 >= 2 for lesion in eye.lesions if lesion.kind != "microaneurysm") >= 4
        for lesion in eye.lesions:
            apart = math.hypot(lesion.x - eye.disc[0], lesion.y - eye.disc[1])
            assert apart > min(eye.disc_radii) + lesion.radius


@pytest.mark.parametrize(("seed", "diagnosis", "named"), [(-1, "normal", "seed=-1"), (0, "AMD", "diagnosis='AMD'")])
def test_bad_arguments_are_named(seed, diagnosis, named):
    with pytest.raises(BadArgument, match=named):
        draw_eye(seed, diagnosis)
