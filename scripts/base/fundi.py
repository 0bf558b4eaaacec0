"""Fundus photographs and laser scans on which the small base is trained, with independent findings.

The base must not know the benchmark's tasks, or its zero-shot score would be meaningless. Cup, lesions, signs and haze
therefore vary independently, and no image has a diagnosis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from masks import lesion_mask, place
from PIL import Image
from shown import SIGNS as PLACED
from shown import SPOTS, Mask, Shown

from lmod_train.phantom import slo
from lmod_train.phantom.drawing import Canvas, ellipse
from lmod_train.phantom.eye import Eye, Lesion, LesionKind, draw_eye
from lmod_train.phantom.frame import Frame, frame_for, photograph
from lmod_train.phantom.fundus import cup_mask, disc_mask
from lmod_train.phantom.lesions import SIGNS, paint_signs, with_conditions
from lmod_train.phantom.retinopathy import _PRERETINAL, _QUADRANTS, _lay, _some, _Wanted
from lmod_train.phantom.truth import extent

HEIGHT = 256
_DRAWN = tuple(name for name in SIGNS if name != "increased cup-to-disc ratio")  # the cup is drawn separately


@dataclass(frozen=True)
class Fundus:
    """Truth of a fundus photograph: eye, conditions (names of `SIGNS`), strength of the macular ring."""

    eye: Eye
    signs: tuple[str, ...]
    ring: float
    frame: Frame


@lru_cache(maxsize=4)
def fundus_of(seed: int) -> Fundus:
    """Return random truth: cup-to-disc ratio 0.2 to 0.85, lesions and signs in a half, haze in a quarter."""
    rng = np.random.default_rng([seed, 20])
    camera = (eye := free_cup(draw_eye(seed, "normal"), rng)).camera
    red, green, blue = camera.tint
    camera = replace(camera, tint=(red, green, blue * rng.uniform(0.35, 1.3) if rng.random() < 0.6 else blue))
    if rng.random() < 0.6:
        camera = replace(camera, field_radius=min(camera.field_radius, 0.485))
    if rng.random() < 0.12:
        camera = replace(camera, blur=rng.uniform(0.003, 0.007), brightness=camera.brightness * rng.uniform(0.55, 1))
    haze = rng.uniform(0, 0.08) if rng.random() < 0.75 else rng.uniform(0.2, 1.0)
    eye = replace(eye, camera=camera, haze=float(haze))
    count = int(rng.choice(4, p=(0.4, 0.2, 0.2, 0.2)))
    signs = tuple(rng.choice(_DRAWN, count, replace=False).tolist())
    eye = with_conditions(eye, signs, seed)
    if rng.random() < 0.55:
        eye = replace(eye, lesions=_lesions(rng, eye))
    aspect = float(rng.choice((1.0, 1.15, 1.3, 1.5)))
    frame = frame_for(round(HEIGHT * aspect), HEIGHT, seed, 1.1 if aspect == 1.5 and rng.random() < 0.5 else 1.0)
    return Fundus(eye, signs, float(rng.uniform(0.1, 0.8)) if rng.random() < 0.4 else 0.0, frame)


def free_cup(eye: Eye, rng: np.random.Generator) -> Eye:
    """Return the eye with random sizes of cup and disc."""
    half = rng.uniform(0.066, 0.100)
    radii = (half, half * eye.disc_radii[1] / eye.disc_radii[0])
    ratio = rng.uniform(0.2, 0.85)
    angle, slack = rng.uniform(0, 2 * math.pi), rng.uniform(0, 0.5) * (1 - ratio)
    cup = (eye.disc[0] + slack * radii[0] * math.cos(angle), eye.disc[1] + slack * radii[1] * math.sin(angle))
    narrow = rng.uniform(0.88, 1.0)
    return replace(
        eye, disc_radii=radii, cup=cup, cup_radii=(radii[0] * ratio * narrow, radii[1] * ratio), cup_to_disc=ratio
    )


def _lesions(rng: np.random.Generator, eye: Eye) -> tuple[Lesion, ...]:
    """Return random lesions, each kind independent of the others, with the sizes and numbers of graded eyes."""
    wanted: list[_Wanted] = []
    if rng.random() < 0.2:
        wanted.append(_Wanted("haemorrhage", _PRERETINAL))
    if rng.random() < 0.3:
        wanted += _some(rng, "cotton-wool spot", 1, 5)
    draw = rng.random()
    if draw < 0.3:
        for quadrant in _QUADRANTS:
            if rng.random() < 0.75:
                wanted += _some(rng, "haemorrhage", 3, 7, quadrant)
    elif draw < 0.6:
        wanted += _some(rng, "haemorrhage", 1, 7)
    if rng.random() < 0.45:
        wanted += _some(rng, "hard exudate", 2, 9, str(rng.choice(["near", "far", "any"])))
    if rng.random() < 0.6:
        wanted += _some(rng, "microaneurysm", 6, 16)
    laid_out: list[Lesion] = []
    for one in wanted:
        laid_out.append(_lay(rng, eye, one, laid_out))
    return tuple(laid_out)


def draw_fundus(seed: int) -> Shown:
    """Return the photograph of `fundus_of(seed)` with masks of its structures and findings."""
    truth = fundus_of(seed)
    eye, frame = truth.eye, truth.frame
    picture = photograph(eye, frame)
    corner = (frame.left, frame.top, frame.left + frame.side, frame.top + frame.side)
    canvas = Canvas(picture.crop(corner), eye)
    if truth.ring:
        around = ellipse(eye.fovea, (0.05, 0.042))
        ring = canvas.lines([([*around, around[0]], 0.008)], soft=0.002)
        canvas.paint(ring, (1.0, 0.85, 0.6), truth.ring)
    bare = canvas.picture
    picture.paste(paint_signs(bare, eye, truth.signs, seed), corner)
    layers = eye_layers(eye, frame.side)
    layers |= {kind: lesion_mask(eye, kind, frame.side) for kind in _kinds(eye)}
    for sign in set(truth.signs) & set(PLACED):
        layers[sign] = _changed(bare, paint_signs(bare, eye, [sign], seed))
    moved = {name: place(mask, frame) for name, mask in layers.items()}
    boxes = [(name, extent(mask)) for name, mask in moved.items() if name in ("optic disc", "optic cup", "fovea")]
    return Shown(picture, moved, boxes, {**_facts(truth), "CFP": 1.0})


def eye_layers(eye: Eye, side: int) -> dict[str, Mask]:
    """Return the masks of disc, cup and fovea in the square of an eye."""
    centres = (np.arange(side) + 0.5) / side
    fovea = np.hypot(centres[None] - eye.fovea[0], centres[:, None] - eye.fovea[1]) < 0.05
    return {"optic disc": disc_mask(eye, side), "optic cup": cup_mask(eye, side), "fovea": fovea}


def _kinds(eye: Eye) -> list[LesionKind]:
    return [kind for kind in SPOTS if any(lesion.kind == kind for lesion in eye.lesions)]


def _changed(before: Image.Image, after: Image.Image) -> Mask:
    """Return the mask of a sign: the pixels it changes by more than the noise."""
    change = np.abs(np.asarray(before, np.int16) - np.asarray(after, np.int16)).max(axis=2)
    changed: Mask = change > 14
    return changed


def _facts(truth: Fundus) -> dict[str, float]:
    eye = truth.eye
    by_kind = {kind: [lesion for lesion in eye.lesions if lesion.kind == kind] for kind in SPOTS}
    blots = [lesion.y < eye.fovea[1] for lesion in by_kind["haemorrhage"]]
    near = [
        math.hypot(s.x - eye.fovea[0], s.y - eye.fovea[1]) < 2 * max(eye.disc_radii) for s in by_kind["hard exudate"]
    ]
    signs = (*PLACED, "myopic fundus", "hypertensive retinopathy", "abnormal vessels")
    return {
        **{sign: float(sign in truth.signs) for sign in signs},
        "right": float(eye.laterality == "right"),
        "cup to disc": eye.cup_to_disc,
        "haze": eye.haze,
        "microaneurysms": min(len(by_kind["microaneurysm"]) / 8, 1.5),
        "blots above": min(sum(blots) / 4, 2.0),
        "blots below": min((len(blots) - sum(blots)) / 4, 2.0),
        "exudates": min(len(by_kind["hard exudate"]) / 5, 1.5),
        "cotton": min(len(by_kind["cotton-wool spot"]) / 3, 1.5),
        "preretinal": float(any(lesion.radius > 0.05 for lesion in eye.lesions)),
        "exudates near": float(any(near)),
        "disc width": (eye.disc_radii[0] - 0.083) / 0.017,
        "blue": eye.camera.tint[2],
        "ring": truth.ring,
    }


@lru_cache(maxsize=4)
def slo_of(seed: int) -> Eye:
    """Return random truth of a laser scan: an eye with a cup of random size."""
    return free_cup(draw_eye(seed, "normal"), np.random.default_rng([seed, 21]))


def draw_slo(seed: int) -> Shown:
    """Return a laser scan with masks of disc, cup and fovea."""
    eye, height = slo_of(seed), 192
    image = Image.fromarray(slo.scan(eye, height)).convert("RGB")
    side, above = slo.width_of(height), (slo.width_of(height) - height) // 2
    layers = {name: mask[above : above + height] for name, mask in eye_layers(eye, side).items()}
    boxes = [(name, extent(mask)) for name, mask in layers.items()]
    facts = {"right": float(eye.laterality == "right"), "cup to disc": eye.cup_to_disc}
    return Shown(image, layers, boxes, {**facts, "SLO": 1.0})
