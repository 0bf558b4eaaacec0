"""What a source yields, and the boxes that curation makes of it, for comparison with the truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from lmod_train.core.types import Box, Dropped, Sample
from lmod_train.data.curation.boxes import read_boxes
from lmod_train.data.curation.image_files import Opened, open_image


def samples(source):
    return {s.key: s for s in source.samples() if isinstance(s, Sample)}


def drops(source):
    return Counter((d.file.rpartition("/")[2], d.reason) for d in source.samples() if isinstance(d, Dropped))


def boxed(sample: Sample) -> set[tuple[str, Box]] | str:
    """Return structure and box of everything marked on a sample, or the reason why they cannot be determined."""
    opened = open_image(sample)
    if not isinstance(opened, Opened):
        return opened.reason
    found, listed = read_boxes(replace(sample, size=opened.image.size), opened.orientation)
    return listed[0].reason if listed else {(region.structure, region.box) for region in found.regions}
