import numpy as np
import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.eye import draw_eye
from lmod_train.phantom.slo import CUP, RIM, scan, structures, width_of

HEIGHT = 96
EYES = [draw_eye(seed, ("glaucoma", "normal")[seed % 2]) for seed in range(12)]


def place(point):
    """Return row and column of a point of the eye's square, of which the middle rows are seen."""
    side = width_of(HEIGHT)
    return int(point[1] * side) - (side - HEIGHT) // 2, int(point[0] * side)


def around(image, point, reach=2):
    row, column = place(point)
    return image[row - reach : row + reach + 1, column - reach : column + reach + 1]


def test_one_grey_channel_wider_than_high_and_the_same_every_time():
    for eye in EYES[:3]:
        image = scan(eye, HEIGHT)
        assert image.shape == structures(eye, HEIGHT).shape == (HEIGHT, 124) and image.dtype == np.uint8
        assert (image == scan(eye, HEIGHT)).all()
    assert (scan(EYES[0], HEIGHT) != scan(EYES[1], HEIGHT)).any()


def test_the_field_is_as_wide_as_the_frame():
    for eye in EYES:
        image = scan(eye, HEIGHT).astype(float)
        corners = [image[:6, :6], image[:6, -6:], image[-6:, :6], image[-6:, -6:]]
        assert min(c.mean() for c in corners) > 0.5 * np.median(image)


def test_disc_is_bright_cup_brighter_and_macula_dark():
    for eye in EYES:
        image, codes = scan(eye, HEIGHT).astype(float), structures(eye, HEIGHT)
        fundus = np.median(image[codes == 0])
        assert np.median(image[codes == RIM]) > 1.3 * fundus
        assert np.percentile(image[codes == CUP], 80) > np.median(image[codes == RIM])
        assert around(image, eye.fovea).mean() < 0.85 * fundus


def test_vessels_are_dark_lines():
    for eye in EYES[:6]:
        image = scan(eye, HEIGHT).astype(float)
        fundus = np.median(image[structures(eye, HEIGHT) == 0])
        depths = []
        for vessel in (v for v in eye.vessels if v.vein and v.width > 0.01):
            points = [p for p in vessel.points[6:16] if 2 < place(p)[0] < HEIGHT - 3 and 0.03 < p[0] < 0.97]
            depths += [around(image, p, reach=1).min() for p in points]
        assert len(depths) > 10 and np.median(depths) < 0.55 * fundus


def test_disc_and_cup_match_the_truth_and_are_within_the_frame():
    side = width_of(HEIGHT)
    for seed in range(80):
        eye = draw_eye(seed, "glaucoma" if seed % 2 else "normal")
        codes = structures(eye, HEIGHT)
        for inside, centre, radii in ((codes > 0, eye.disc, eye.disc_radii), (codes == CUP, eye.cup, eye.cup_radii)):
            rows, columns = np.nonzero(inside)
            assert rows.min() > 0 and rows.max() < HEIGHT - 1 and columns.min() > 0 and columns.max() < side - 1
            assert (rows.mean(), columns.mean()) == pytest.approx(place(centre), abs=1.2)
            assert rows.max() - rows.min() + 1 == pytest.approx(2 * radii[1] * side, abs=1.5)


def test_a_height_below_16_is_refused():
    with pytest.raises(BadArgument, match="height=15"):
        scan(EYES[0], 15)
