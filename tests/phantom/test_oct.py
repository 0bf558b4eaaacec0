from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.oct import STAGES, STRUCTURES, draw_oct_eye, draw_scan, label_map, render
from tests.tabled import tabled

SIZE = 128


def drawn(stage, seed=0, offset=0.0, **exposure):
    """Return labels and light (0 to 255) of one scan with an exposure that is free of defects."""
    scan = draw_scan(seed + 1, draw_oct_eye(seed, stage, "right"), offset)
    scan = replace(scan, **{"dim": False, "shield": None, "blurred": False, **exposure})
    return scan, label_map(scan, SIZE), np.asarray(render(scan, SIZE)).astype(float)


def hole(labels):
    return labels == STRUCTURES.index("macular hole")


@tabled("stage", STAGES)
def test_the_same_seed_gives_the_same_scan_and_another_seed_another(stage):
    first, again, other = drawn(stage), drawn(stage), drawn(stage, seed=9)
    assert first[0] == again[0] != other[0]
    assert (first[2] == again[2]).all() and (first[2] != other[2]).any()


def test_holes_grow_with_the_stage_and_never_overlap():
    for seed in range(25):
        areas = [hole(drawn(stage, seed)[1]).sum() for stage in STAGES]
        assert 0 < areas[0] < areas[1] < areas[2] < areas[3], (seed, areas)
    smallest = {s: min(hole(drawn(s, seed, 0.5)[1]).sum() for seed in range(25)) for s in STAGES}
    largest = {s: max(hole(drawn(s, seed, 0.0)[1]).sum() for seed in range(25)) for s in STAGES}
    assert largest["1"] < smallest["2"] and largest["2"] < smallest["3"] and largest["3"] < smallest["4"]


def test_only_stage_one_leaves_the_inner_retina_intact():
    for seed in range(10):
        for stage in STAGES:
            scan, labels, _ = drawn(stage, seed)
            column = labels[:, int(scan.eye.fovea * SIZE)]
            first = STRUCTURES[column[column > 0][0]]
            assert first == ("retina" if stage == "1" else "macular hole"), (seed, stage)


def test_a_scan_beside_the_hole_shows_none():
    assert not any(hole(drawn(stage, seed, None)[1]).any() for stage in STAGES for seed in range(5))


def test_structures_differ_in_light_as_in_the_real_image():
    for seed in range(6):
        for stage in STAGES:
            _, labels, light = drawn(stage, seed)
            mean = {name: light[labels == i].mean() for i, name in enumerate(STRUCTURES) if (labels == i).any()}
            assert mean["retina"] > 1.25 * mean["choroid"] and mean["choroid"] > 1.5 * mean["background"]
            assert mean["macular hole"] < 0.5 * mean["retina"], (seed, stage, mean)
            assert mean.get("intraretinal cysts", 0) < 0.6 * mean["retina"]


def test_only_stage_four_has_a_line_in_the_vitreous():
    for seed in range(10):
        for stage, offset in [(stage, offset) for stage in STAGES for offset in (0.0, None)]:
            _, labels, light = drawn(stage, seed, offset)
            top = (labels > 0).argmax(axis=0)
            rows = np.arange(SIZE)[:, None] < top - 4
            brightest = np.where(rows, light, 0).max(axis=0)
            assert (np.median(brightest) > 80) == (stage == "4"), (seed, stage)


def test_defects_show_in_the_pixels():
    _, labels, plain = drawn("3")
    retina = labels == STRUCTURES.index("retina")
    assert drawn("3", dim=True)[2][retina].mean() < 0.65 * plain[retina].mean()
    shielded = drawn("3", shield=0.1)[2]
    band = slice(int(0.08 * SIZE), int(0.12 * SIZE))
    assert shielded[:, band][retina[:, band]].mean() < 0.4 * plain[:, band][retina[:, band]].mean()

    def edge(light):  # steepest fall from the fibres into the vitreous, speckle averaged out
        columns = np.stack([np.roll(light[:, i], 20 - (labels[:, i] > 0).argmax())[:40] for i in range(20, 50)], 1)
        return np.abs(np.diff(columns.mean(axis=1))).max()

    assert edge(drawn("3", blurred=True)[2]) < 0.75 * edge(plain)


def test_nerve_fibres_are_thicker_on_the_nasal_side():
    for seed in range(5):
        side = {}
        for laterality in ("left", "right"):
            scan = replace(draw_scan(seed, draw_oct_eye(seed, "2", laterality), None), shield=None, dim=False, cysts=())
            light, labels = np.asarray(render(scan, SIZE)).astype(float), label_map(scan, SIZE)
            tops = (labels > 0).argmax(axis=0)
            band = np.array([light[t + 2 : t + 5, i].mean() for i, t in enumerate(tops)])
            side[laterality] = band[: SIZE // 5].mean() - band[-SIZE // 5 :].mean()
        assert side["left"] > side["right"] + 10


def test_exposure_and_anatomy_do_not_follow_the_stage():
    for seed in range(5):
        eyes = [draw_oct_eye(seed, stage, "left") for stage in STAGES]
        assert len({(e.fovea, e.floor, e.tilt, e.bend, e.retina, e.choroid) for e in eyes}) == 1
        scans = [draw_scan(seed, eye, 0.1) for eye in eyes]
        assert len({(s.shift, s.dim, s.shield, s.blurred, s.gain) for s in scans}) == 1


def test_the_scan_is_the_same_picture_at_every_size():
    scan, _, _ = drawn("3", seed=3)
    small, large = label_map(scan, 64), label_map(scan, 256)
    assert (small == np.asarray(Image.fromarray(large).resize((64, 64), Image.Resampling.NEAREST))).mean() > 0.97


def test_bad_arguments_are_named():
    eye = draw_oct_eye(0, "1", "left")
    with pytest.raises(BadArgument, match="stage='0'"):
        draw_oct_eye(0, "0", "left")
    with pytest.raises(BadArgument, match="seed=-1"):
        draw_oct_eye(-1, "1", "left")
    with pytest.raises(BadArgument, match="seed=-1"):
        draw_scan(-1, eye, None)
    with pytest.raises(BadArgument, match=r"offset=0\.6"):
        draw_scan(0, eye, 0.6)
    with pytest.raises(BadArgument, match="size=8"):
        render(draw_scan(0, eye, 0.0), 8)
