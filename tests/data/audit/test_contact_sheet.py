"""Contact sheets show what is kept and what is not."""

from __future__ import annotations

import numpy as np
from PIL import Image

from lmod_train.extensions.audit.views import HEIGHT, OUTLINE, Tile, View, caption, contact_sheet, outlined

CROP = View(400, 200, (Tile(0.25, 0, 0.75, 1, 672, 336),), 576)


def test_what_is_lost_is_dark_and_what_is_kept_is_outlined_and_unchanged():
    pixels = np.asarray(outlined(Image.new("RGB", (400, 200), (200, 100, 60)), CROP))
    assert pixels[100, 200].tolist() == [200, 100, 60]
    assert pixels[100, 50].max() < 80 and pixels[100, 350].max() < 80
    assert pixels[100, 100].tolist() == pixels[0, 200].tolist() == list(OUTLINE)


def test_the_caption_states_the_measurement():
    assert caption(CROP) == "400 x 200: 50% kept, seen at 672 x 336, 1 tile, 576 tokens"
    two = View(400, 200, (Tile(0, 0, 0.5, 1, 400, 400), Tile(0.5, 0, 1, 1, 400, 400)), 512)
    assert caption(two) == "400 x 200: 100% kept, seen at 400 x 400, width stretched by 0.50, 2 tiles, 512 tokens"


def test_a_sheet_has_a_line_for_each_image():
    image, picture = Image.new("RGB", (400, 200), (200, 0, 0)), Image.new("RGB", (336, 336), (0, 0, 200))
    one, three = (contact_sheet("Title", [(image, picture, CROP)] * n) for n in (1, 3))
    assert one.width == three.width and three.height - one.height >= 2 * HEIGHT
    colours = np.asarray(three).reshape(-1, 3)
    assert (colours == (200, 0, 0)).all(1).sum() > 3 * 100_000 and (colours == (0, 0, 200)).all(1).sum() > 3 * 100_000
