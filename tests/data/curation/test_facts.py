"""Facts against the truth of phantoms, and what must be absent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.types import Fact, MaskFile, Outline, Patient, Sample
from lmod_train.data.curation.boxes import Shape, read_boxes
from lmod_train.data.curation.facts import GRADERS, _Placed, facts_of
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.fundus import cup_mask, disc_mask
from lmod_train.phantom.oct import STRUCTURES, draw_oct_eye, draw_scan, label_map

SIDE = 384
BLANK = Sample("refuge", "train/g1", "CFP", None, "g1", "CC0", size=(SIDE, SIDE))


def shape(name: str, inside: np.ndarray) -> Shape:
    return Shape(name, inside if inside.any() else np.zeros((0, 0), dtype=bool))


def disc_and_cup(eye: Eye) -> list[Shape]:
    return [shape("optic disc", disc_mask(eye, SIDE)), shape("optic cup", cup_mask(eye, SIDE))]


def values(sample: Sample, shapes: list[Shape]) -> dict[str, float | str]:
    found = facts_of(sample, shapes)
    assert len({fact.name for fact in found}) == len(found)
    return {fact.name: fact.value for fact in found}


def fovea(eye: Eye) -> tuple[Fact, ...]:
    return tuple(Fact(f"fovea.{axis}", at * SIDE, "px") for axis, at in zip("xy", eye.fovea, strict=True))


def rim_of(eye: Eye, degrees: int) -> float:
    """Width of the rim along the rays of a sector, by the equations of the two ellipses."""

    def reach(centre: tuple[float, float], radii: tuple[float, float], at: float) -> float:
        ahead = np.array([np.cos(at), -np.sin(at)])  # farthest t > 0 with |(disc + t ahead - centre) / radii| = 1
        start = (np.array(eye.disc) - np.array(centre)) / np.array(radii)
        step = ahead / np.array(radii)
        a, b, c = step @ step, start @ step, start @ start - 1
        inside = b * b - a * c
        return max(0.0, float((-b + np.sqrt(inside)) / a)) if inside >= 0 else 0.0

    rims = []
    for at in np.deg2rad(np.arange(degrees - 15, degrees + 16, 3)):
        disc = reach(eye.disc, eye.disc_radii, at)
        rims.append((disc - reach(eye.cup, eye.cup_radii, at)) / (disc + reach(eye.disc, eye.disc_radii, at + np.pi)))
    return float(np.mean(rims))


def test_ratio_and_rims_are_those_that_were_drawn() -> None:
    errors, rims = [], []
    for seed in range(40):
        eye = draw_eye(seed, ("glaucoma", "normal")[seed % 2])
        found = values(replace(BLANK, facts=fovea(eye)), disc_and_cup(eye))
        errors.append(float(found["vcdr"]) - eye.cup_to_disc)
        nasal, temporal = (0, 180) if eye.laterality == "right" else (180, 0)
        for name, at in {"superior": 90, "inferior": 270, "nasal": nasal, "temporal": temporal}.items():
            rims.append(float(found[f"rim.{name}"]) - rim_of(eye, at))
    assert np.abs(errors).mean() <= 0.01
    assert np.abs(rims).mean() <= 0.01
    assert np.abs(rims).max() <= 0.03


def test_the_side_is_stated_by_eye_or_fovea_and_absent_where_they_differ() -> None:
    eye = draw_eye(3, "glaucoma")
    by_fovea = values(replace(BLANK, facts=fovea(eye)), disc_and_cup(eye))
    by_eye = values(replace(BLANK, patient=Patient(laterality=eye.laterality)), disc_and_cup(eye))
    other = "left" if eye.laterality == "right" else "right"
    for name in ("rim.nasal", "rim.temporal"):
        assert by_eye[name] == by_fovea[name]
        assert name not in values(BLANK, disc_and_cup(eye))
        assert name not in values(
            replace(BLANK, facts=fovea(eye), patient=Patient(laterality=other)), disc_and_cup(eye)
        )
    assert "rim.superior" in values(BLANK, disc_and_cup(eye))
    assert "rim.thinnest" not in values(BLANK, disc_and_cup(eye))  # of two sectors none is the thinnest of the eye


def test_the_thinnest_sector_is_named_only_where_the_next_is_wider_by_a_margin() -> None:
    named = 0
    for seed in range(40):
        eye = draw_eye(seed, "glaucoma")
        found = values(replace(BLANK, facts=fovea(eye)), disc_and_cup(eye))
        rims = sorted((float(found[f"rim.{s}"]), s) for s in ("superior", "inferior", "nasal", "temporal"))
        named += "rim.thinnest" in found
        assert found.get("rim.thinnest") == (rims[0][1] if rims[1][0] - rims[0][0] >= 0.02 else None)
    assert 0 < named < 40


def test_two_measures_of_one_ratio_give_its_error() -> None:
    eye = draw_eye(2, "normal")
    alone = {f.name: f for f in facts_of(BLANK, disc_and_cup(eye))}["vcdr"]
    stated = Fact("vcdr", float(alone.value) + 0.1, "ratio", origin="ExpCDR")
    both = {f.name: f for f in facts_of(replace(BLANK, facts=(stated,)), disc_and_cup(eye))}["vcdr"]
    assert alone.error == GRADERS
    assert both.error == pytest.approx(0.05)
    assert both.value == pytest.approx(float(alone.value) + 0.05)
    assert "ExpCDR" in both.origin
    without = facts_of(replace(BLANK, facts=(stated,)), [])
    assert [(f.name, f.value, f.error) for f in without] == [("vcdr", stated.value, GRADERS)]


def test_width_of_a_hole_is_levelled_and_full_thickness_is_of_the_scan() -> None:
    errors = []
    for seed in range(45):
        eye = draw_oct_eye(seed, "234"[seed % 3], "left")
        scan = draw_scan(seed, eye, 0.0)
        labels = label_map(scan, 512)
        found = values(BLANK, [shape(name, labels == i) for i, name in enumerate(STRUCTURES) if i])
        errors.append(float(found["hole.width"]) - 0.72 * scan.width * 512)  # the waist of the hourglass
        assert (found["hole"], found["hole.full"]) == ("yes", "yes")
        assert found["cysts"] == ("yes" if (labels == STRUCTURES.index("intraretinal cysts")).any() else "no")
    assert np.abs(errors).mean() <= 1.0
    impending = label_map(draw_scan(1, draw_oct_eye(1, "1", "left"), 0.0), 512)
    beside = label_map(draw_scan(1, draw_oct_eye(1, "4", "left"), None), 512)
    first, second = (
        values(BLANK, [shape(n, labels == i) for i, n in enumerate(STRUCTURES) if i]) for labels in (impending, beside)
    )
    assert first["hole.full"] == "no"
    assert second["hole"] == "no"
    assert not {"hole.full", "hole.width"} & second.keys()


def test_lesions_are_counted_measured_and_absent_only_where_annotated() -> None:
    eye = draw_eye(5, "normal")
    exudates = np.zeros((SIDE, SIDE), dtype=bool)
    x, y = (round(at * SIDE) for at in eye.fovea)
    exudates[y : y + 4, x + 30 : x + 34] = exudates[10:13, 10:13] = True
    shapes = [shape("optic disc", disc_mask(eye, SIDE)), shape("hard exudates", exudates)]
    shapes.append(shape("haemorrhages", np.zeros((SIDE, SIDE), dtype=bool)))
    found = values(replace(BLANK, facts=fovea(eye)), shapes)
    assert (found["lesion.hard exudates"], found["lesion.haemorrhages"]) == ("yes", "no")
    assert "lesion.microaneurysms" not in found
    assert found["lesion.hard exudates.number"] == 2
    assert found["lesion.hard exudates.area"] == pytest.approx(25 / disc_mask(eye, SIDE).sum())
    diameter = 2 * eye.disc_radii[1] * SIDE
    assert found["lesion.hard exudates.fovea"] == pytest.approx(30 / diameter, abs=0.05)
    assert "lesion.hard exudates.fovea" not in values(BLANK, shapes)


def test_labels_state_facts_and_a_mask_comes_before_them() -> None:
    found = facts_of(replace(BLANK, labels={"macular_edema_risk": "1", "hemorrhage": "no", "glaucoma": "yes"}), [])
    assert {f.name: (f.value, f.origin) for f in found} == {
        "lesion.hard exudates": ("yes", "label macular_edema_risk"),
        "lesion.hard exudates.near": ("no", "label macular_edema_risk"),
        "lesion.haemorrhages": ("no", "label hemorrhage"),
    }
    drawn = [shape("haemorrhages", disc_mask(draw_eye(0, "normal"), SIDE))]
    assert values(replace(BLANK, labels={"hemorrhage": "no"}), drawn)["lesion.haemorrhages"] == "yes"


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_turned_mask_measures_the_upright_eye(orientation: int, tmp_path: Path) -> None:
    eye = draw_eye(4, "glaucoma")
    values_drawn = np.where(cup_mask(eye, SIDE), 255, 128 * disc_mask(eye, SIDE)).astype(np.uint8)
    upright = Image.fromarray(values_drawn).crop((0, 0, SIDE, SIDE - 20))
    back = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}
    (upright.transpose(back[orientation]) if orientation in back else upright).save(tmp_path / "m.png")
    mask = MaskFile(tmp_path / "m.png", ({"background": (0,), "optic disc": (128, 255), "optic cup": (255,)},))
    shapes: list[Shape] = []
    size = (SIDE, SIDE - 20)
    read_boxes(replace(BLANK, size=size, masks=(mask,)), orientation, shapes=shapes)
    if orientation == 3:  # its size does not show how it lies: nothing is guessed
        assert shapes == []
        return
    assert values(BLANK, shapes) == pytest.approx(values(BLANK, disc_and_cup(eye)))


def test_a_mask_of_another_size_measures_nothing_and_is_listed(tmp_path: Path) -> None:
    eye = draw_eye(4, "glaucoma")
    drawn = np.where(cup_mask(eye, SIDE), 255, 128 * disc_mask(eye, SIDE)).astype(np.uint8)
    Image.fromarray(drawn).resize((SIDE // 2, SIDE // 3)).save(tmp_path / "m.png")
    mask = MaskFile(tmp_path / "m.png", ({"background": (0,), "optic disc": (128, 255), "optic cup": (255,)},))
    around = Outline("optic disc", ((5.0, 5.0), (50.0, 5.0), (50.0, 50.0), (5.0, 50.0)))
    shapes: list[Shape] = []
    _, dropped = read_boxes(replace(BLANK, outlines=(around,), masks=(mask,)), shapes=shapes)
    assert [one.reason for one in dropped] == ["mask_size_differs"]
    assert shapes == [] and values(BLANK, shapes) == {}


def test_outlines_measure_as_masks_do() -> None:
    eye = draw_eye(6, "glaucoma")
    turns = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    outlines = []
    for name, centre, radii in (("optic disc", eye.disc, eye.disc_radii), ("optic cup", eye.cup, eye.cup_radii)):
        points = [(SIDE * (centre[0] + radii[0] * np.cos(t)), SIDE * (centre[1] + radii[1] * np.sin(t))) for t in turns]
        outlines.append(Outline(name, tuple(points)))
    shapes: list[Shape] = []
    read_boxes(replace(BLANK, outlines=tuple(outlines)), shapes=shapes)
    assert values(BLANK, shapes)["vcdr"] == pytest.approx(eye.cup_to_disc, abs=0.02)
    assert values(BLANK, shapes)["rim.inferior"] == pytest.approx(rim_of(eye, 270), abs=0.02)
    boxes: list[Shape] = []
    read_boxes(replace(BLANK, outlines=(Outline("optic disc", ((5.0, 5.0), (50.0, 50.0))),)), shapes=boxes)
    assert boxes == []  # a box has no rim


@pytest.mark.parametrize("apart", [0, 2])
def test_a_rim_is_not_stated_where_rays_meet_no_disc(apart):
    disc, cup = np.ones((30, 30), dtype=bool), np.zeros((30, 30), dtype=bool)
    disc[12 - apart : 18 + apart], cup[3, 15] = not apart, True  # two bars, nothing between them
    shapes = [Shape("optic disc", disc, 0, 0), Shape("optic cup", cup[3:4, 15:16], 15, 3)]
    stated = values(replace(BLANK, patient=Patient(laterality="right")), shapes)
    assert {name.partition(".")[2] for name in stated if name.startswith("rim.")} - {"thinnest"} == (
        {"superior", "inferior"} if apart else {"superior", "inferior", "nasal", "temporal"}
    )
    assert all(np.isfinite(value) for value in stated.values() if isinstance(value, float))


@pytest.mark.parametrize("seed", range(50))
def test_a_window_holds_the_pixels_that_lie_in_it(seed):
    rng = np.random.default_rng(seed)
    inside, (x, y, left, top) = rng.random(rng.integers(1, 8, 2)) < 0.6, rng.integers(0, 9, 4)
    width, height = rng.integers(1, 9, 2)
    found = _Placed(inside, int(x), int(y)).within(left, top, left + width, top + height)
    pixels = {(row + y, column + x) for row, column in np.argwhere(inside).tolist()}
    assert {(row + top, column + left) for row, column in np.argwhere(found).tolist()} == {
        (row, column) for row, column in pixels if top <= row < top + height and left <= column < left + width
    }
