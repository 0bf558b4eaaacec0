"""Truth of a phantom fundus: properties of eye and camera, independent of the image size.

Lengths and positions are in units of the image side: x from 0 (left) to 1 (right), y from 0 (top) to 1 (bottom).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from lmod_train.core.errors import check_one_of
from lmod_train.phantom.checks import check_seed
from lmod_train.phantom.vessels import Tree, Vessel

Point: TypeAlias = tuple[float, float]
LesionKind = Literal["microaneurysm", "haemorrhage", "hard exudate", "cotton-wool spot", "disc haemorrhage"]

DIAGNOSES = ("cataract", "diabetic retinopathy", "glaucoma", "normal")
"""Diagnoses that can be drawn: the words of the four-way diagnosis."""


@dataclass(frozen=True, slots=True)
class Lesion:
    """One lesion of diabetic retinopathy: centre and mean radius in units of the image side."""

    kind: LesionKind
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Camera:
    """Exposure; its distribution is the same for every diagnosis, so that it gives none away.

    Attributes:
        field: Centre of the round field in the image.
        field_radius: Radius of the field; above 0.5 the field is cut by the frame.
        light: Position of the brightest light.
        vignette: Share of light lost at the edge of the field, 0 to 1.
        tint: Gain of red, green and blue, around 1.
        brightness: Gain of all three, around 1.
        contrast: Contrast, around 1.
        blur: Standard deviation of the defocus.
        noise: Standard deviation of the sensor's noise, of full scale 1.
    """

    field: Point
    field_radius: float
    light: Point
    vignette: float
    tint: tuple[float, float, float]
    brightness: float
    contrast: float
    blur: float
    noise: float


@dataclass(frozen=True, slots=True)
class Eye:
    """Truth of one eye: everything that `render` needs.

    Attributes:
        seed: Seed of the eye, also of textures and noise.
        diagnosis: One of `DIAGNOSES`.
        laterality: ``right`` or ``left``; a right eye has its disc right of the centre.
        disc: Centre of the optic disc.
        disc_radii: Half width and half height of the disc.
        cup: Centre of the optic cup.
        cup_radii: Half width and half height of the cup; the cup is completely inside the disc.
        cup_to_disc: Vertical cup-to-disc ratio.
        fovea: Centre of the fovea, temporal of the disc.
        vessels: Arteries and veins, trunks first; drawn when the first is asked for.
        lesions: Lesions of diabetic retinopathy; empty without it.
        haze: Haze of the lens, 0 (clear) to 1 (dense cataract).
        pigment: Pigment of the fundus, 0 (pale orange) to 1 (dark brown).
        mottle: Strength of the choroid's texture, 0 to 1.
        camera: Exposure.
        notch: Centre and radius of a round notch, by which the cup reaches into the rim; None without one.
    """

    seed: int
    diagnosis: str
    laterality: Literal["right", "left"]
    disc: Point
    disc_radii: Point
    cup: Point
    cup_radii: Point
    cup_to_disc: float
    fovea: Point
    vessels: Sequence[Vessel]
    lesions: tuple[Lesion, ...]
    haze: float
    pigment: float
    mottle: float
    camera: Camera
    notch: tuple[Point, float] | None = None


def draw_eye(seed: int, diagnosis: str) -> Eye:
    """Return the truth of one eye; eyes of one seed differ only in what the diagnosis changes.

    The vertical cup-to-disc ratio is uniform in 0.62 to 0.85 for glaucoma and in 0.20 to 0.45 otherwise; the haze in
    0.5 to 1 for cataract and in 0 to 0.08 otherwise; diabetic retinopathy has 6 to 20 lesions, the others none.

    Args:
        seed: Any integer from 0.
        diagnosis: One of `DIAGNOSES`.

    Raises:
        BadArgument: The seed is negative, or the diagnosis is not one of `DIAGNOSES`.

    Example:
        >>> eye = draw_eye(7, "glaucoma")
        >>> eye.cup_to_disc > 0.6, eye.lesions, draw_eye(7, "normal").disc == eye.disc
        (True, (), True)
    """
    check_one_of("diagnosis", diagnosis, DIAGNOSES, "use one of these words")
    check_seed(seed)
    # One generator per property, so that a change by the diagnosis leaves all other properties as they are.
    place, _, exposure, cup_stream, lens, damage = (
        np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(6)
    )  # the second, `vessels.STREAM`, is of the vessels
    laterality, disc, radii, fovea = _place(place)
    camera = _expose(exposure)
    ratio = cup_stream.uniform(0.62, 0.85) if diagnosis == "glaucoma" else cup_stream.uniform(0.20, 0.45)
    cup_radii = (radii[0] * ratio * cup_stream.uniform(0.88, 1.0), radii[1] * ratio)
    angle, slack = cup_stream.uniform(0, 2 * math.pi), cup_stream.uniform(0, 0.5) * (1 - ratio)
    cup = (disc[0] + slack * radii[0] * math.cos(angle), disc[1] + slack * radii[1] * math.sin(angle))
    sick = diagnosis == "diabetic retinopathy"
    return Eye(
        seed=seed,
        diagnosis=diagnosis,
        laterality=laterality,
        disc=disc,
        disc_radii=radii,
        cup=cup,
        cup_radii=cup_radii,
        cup_to_disc=ratio,
        fovea=fovea,
        vessels=Tree(seed, disc, fovea),
        lesions=_lesions(damage, disc, radii, fovea, camera) if sick else (),
        haze=lens.uniform(0.5, 1.0) if diagnosis == "cataract" else lens.uniform(0, 0.08),
        pigment=place.uniform(0, 1),
        mottle=place.uniform(0, 1),
        camera=camera,
    )


def _place(rng: np.random.Generator) -> tuple[Literal["right", "left"], Point, Point, Point]:
    """Draw laterality, disc, its radii, and the fovea."""
    side = 1 if rng.random() < 0.5 else -1
    half = rng.uniform(0.072, 0.100)
    radii = (half, half * rng.uniform(0.98, 1.14))
    disc = (0.5 + side * rng.uniform(0.08, 0.24), 0.5 + rng.uniform(-0.07, 0.07))
    reach, tilt = rng.uniform(0.30, 0.37), math.radians(rng.uniform(-5, 14))  # the fovea lies a little below the disc
    fovea = (disc[0] - side * reach * math.cos(tilt), disc[1] + reach * math.sin(tilt))
    return ("right" if side > 0 else "left"), disc, radii, fovea


def _expose(rng: np.random.Generator) -> Camera:
    """Draw the exposure."""
    warm, green = rng.uniform(-0.10, 0.10), rng.uniform(-0.06, 0.06)
    return Camera(
        field=(0.5 + rng.uniform(-0.012, 0.012), 0.5 + rng.uniform(-0.012, 0.012)),
        field_radius=rng.uniform(0.455, 0.54),
        light=(0.5 + rng.uniform(-0.15, 0.15), 0.5 + rng.uniform(-0.15, 0.15)),
        vignette=rng.uniform(0.15, 0.55),
        tint=(1 + warm, 1 + green, 1 - warm),
        brightness=rng.uniform(0.78, 1.12),
        contrast=rng.uniform(0.85, 1.15),
        blur=rng.uniform(0.0005, 0.0028),
        noise=rng.uniform(0.004, 0.022),
    )


def _lesions(rng: np.random.Generator, disc: Point, radii: Point, fovea: Point, camera: Camera) -> tuple[Lesion, ...]:
    """Draw 6 to 20 lesions off the disc and inside the field, at least four of them large enough to see when small."""
    large = [_kind(rng) for _ in range(int(rng.integers(4, 9)))]
    small: list[tuple[LesionKind, float]] = [
        ("microaneurysm", rng.uniform(0.0035, 0.006)) for _ in range(int(rng.integers(2, 13)))
    ]
    found: list[Lesion] = []
    nest = (fovea[0] + rng.uniform(-0.12, 0.12), fovea[1] + rng.uniform(-0.12, 0.12))  # exudates lie together
    for kind, radius in large + small:
        while True:
            near = kind == "hard exudate" and rng.random() < 0.7
            x, y = rng.normal(nest, 0.06) if near else rng.uniform(0.06, 0.94, 2)
            off_disc = math.hypot((x - disc[0]) / radii[0], (y - disc[1]) / radii[1]) > 1.15 + radius / radii[0]
            edge = min(camera.field_radius, 0.49) - radius - 0.02
            in_field = math.hypot(x - camera.field[0], y - camera.field[1]) < edge
            apart = all(math.hypot(x - o.x, y - o.y) > radius + o.radius for o in found)
            if off_disc and in_field and apart:
                found.append(Lesion(kind, float(x), float(y), float(radius)))
                break
    return tuple(found)


def _kind(rng: np.random.Generator) -> tuple[LesionKind, float]:
    """Draw the kind and the radius of a large lesion."""
    draw = rng.random()
    if draw < 0.5:
        return "haemorrhage", rng.uniform(0.011, 0.024)
    if draw < 0.85:
        return "hard exudate", rng.uniform(0.010, 0.018)
    return "cotton-wool spot", rng.uniform(0.016, 0.028)
