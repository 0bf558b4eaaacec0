from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.phantom.instruments import INSTRUMENTS, draw_shape, strip
from lmod_train.phantom.surgery import draw_operation, draw_scene, height_of, outlines, render
from tests.tabled import tabled

QUIET = replace(draw_operation(5), noise=0.0)


def changed(one, other, width=256):
    """Return where two scenes differ visibly when drawn: rows, columns."""
    here, there = (np.asarray(render(scene, width)).astype(int) for scene in (one, other))
    return np.nonzero(np.abs(here - there).max(axis=2) > 8)


@tabled("kind", INSTRUMENTS)
def test_an_instrument_fills_its_outline_and_nothing_else(kind):
    for seed in range(4):
        scene = draw_scene(seed, QUIET, [kind], lens=False)
        rows, columns = changed(scene, replace(scene, instruments=()))
        (name, corners) = outlines(scene, 256)[-1]
        (x0, y0), (x1, y1) = np.floor(np.min(corners, axis=0)), np.ceil(np.max(corners, axis=0))
        drawn = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
        assert name == kind and np.abs(np.subtract(drawn, (x0, y0, x1, y1))).max() <= 2  # a needle's tip is faint
        inside, near = area(corners)
        assert near[rows, columns].mean() > 0.97 and inside[rows, columns].sum() > 0.8 * inside.sum()


def area(corners):
    """Return the pixels of a polygon in an image of 256 x 192, and the same one pixel wider."""
    layer = Image.new("L", (256, 192))
    ImageDraw.Draw(layer).polygon(corners, fill=1)
    return np.asarray(layer).astype(bool), np.asarray(layer.filter(ImageFilter.MaxFilter(3))).astype(bool)


def test_a_lens_fills_its_outline_and_reaches_beyond_it_only_by_its_haptics():
    for seed in range(4):
        scene = draw_scene(seed, QUIET, [], lens=True)
        rows, columns = changed(scene, replace(scene, lens=()))
        inside, near = area(dict(outlines(scene, 256))["lens"])
        _, pupil = area(dict(outlines(scene, 256))["pupil"])
        assert inside[rows, columns].sum() > 0.95 * inside.sum() and near[rows, columns].mean() > 0.85
        assert pupil[rows, columns].all()


def test_a_pupil_is_red_only_inside_its_outline():
    for seed in range(4):
        scene = draw_scene(seed, replace(QUIET, iris=(0.36, 0.45, 0.50)), [], lens=True)
        red, green, _ = np.moveaxis(np.asarray(render(scene, 256)).astype(int), 2, 0)
        (x0, y0), (x1, y1) = (f(dict(outlines(scene, 256))["cornea"], axis=0).astype(int) for f in (np.min, np.max))
        cornea = np.s_[y0 + 8 : y1 - 8, x0 + 30 : x1 - 30]  # the sclera's vessels are red as well
        inside, near = area(dict(outlines(scene, 256))["pupil"])
        reddish = (red > 1.3 * green)[cornea]
        assert (reddish <= near[cornea]).mean() > 0.995
        assert reddish[inside[cornea]].mean() > 0.75  # but for rim and springs of the lens and the lamp's reflexes


def test_kinds_are_words_of_the_vocabulary_and_their_shapes_differ():
    assert set(INSTRUMENTS) <= {term.name for term in STRUCTURES} and len(INSTRUMENTS) == 10
    for seed in range(3):
        pictures = {kind: painted(draw_shape(kind, np.random.default_rng(seed))) for kind in INSTRUMENTS}
        for kind, one in pictures.items():
            for other in (p for k, p in pictures.items() if k != kind):
                either = (one > 0).any(axis=2) | (other > 0).any(axis=2)
                differ = [np.abs(one - o).max(axis=2) > 0.15 for o in (other, other[::-1])]
                assert min(d.sum() for d in differ) > 0.3 * either.sum(), kind


def painted(shape):
    """Return the first half unit of an instrument, 64 pixels long, on black."""
    picture, seen = Image.new("RGB", (64, 64)), Image.new("L", (64, 64))
    for corners, colour in [(shape.outline, shape.colour), *((p.corners, p.colour) for p in shape.patches)]:
        fill = tuple(round(255 * c) for c in colour)
        ImageDraw.Draw(picture).polygon([(8 + 110 * u, 32 + 110 * v) for u, v in corners], fill=fill)
    ImageDraw.Draw(seen).polygon([(8 + 110 * u, 32 + 110 * v) for u, v in shape.outline], fill=1)
    return np.asarray(picture) / 255 * np.asarray(seen)[..., None]


def test_a_rod_keeps_its_width_around_a_corner():
    corner = strip([(0, 0), (1, 0), (1, 1)], [0.1, 0.1, 0.1])
    assert len(corner) == 6
    assert np.allclose(corner[0], (0, 0.1)) and np.allclose(corner[2], (0.9, 1)) and np.allclose(corner[3], (1.1, 1))


def test_where_an_instrument_is_does_not_depend_on_its_kind():
    def middle(kind):
        shapes = [draw_scene(s, QUIET, [kind], lens=False).instruments[0].shape.outline for s in range(60)]
        return np.mean([np.mean(np.clip(shape, 0, (4 / 3, 1)), axis=0) for shape in shapes], axis=0)

    assert np.ptp([middle(kind) for kind in ("gauge", "lens injector", "slit knife")], axis=0).max() < 0.08


def test_later_drawings_change_nothing_else():
    bare, full = (draw_scene(9, QUIET, kinds, lens=False) for kinds in ([], ["gauge", "spatula", "slit knife"]))
    assert replace(full, instruments=()) == bare
    assert draw_scene(9, QUIET, [], lens=True).pupil == bare.pupil


def test_outlines_are_cut_at_the_edge_and_sizes_are_checked():
    corners = dict(outlines(draw_scene(2, QUIET, ["lens injector"], lens=False), 64))["lens injector"]
    assert np.min(corners) >= 0 and np.max(corners, axis=0)[0] <= 64 and np.max(corners, axis=0)[1] <= 48
    assert 0 in np.array(corners) or 64 in np.array(corners)[:, 0] or 48 in np.array(corners)[:, 1]
    assert height_of(1024) == 768
    for wrong in (28, 1022):
        with pytest.raises(BadArgument, match=f"size={wrong}"):
            height_of(wrong)
    with pytest.raises(BadArgument, match="kind='hook'"):
        draw_scene(0, QUIET, ["hook"], lens=False)
    with pytest.raises(BadArgument, match="seed from 0"):
        draw_scene(-1, QUIET, [], lens=False)
