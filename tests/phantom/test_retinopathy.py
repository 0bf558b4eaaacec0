"""Grades have the lesions of the scale, and masks match the pixels that `render` changes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.eye import Eye, LesionKind, draw_eye
from lmod_train.phantom.fundus import disc_mask, render
from lmod_train.phantom.retinopathy import grade_eye
from scripts.base.masks import lesion_mask
from tests.tabled import tabled

PLAIN = [draw_eye(seed, "normal") for seed in range(12)]
KINDS: tuple[LesionKind, ...] = ("microaneurysm", "haemorrhage", "hard exudate", "cotton-wool spot")


def graded(grade: int, exudates: Any = "any") -> list[Eye]:
    return [grade_eye(eye, grade, seed, exudates) for seed, eye in enumerate(PLAIN)]


def of_kind(eye: Eye, kind: LesionKind) -> list[Any]:
    return [lesion for lesion in eye.lesions if lesion.kind == kind]


def test_grades_have_the_lesions_of_the_scale() -> None:
    expected = [
        (),
        ("microaneurysm",),
        ("haemorrhage", "hard exudate", "microaneurysm"),
        ("cotton-wool spot", "haemorrhage", "hard exudate", "microaneurysm"),
        ("cotton-wool spot", "haemorrhage", "hard exudate", "microaneurysm"),
    ]
    for grade, kinds in enumerate(expected):
        for eye in graded(grade):
            assert tuple(sorted({lesion.kind for lesion in eye.lesions})) == kinds
            large = [lesion for lesion in eye.lesions if lesion.radius > 0.05]
            assert [lesion.kind for lesion in large] == ["haemorrhage"] * (grade == 4)


def test_from_severe_on_every_quadrant_has_five_haemorrhages() -> None:
    def least(eye: Eye) -> int:
        x, y = eye.camera.field
        return min(
            sum((b.x - x) * sx > 0 and (b.y - y) * sy > 0 for b in of_kind(eye, "haemorrhage"))
            for sx in (1, -1)
            for sy in (1, -1)
        )

    assert all(least(eye) >= 5 for grade in (3, 4) for eye in graded(grade))
    assert all(least(eye) < 5 for eye in graded(2))


def test_only_lesions_and_the_diagnosis_change() -> None:
    for grade in range(5):
        for eye, before in zip(graded(grade), PLAIN, strict=True):
            assert replace(eye, lesions=(), diagnosis="normal") == before
            assert eye.diagnosis == ("diabetic retinopathy" if grade else "normal")
    cupped = draw_eye(1, "glaucoma")
    assert grade_eye(cupped, 0, 1) == cupped
    assert grade_eye(draw_eye(1, "diabetic retinopathy"), 0, 1) == draw_eye(1, "normal")


def test_positions_depend_on_the_seed() -> None:
    assert grade_eye(PLAIN[0], 3, 4) == grade_eye(PLAIN[0], 3, 4) != grade_eye(PLAIN[0], 3, 5)


def test_lesions_lie_in_the_field_off_disc_and_fovea_and_apart() -> None:
    for eye in (eye for grade in (1, 2, 3, 4) for eye in graded(grade, "near")):
        disc = disc_mask(eye, 200)
        assert not any((lesion_mask(eye, kind, 200) & disc).any() for kind in KINDS)
        for at, a in enumerate(eye.lesions):
            assert math.hypot(a.x - eye.camera.field[0], a.y - eye.camera.field[1]) + a.radius < eye.camera.field_radius
            assert math.hypot(a.x - eye.fovea[0], a.y - eye.fovea[1]) > a.radius
            assert all(math.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius for b in eye.lesions[:at])


def test_exudates_lie_where_they_are_wanted() -> None:
    def within(eye: Eye) -> int:
        diameter = 2 * max(eye.disc_radii)
        there = [math.hypot(e.x - eye.fovea[0], e.y - eye.fovea[1]) for e in of_kind(eye, "hard exudate")]
        return sum(apart < diameter for apart in there)

    for grade in (2, 3, 4):
        assert all(of_kind(eye, "hard exudate") == [] for eye in graded(grade, "none"))
        assert all(of_kind(eye, "hard exudate") and within(eye) == 0 for eye in graded(grade, "far"))
        assert all(within(eye) >= 2 for eye in graded(grade, "near"))


def test_masks_are_the_pixels_that_the_picture_changes() -> None:
    for eye in graded(4)[:4]:
        sharp = replace(eye, haze=0, camera=replace(eye.camera, noise=0, blur=1e-9, field_radius=0.6))
        without = np.asarray(render(replace(sharp, lesions=()), 192)).astype(int)
        for kind in KINDS:
            # The others keep their places in the stream of outlines but are moved out of the picture.
            only = replace(sharp, lesions=tuple(s if s.kind == kind else replace(s, x=-5.0) for s in sharp.lesions))
            changed = (np.asarray(render(only, 192)).astype(int) != without).any(axis=2)
            mask = lesion_mask(eye, kind, 192)
            assert mask.any()
            if kind != "cotton-wool spot":  # whose edge is soft
                assert not (changed & ~mask).any()
            assert (changed & mask).sum() > 0.97 * mask.sum()


def test_every_lesion_is_in_its_mask_at_any_size() -> None:
    for eye in graded(3):
        for size in (48, 384):
            masks = {kind: lesion_mask(eye, kind, size) for kind in {lesion.kind for lesion in eye.lesions}}
            for lesion in eye.lesions:
                row, column = int(lesion.y * size), int(lesion.x * size)
                assert masks[lesion.kind][row - 1 : row + 2, column - 1 : column + 2].any()
    assert not lesion_mask(PLAIN[0], "haemorrhage", 48).any()


def test_no_number_of_lesions_grows_with_chance_alone() -> None:
    counts = [Counter(lesion.kind for eye in graded(grade) for lesion in eye.lesions) for grade in (1, 2, 3)]
    assert counts[0]["haemorrhage"] == 0 < 3 * counts[1]["haemorrhage"] < counts[2]["haemorrhage"]


@tabled(("wrong", "named"), [({"grade": 5}, "grade=5"), ({"seed": -1}, "seed=-1"), ({"exudates": "x"}, "exudates='x'")])
def test_bad_arguments_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(BadArgument, match=named):
        grade_eye(PLAIN[0], **{"grade": 1, "seed": 0, **wrong})
