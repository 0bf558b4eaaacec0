"""What images of drawn rows show, measured without the functions that draw them."""

import numpy as np


def quarter_of(box, size):
    """Return the quarter of an image of a size (width, height) in which the centre of a box (x0, y0, x1, y1) lies."""
    down, across = box[1] + box[3] > size[1], box[0] + box[2] > size[0]
    return f"{'lower' if down else 'upper'} {'right' if across else 'left'} quarter"


def defect_seen(clean, shown):
    """Return the words of the defect that an image has, from the same image without any."""
    before, after = (np.asarray(image.convert("L"), dtype=float) for image in (clean, shown))
    if (before == after).all():
        return "no notable defects"
    share = (after + 1) / (before + 1)
    if np.quantile(share, 0.9) < 0.85:
        return "underexposed image"
    sharp = [np.abs(np.diff(image, axis=1)).mean() for image in (before, after)]
    light = after.mean() / before.mean()
    return "out-of-focus image" if light > 0.99 and sharp[1] < 0.9 * sharp[0] else "shadow on one side"
