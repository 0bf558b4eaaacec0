"""Visible signs of conditions in drawn fundi, one sign for each condition.

`with_conditions` changes the eye before it is rendered (cup, vessels, colour); `paint_signs` paints over the rendered
photograph. Each sign has its own random generator, so that an additional sign leaves the others as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.drawing import Canvas, cloud, ellipse, lump
from lmod_train.phantom.eye import Eye, Point
from lmod_train.phantom.vessels import Vessel

_YELLOW, _PALE, _BLOOD = (0.98, 0.86, 0.44), (0.97, 0.88, 0.66), (0.42, 0.06, 0.04)

_WHITE, _GREY = (1.0, 0.94, 0.82), (0.74, 0.69, 0.62)

_BROWN, _SLATE, _TIGROID = (0.38, 0.34, 0.36), (0.52, 0.62, 0.80), (0.88, 0.80, 0.74)


@dataclass(frozen=True, slots=True)
class _Scene:
    """Everything needed to paint a sign; `free` has the position of each sign that needs its own area."""

    canvas: Canvas
    eye: Eye
    rng: np.random.Generator
    free: dict[str, Point]


def with_conditions(eye: Eye, conditions: Collection[str], seed: int) -> Eye:
    """Return the eye as changed by conditions: cup, vessels and colour.

    Increased cup-to-disc ratio: the vertical ratio becomes 0.62 to 0.85. Abnormal vessels: venous arcades are tortuous
    and a third wider. Hypertensive retinopathy: arteries have 0.45 times their width. Myopic fundus: little pigment.

    Args:
        eye: Any drawn eye.
        conditions: Names of `SIGNS`; those without a change here are ignored.
        seed: Seed, from 0.

    Raises:
        BadArgument: A condition is not one of `SIGNS`.

    Example:
        >>> from lmod_train.phantom.eye import draw_eye
        >>> eye = draw_eye(0, "normal")
        >>> with_conditions(eye, [], 0) == eye
        True
        >>> with_conditions(eye, ["increased cup-to-disc ratio"], 0).cup_to_disc > 0.6
        True
    """
    _known(conditions)
    rng = np.random.default_rng([seed, len(SIGNS)])
    ratio, narrow, turns = rng.uniform(0.62, 0.85), rng.uniform(0.88, 1.0), rng.uniform(6, 9)
    if "increased cup-to-disc ratio" in conditions:
        radii = (eye.disc_radii[0] * ratio * narrow, eye.disc_radii[1] * ratio)
        eye = replace(eye, cup=eye.disc, cup_radii=radii, cup_to_disc=ratio)
    vessels = eye.vessels
    if "abnormal vessels" in conditions:
        vessels = tuple(_wound(v, turns) if v.vein and v.width > 0.008 and len(v.points) > 20 else v for v in vessels)
    if "hypertensive retinopathy" in conditions:
        vessels = tuple(v if v.vein else replace(v, width=0.45 * v.width, end=0.45 * v.end) for v in vessels)
    if "myopic fundus" in conditions:
        eye = replace(eye, pigment=0.12 * eye.pigment, mottle=1.0)
    return replace(eye, vessels=vessels)


def paint_signs(picture: Image.Image, eye: Eye, conditions: Collection[str], seed: int) -> Image.Image:
    """Return the photograph with the signs of the conditions painted over it, in a fixed order.

    Args:
        picture: Square photograph of `eye`; not changed.
        eye: The eye as returned by `with_conditions`.
        conditions: Names of `SIGNS`, in any order.
        seed: Seed, the same as for `with_conditions`.

    Raises:
        BadArgument: A condition is not one of `SIGNS`.

    Example:
        >>> from lmod_train.phantom.fundus import draw_eye, render
        >>> eye = draw_eye(0, "normal")
        >>> plain = render(eye, 64)
        >>> paint_signs(plain, eye, [], 0) == plain, paint_signs(plain, eye, ["nevus"], 0) == plain
        (True, False)
    """
    _known(conditions)
    canvas = Canvas(picture, eye)
    free = _places(eye, np.random.default_rng([seed, len(SIGNS) + 1]))
    for number, (name, sign) in enumerate(SIGNS.items()):
        if name in conditions and sign is not None:
            sign(_Scene(canvas, eye, np.random.default_rng([seed, number]), free))
    return canvas.picture


def _known(conditions: Collection[str]) -> None:
    unknown = [name for name in conditions if name not in SIGNS]
    if unknown:
        raise BadArgument("conditions", unknown[0], f"names among {', '.join(SIGNS)}", "use these words")


def _places(eye: Eye, rng: np.random.Generator) -> dict[str, Point]:
    """Return a position in the field for each sign that needs its own area, apart from disc, fovea and each other."""
    reach = min(eye.camera.field_radius, 0.49)
    taken = [(eye.disc, max(eye.disc_radii)), (eye.fovea, 0.10)]
    places: dict[str, Point] = {}
    for name, radius in (("hemorrhage", 0.085), ("scar", 0.085), ("nevus", 0.08)):
        best = (-math.inf, (0.5, 0.5))
        for _ in range(200):  # the position with most room, or the first with enough room
            x, y = rng.uniform(0.1, 0.9, 2).tolist()
            edge = reach - radius - 0.01 - math.hypot(x - eye.camera.field[0], y - eye.camera.field[1])
            room = min(edge, *(math.hypot(x - p[0], y - p[1]) - radius - r for p, r in taken))
            best = max(best, (room, (x, y)))
            if room >= 0:
                break
        places[name] = best[1]
        taken.append((best[1], radius))
    return places


def _wound(vessel: Vessel, turns: float) -> Vessel:
    """Return a tortuous copy of a vessel, a third wider."""
    course = np.array(vessel.points)
    s = np.linspace(0, 1, 120)
    places = np.linspace(0, 1, len(course))
    line = np.stack([np.interp(s, places, course[:, axis]) for axis in (0, 1)], axis=1)
    ahead = np.gradient(line, axis=0)
    aside = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1) / np.maximum(np.hypot(*ahead.T), 1e-9)[:, None]
    line += (0.013 * np.sin(2 * math.pi * turns * s) * np.minimum(1, 6 * s))[:, None] * aside
    points = tuple((float(x), float(y)) for x, y in line)
    return Vessel(points, 1.35 * vessel.width, 1.35 * vessel.end, vessel.vein)


def _around(scene: _Scene, count: int, spread: float, least: float) -> list[Point]:
    """Return positions around the fovea, none nearer than `least`."""
    found: list[Point] = []
    while len(found) < count:
        x, y = scene.rng.normal(0, spread, 2).tolist()
        if least < math.hypot(x, y) < 2.2 * spread:
            found.append((scene.eye.fovea[0] + x, scene.eye.fovea[1] + y))
    return found


def _tessellation(scene: _Scene) -> None:
    """Paint a tessellated fundus and a pale crescent on the temporal side of the disc."""
    canvas, eye = scene.canvas, scene.eye
    shade = cloud(scene.rng, 24, canvas.size)
    canvas.stain(canvas.plane(np.clip((np.abs(shade) - 0.25) / 0.2, 0, 1)), _TIGROID)
    away = -1 if eye.laterality == "right" else 1
    centre = (eye.disc[0] + away * 0.45 * eye.disc_radii[0], eye.disc[1])
    bed, disc = canvas.ellipses([(centre, eye.disc_radii, 0)]), canvas.ellipses([(eye.disc, eye.disc_radii, 0)])
    canvas.paint(Image.composite(Image.new("L", bed.size), bed, disc), _WHITE, 0.9)


def _nevus(scene: _Scene) -> None:
    """Paint a flat slate-grey oval under the vessels."""
    rng = scene.rng
    radii = (rng.uniform(0.055, 0.08), rng.uniform(0.040, 0.055))
    oval = scene.canvas.ellipses([(scene.free["nevus"], radii, rng.uniform(0, math.pi))], soft=0.004)
    scene.canvas.stain(oval, _SLATE)


def _drusen(scene: _Scene) -> None:
    """Paint many small yellow dots around the fovea."""
    rng = scene.rng
    dots = _around(scene, int(rng.integers(30, 50)), 0.07, 0.015)
    scene.canvas.paint(
        scene.canvas.ellipses([(p, (r, r), 0) for p in dots for r in [rng.uniform(0.004, 0.009)]]), _YELLOW
    )


def _pigment(scene: _Scene) -> None:
    """Paint brown clumps between pale spots at the fovea."""
    rng, canvas = scene.rng, scene.canvas
    pale, dark = _around(scene, 9, 0.042, 0.0), _around(scene, 14, 0.042, 0.0)
    canvas.paint(
        canvas.polygons([lump(rng, p, rng.uniform(0.010, 0.018)) for p in pale], soft=0.002), (0.95, 0.62, 0.34)
    )
    canvas.stain(canvas.polygons([lump(rng, p, rng.uniform(0.007, 0.014), 0.5) for p in dark]), _BROWN)


def _atrophy(scene: _Scene) -> None:
    """Paint drusen, and a sharp pale patch with pigment at the fovea."""
    _drusen(scene)
    rng, canvas, fovea = scene.rng, scene.canvas, scene.eye.fovea
    canvas.paint(canvas.polygons([lump(rng, fovea, rng.uniform(0.055, 0.075), 0.4)]), _PALE, 0.85)
    clumps = [lump(rng, p, rng.uniform(0.006, 0.012), 0.5) for p in _around(scene, 7, 0.03, 0.0)]
    canvas.stain(canvas.polygons(clumps), _BROWN)


def _scar(scene: _Scene) -> None:
    """Paint a pale patch with a pigmented edge."""
    rng, canvas = scene.rng, scene.canvas
    shape = lump(rng, (0, 0), rng.uniform(0.05, 0.065), 0.35)
    x, y = scene.free["scar"]
    for scale, lay in ((1.25, "edge"), (1.0, "bed")):
        mask = canvas.polygons([[(x + scale * dx, y + scale * dy) for dx, dy in shape]])
        if lay == "edge":
            canvas.stain(mask, (0.30, 0.28, 0.32))
        else:
            canvas.paint(mask, _WHITE, 0.93)


def _silver(scene: _Scene) -> None:
    """Paint the pale reflex of thickened walls along the narrowed arteries."""
    arteries = [v for v in scene.eye.vessels if not v.vein and v.width > 0.002]
    canvas = scene.canvas
    canvas.paint(canvas.lines([(v.points, 0.75 * v.width) for v in arteries]), _WHITE, 0.9)


def _flames(scene: _Scene) -> None:
    """Paint flame-shaped haemorrhages along the nerve fibres of one temporal quadrant, from the disc outwards."""
    rng, eye = scene.rng, scene.eye
    temporal = math.pi if eye.laterality == "right" else 0.0
    middle = temporal + rng.choice([-1, 1]) * math.radians(50)
    flames: list[Sequence[Point]] = []
    for _ in range(80):
        turn = middle + math.radians(rng.uniform(-38, 38))
        far = rng.uniform(0.12, 0.48)
        centre = (eye.disc[0] + far * math.cos(turn), eye.disc[1] + far * math.sin(turn))
        flames.append(
            ellipse(centre, (rng.uniform(0.014, 0.030), rng.uniform(0.003, 0.006)), turn + rng.normal(0, 0.08))
        )
    scene.canvas.paint(scene.canvas.polygons(flames), _BLOOD, 0.88)


def _boat(scene: _Scene) -> None:
    """Paint one large preretinal haemorrhage with a level upper edge."""
    (x, y), rng = scene.free["hemorrhage"], scene.rng
    wide, deep = rng.uniform(0.060, 0.080), rng.uniform(0.065, 0.085)
    angles = np.linspace(0, math.pi, 30)
    outline = [(x + wide * math.cos(a), y - 0.4 * deep + deep * math.sin(a)) for a in angles.tolist()]
    scene.canvas.paint(scene.canvas.polygons([outline]), _BLOOD, 0.95)


def _detachment(scene: _Scene) -> None:
    """Paint a grey folded sheet of detached retina below."""
    canvas, rng, (x, y) = scene.canvas, scene.rng, scene.eye.camera.field
    across = np.linspace(-0.5, 0.5, 40)
    top = y + 0.26 + 0.02 * np.sin(across * rng.uniform(14, 20) + rng.uniform(0, 6))
    edge = list(zip((x + across).tolist(), top.tolist(), strict=True))
    canvas.paint(canvas.polygons([[*edge, (x + 0.5, 1.1), (x - 0.5, 1.1)]], soft=0.003), _GREY, 0.85)
    folds = [([(px, py + down) for px, py in edge], 0.006) for down in (0.04, 0.09, 0.14)]
    canvas.stain(canvas.lines(folds, soft=0.002), (0.75, 0.75, 0.76))


SIGNS: dict[str, Callable[[_Scene], None] | None] = {
    "myopic fundus": _tessellation,
    "nevus": _nevus,
    "drusen": _drusen,
    "abnormal macula": _pigment,
    "age-related macular degeneration": _atrophy,
    "scar": _scar,
    "hypertensive retinopathy": _silver,
    "vascular occlusion": _flames,
    "hemorrhage": _boat,
    "retinal detachment": _detachment,
    "increased cup-to-disc ratio": None,
    "abnormal vessels": None,
}
"""Condition -> function that paints its sign, in order of painting; None if `with_conditions` already shows it."""
