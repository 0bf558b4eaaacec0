"""B-scans, eye photographs and surgery frames on which the small base is trained, with independent findings."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw
from shown import Mask, Shown

from lmod_train.phantom import eye_photograph, oct, surgery
from lmod_train.phantom.eye_photograph import EyePhotograph, augment
from lmod_train.phantom.instruments import INSTRUMENTS
from lmod_train.phantom.oct import Scan
from lmod_train.phantom.surgery import Scene
from lmod_train.phantom.truth import extent

SIDE = 256
_VIEWS: tuple[eye_photograph.View, ...] = ("right", "left", "both", "both", "iris")


@lru_cache(maxsize=4)
def scan_of(seed: int) -> Scan:
    """Return random truth of a B-scan: any hole; one scan in eight is beside it."""
    rng = np.random.default_rng([seed, 22])
    side: Literal["right", "left"] = "right" if rng.random() < 0.5 else "left"
    eye = oct.draw_oct_eye(seed, str(rng.choice(oct.STAGES)), side)
    return oct.draw_scan(seed, eye, None if rng.random() < 0.125 else float(rng.uniform(-0.5, 0.5)))


def draw_oct(seed: int) -> Shown:
    """Return a B-scan with masks of layers, cysts, hole and hyaloid."""
    scan = scan_of(seed)
    bright = oct.render(scan, SIDE)
    labels = oct.label_map(scan, SIDE)
    layers: dict[str, Mask] = {n: labels == i for i, n in enumerate(oct.STRUCTURES) if i and (labels == i).any()}
    boxes = [(name, extent(mask)) for name, mask in layers.items()]
    if scan.eye.hyaloid is not None:
        layers["hyaloid"] = _hyaloid(scan)
    facts = {
        "hole width": 5 * scan.width,
        "gap": float(scan.width > 0 and scan.eye.height < 1),
        "detached hyaloid": float(scan.eye.hyaloid is not None),
        "cysts": len(scan.cysts) / 4,
    }
    return Shown(bright.convert("RGB"), layers, boxes, {**facts, "OCT": 1.0})


def _hyaloid(scan: Scan) -> Mask:
    """Return the mask of the hyaloid's line as drawn by `render`."""
    x = ((np.arange(SIDE, dtype=np.float32) + np.float32(0.5)) / np.float32(SIDE))[None, :]
    _, floor, _ = oct._surfaces(scan, x)
    inner = floor - scan.eye.retina
    assert scan.eye.hyaloid is not None
    line = 0.5 * (inner + inner.min()) - scan.eye.hyaloid + 0.006 * np.sin(9 * x + 40 * scan.shift)
    near: Mask = np.abs(x.T - line) < 0.008
    return near


@lru_cache(maxsize=4)
def photograph_of(seed: int) -> EyePhotograph:
    """Return random truth of a photograph of one eye, both eyes, or an iris; two in five have cloudy lenses."""
    rng = np.random.default_rng([seed, 23])
    view = _VIEWS[int(rng.integers(len(_VIEWS)))]
    return eye_photograph.draw_eye_photograph(seed, view, cataract=bool(rng.random() < 0.4))


def draw_photograph(seed: int) -> Shown:
    """Return a photograph with masks of eyes, irises, pupils and cloudy lenses; half are augmented as in an export."""
    truth = photograph_of(seed)
    image = eye_photograph.render(truth, SIDE)
    if np.random.default_rng([seed, 24]).random() < 0.5:
        image = augment(image, seed)
    layers: dict[str, Mask] = {}
    for eye in truth.eyes:
        place = eye_photograph._place(eye, SIDE)
        open_ = place.opening > 0
        shown = {f"{eye.side} eye": open_, "iris": open_ & (place.iris > 0), "pupil": open_ & (place.pupil > 0)}
        if eye.haze:
            shown["cloudy lens"] = shown["pupil"]
        layers |= {name: mask | layers.get(name, np.False_) for name, mask in shown.items()}
    facts = {f"view {view}": float(truth.view == view) for view in ("right", "left", "both", "iris")}
    facts["cloud"] = truth.eyes[0].haze
    boxes = eye_photograph.boxes(truth, SIDE)
    return Shown(image.convert("RGB"), layers, boxes, {**facts, "LP": 1.0})


@lru_cache(maxsize=4)
def scene_of(seed: int) -> Scene:
    """Return random truth of a surgery frame: up to three instruments, all equally frequent."""
    rng = np.random.default_rng([seed, 25])
    kinds = rng.choice(INSTRUMENTS, int(rng.choice(4, p=(0.05, 0.25, 0.35, 0.35))), replace=False).tolist()
    return surgery.draw_scene(seed, surgery.draw_operation(seed), kinds, lens=bool(rng.random() < 0.5))


def draw_surgery(seed: int) -> Shown:
    """Return a surgery frame with masks of cornea, pupil, lens and instruments."""
    scene = scene_of(seed)
    image = surgery.render(scene, SIDE)
    layers: dict[str, Mask] = {}
    for name, corners in surgery.outlines(scene, SIDE):
        layer = Image.new("1", image.size)
        ImageDraw.Draw(layer).polygon(list(corners), fill=1)
        layers[name] = np.asarray(layer)
    boxes = [(name, extent(mask)) for name, mask in layers.items()]
    held = {tool.kind for tool in scene.instruments}
    facts = {kind: float(kind in held) for kind in INSTRUMENTS}
    return Shown(image, layers, boxes, {**facts, "implant": float(bool(scene.lens)), "milk": scene.haze, "SS": 1.0})
