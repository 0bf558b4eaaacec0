import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.eye import draw_eye
from lmod_train.phantom.frame import Frame, frame_for, photograph
from lmod_train.phantom.fundus import disc_mask
from scripts.base.masks import place
from tests.tabled import tabled


def test_disc_is_bright_inside_the_moved_mask():
    for seed, (width, height, fill) in enumerate([(150, 100, 1.0), (90, 120, 0.9), (160, 100, 1.25)]):
        eye = draw_eye(seed, "normal")
        frame = frame_for(width, height, seed, fill)
        grey = np.asarray(photograph(eye, frame).convert("L")).astype(float)
        inside = place(disc_mask(eye, frame.side), frame)
        assert grey.shape == inside.shape == (height, width)
        assert inside.sum() == disc_mask(eye, frame.side).sum()
        assert grey[inside].mean() > 1.3 * np.median(grey[grey > 40])
        rows, columns = np.nonzero(inside)
        centre = frame.pixel(eye.disc)
        assert (columns.mean() + 0.5, rows.mean() + 0.5) == pytest.approx(centre, abs=0.5)


def test_the_field_is_round_and_the_rest_is_dark_with_the_same_noise():
    eye = draw_eye(2, "normal")
    picture = np.asarray(photograph(eye, Frame(300, 200, 50, 0, 200))).astype(float)
    outside, corner = picture[:, :45], picture[:20, 52:70]
    assert outside.mean() < 6 and corner.mean() < 6
    assert outside.std() == pytest.approx(corner.std(), rel=0.25)
    assert picture[98:102, 50].mean() < 20 < picture[98:102, 75].mean()


def test_a_tall_field_is_cut_above_and_below_and_not_at_the_sides():
    eye = draw_eye(3, "normal")
    frame = frame_for(160, 100, 3, fill=1.3)
    picture = np.asarray(photograph(eye, frame)).astype(float)
    assert frame.side == 130 and frame.top == -15
    assert picture[0, 70:90].mean() > 30 and picture[-1, 70:90].mean() > 30
    assert picture[:, 0].mean() < 10 and picture[:, -1].mean() < 10


def test_the_position_depends_only_on_the_seed():
    lefts = [frame_for(300, 200, seed).left for seed in range(30)]
    assert len(set(lefts)) > 5 and lefts == [frame_for(300, 200, seed).left for seed in range(30)]
    assert min(lefts) >= 40 and max(lefts) <= 60


@tabled("wrong", [(10, 100, 1.0), (100, 100, 1.4), (100, 100, 0.2)])
def test_frames_that_cannot_be_drawn_are_refused(wrong):
    with pytest.raises(BadArgument):
        frame_for(wrong[0], wrong[1], 0, wrong[2])
