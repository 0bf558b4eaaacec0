"""Signs of conditions: which pixels they change, in which direction of colour, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.fundus import cup_mask, disc_mask, render
from lmod_train.phantom.lesions import SIGNS, paint_signs, with_conditions
from tests.tabled import tabled

SIZE = 160
SEEDS = range(4)
Picture = npt.NDArray[np.int_]


@cache
def eye_of(seed: int) -> Eye:
    eye = draw_eye(seed, "normal")
    return replace(
        eye, camera=replace(eye.camera, noise=0, blur=0.0005, field_radius=0.485, vignette=0.2, brightness=1.0)
    )


@cache  # the same picture for several tests
def shown(seed: int, *conditions: str) -> Picture:
    picture = painted(seed, *conditions)
    picture.flags.writeable = False
    return picture


def painted(seed: int, *conditions: str) -> Picture:
    eye = with_conditions(eye_of(seed), conditions, seed)
    return np.asarray(paint_signs(render(eye, SIZE), eye, conditions, seed)).astype(int)


def change(seed: int, condition: str) -> tuple[Picture, npt.NDArray[np.bool_]]:
    """Return the change of each pixel, and the mask of changes above 12 of 255."""
    difference = shown(seed, condition) - shown(seed)
    return difference, np.abs(difference).max(axis=2) > 12


def from_point(point: tuple[float, float]) -> npt.NDArray[np.float64]:
    centres = (np.arange(SIZE) + 0.5) / SIZE
    return np.hypot(centres[None, :] - point[0], centres[:, None] - point[1])


def test_names_are_words_of_the_vocabulary() -> None:
    assert set(SIGNS) <= {term.name for term in CONDITIONS}


@tabled("condition", SIGNS)
def test_every_condition_is_visible(condition: str) -> None:
    for seed in SEEDS:
        _, where = change(seed, condition)
        assert where.sum() > 0.001 * SIZE**2
    assert (painted(SEEDS[-1], condition) == shown(SEEDS[-1], condition)).all()


def test_no_condition_changes_nothing() -> None:
    eye = eye_of(1)
    picture = render(eye, SIZE)
    assert with_conditions(eye, [], 1) == eye
    assert paint_signs(picture, eye, [], 1) == picture


@tabled(
    ("condition", "reach"), [("drusen", 0.17), ("abnormal macula", 0.12), ("age-related macular degeneration", 0.17)]
)
def test_signs_of_the_macula_lie_around_the_fovea(condition: str, reach: float) -> None:
    for seed in SEEDS:
        _, where = change(seed, condition)
        assert from_point(eye_of(seed).fovea)[where].max() < reach


@tabled(
    ("condition", "has_colour"),
    [
        ("drusen", lambda d: d[..., 1].mean() > 20 and d[..., 0].mean() > 5),  # yellow
        ("age-related macular degeneration", lambda d: d[..., 2].mean() > 10),  # pale
        ("nevus", lambda d: d[..., 0].mean() < d[..., 1].mean() < d[..., 2].mean() < 0),  # slate: red goes most
        ("vascular occlusion", lambda d: d[..., 0].mean() < -30 and d[..., 1].mean() < -20),  # blood
        ("hemorrhage", lambda d: d[..., 0].mean() < -30 and d[..., 1].mean() < -30),
        ("retinal detachment", lambda d: d[..., 2].mean() > 30),  # grey
        ("hypertensive retinopathy", lambda d: d.mean() > 10),  # silver
    ],
)
def test_colours_change_as_in_the_condition(condition: str, has_colour: Callable[[Picture], bool]) -> None:
    for seed in SEEDS:
        difference, where = change(seed, condition)
        assert has_colour(difference[where]), difference[where].mean(axis=0)


def test_a_scar_is_pale_with_a_dark_edge() -> None:
    for seed in SEEDS:
        difference, where = change(seed, "scar")
        rows, columns = np.nonzero(where)
        out = np.hypot(rows - rows.mean(), columns - columns.mean())
        brighter = difference.sum(axis=2)[where]
        assert np.median(out[brighter > 60]) < np.median(out[brighter < -60])
        assert (brighter > 60).sum() > 50 < (brighter < -60).sum()


def test_occlusion_fills_one_quadrant_from_the_disc() -> None:
    for seed in SEEDS:
        eye = eye_of(seed)
        rows, columns = np.nonzero(change(seed, "vascular occlusion")[1])
        above, temporal = rows < eye.disc[1] * SIZE, (columns < eye.disc[0] * SIZE) == (eye.laterality == "right")
        assert max(above.mean(), 1 - above.mean()) > 0.9
        assert temporal.mean() > 0.85


def test_a_haemorrhage_is_level_above() -> None:
    for seed in SEEDS:
        rows, columns = np.nonzero(change(seed, "hemorrhage")[1])
        widths = [np.ptp(columns[rows == row]) for row in range(rows.min(), rows.max() + 1)]
        assert np.mean(widths[: len(widths) // 4]) > 1.5 * np.mean(widths[-(len(widths) // 4) :])


def test_a_large_cup_is_wide_and_stays_inside_its_disc() -> None:
    for seed in SEEDS:
        eye = with_conditions(eye_of(seed), ["increased cup-to-disc ratio"], seed)
        assert 0.62 <= eye.cup_to_disc <= 0.85
        cup, disc = cup_mask(eye, SIZE), disc_mask(eye, SIZE)
        assert (cup <= disc).all()
        assert cup.sum() > 1.5 * cup_mask(eye_of(seed), SIZE).sum()


def test_vessels_change_by_kind() -> None:
    for seed in SEEDS:
        plain = eye_of(seed).vessels
        wound, narrow = (
            with_conditions(eye_of(seed), [f], seed).vessels for f in ("abnormal vessels", "hypertensive retinopathy")
        )
        assert [v for v in wound if not v.vein] == [v for v in plain if not v.vein]
        assert sum(len(v.points) == 120 and v.width > 0.0105 for v in wound) == 4
        assert [v for v in narrow if v.vein] == [v for v in plain if v.vein]
        arteries = zip(narrow, plain, strict=True)
        assert all(n.width == pytest.approx(0.45 * p.width) for n, p in arteries if not n.vein)


def test_a_myopic_fundus_is_pale_and_uneven_with_a_crescent_temporal_of_the_disc() -> None:
    for seed in SEEDS:
        eye = replace(eye_of(seed), pigment=0.9)
        pale = with_conditions(eye, ["myopic fundus"], seed)
        picture = np.asarray(paint_signs(render(pale, SIZE), pale, ["myopic fundus"], seed)).astype(int)
        away = -1 if eye.laterality == "right" else 1
        x, y = eye.disc[0] + away * 1.2 * eye.disc_radii[0], eye.disc[1]
        beside = np.asarray(render(eye, SIZE)).astype(int)[round(y * SIZE), round(x * SIZE)]
        assert picture[round(y * SIZE), round(x * SIZE)].sum() > beside.sum() + 100
        ring = (from_point((0.5, 0.5)) < 0.4) & (from_point(eye.disc) > 0.25)
        assert picture[ring].mean() > np.asarray(render(eye, SIZE))[ring].mean() + 10


def test_signs_with_their_own_area_are_apart_and_do_not_depend_on_others() -> None:
    for seed in SEEDS:
        where = {name: change(seed, name)[1] for name in ("nevus", "scar", "hemorrhage")}
        disc = disc_mask(eye_of(seed), SIZE)
        assert not any((mask & disc).any() for mask in where.values())
        assert not (where["nevus"] & where["scar"]).any()
        assert not (where["scar"] & where["hemorrhage"]).any()
        together = shown(seed, "hemorrhage", "scar", "nevus")
        for name, mask in where.items():
            assert np.abs(together - shown(seed, name))[mask].max() <= 12


@pytest.mark.parametrize(
    "call", [lambda e: with_conditions(e, ["x"], 0), lambda e: paint_signs(render(e, 32), e, ["x"], 0)]
)
def test_unknown_conditions_are_named(call: Callable[[Eye], object]) -> None:
    with pytest.raises(BadArgument, match="conditions='x'"):
        call(eye_of(0))
