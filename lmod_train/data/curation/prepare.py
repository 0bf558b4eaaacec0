"""One sample, from its raw files to its curated images with numbered boxes, in a worker without pyarrow and torch."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from lmod_train.core.errors import LmodError
from lmod_train.core.links import rooted
from lmod_train.core.perturbations import parse_perturbation, perturbed
from lmod_train.core.raw import open_file
from lmod_train.core.removal import parse_removal
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Box, Dropped, Fact, Question, Region, Sample
from lmod_train.core.vocabulary.phantoms import REDRAWN
from lmod_train.data.curation.boxes import DEFAULT_RULE, BoxRule, Shape, read_boxes
from lmod_train.data.curation.copies import thumbnail
from lmod_train.data.curation.evidence import Shapes, redrawn, removed
from lmod_train.data.curation.facts import facts_of
from lmod_train.data.curation.filters import BoxFilter, Loss, keep_boxes
from lmod_train.data.curation.guard import died, guarded
from lmod_train.data.curation.image_files import Opened, open_image, shrink, write_image
from lmod_train.data.curation.orientation import Frame
from lmod_train.tasks.base import Task


@dataclass(frozen=True, slots=True)
class Plan:
    """What every worker must know.

    Attributes:
        out: The curated folder.
        seed: Seed of numbers and perturbations.
        longest_side: Maximum length of the longer side in pixels; None keeps the size.
        box_filter: Filter of boxes that are too small.
        cutoffs: Source -> the measure that a box must reach.
        tasks: Tasks that are asked.
        boxes: How annotations become boxes.
        shapes: Shapes that are filled over structures whose outline tells the answer.
        bits: Source -> bits that its 16-bit greys use, as far as it is known.
    """

    out: Path
    seed: int
    longest_side: int | None
    box_filter: BoxFilter
    cutoffs: Mapping[str, float]
    tasks: tuple[Task, ...]
    boxes: BoxRule = DEFAULT_RULE
    shapes: Shapes = field(default_factory=dict)
    bits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What became of one sample: one line of the journal.

    Attributes:
        source: Source of the sample.
        key: Its key.
        size: Width and height of the raw image; (0, 0) where it could not be read.
        files: SHA-256 of every raw file that could be read, the image first.
        regions: Numbered boxes kept.
        lost: Boxes left out.
        scale: Curated pixels per original pixel.
        plain: SHA-256 of the plain curated image.
        marked: SHA-256 of the marked one, empty where no task draws.
        perturbed: SHA-256 of each perturbed one, by the ending of its path: ``blur-3`` or ``blur-3.marked``.
        thumbnail: By which copies are found (see `copies.thumbnail`).
        bytes: Size of the raw image file.
        dropped: Why there are no curated images; None where there are.
        listed: What is listed of an image that is kept: why it has no regions (a mask or outline cannot be trusted),
            far components of masks, greys of an unclear range.
        grey: Largest value of 16-bit grey whose file does not state the bits used; 0 for other images.
        bits: Bits that were taken for its full range; 0 for other images.
        waits: Whether it waits for the greys of the whole source to be known; nothing else is known of it yet.
        facts: Facts of the image.
    """

    source: str
    key: str
    size: tuple[int, int] = (0, 0)
    files: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    lost: tuple[Loss, ...] = ()
    scale: float = 1.0
    plain: str = ""
    marked: str = ""
    thumbnail: str = ""
    bytes: int = 0
    dropped: Dropped | None = None
    listed: tuple[Dropped, ...] = ()
    perturbed: Mapping[str, str] = field(default_factory=dict)
    grey: int = 0
    bits: int = 0
    waits: bool = False
    facts: tuple[Fact, ...] = ()

    @property
    def curated(self) -> dict[str, str]:
        """Curated files of the image, relative to the curated folder, with their SHA-256."""
        endings = {"": self.plain, "marked": self.marked, **self.perturbed}
        return {_path(self.source, self.key, ending): sha256 for ending, sha256 in endings.items() if sha256}

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Prepared:
        """Return what a line of the journal was made of, its fields as plain values."""
        values = dict(row)
        values["size"], values["files"] = tuple(row["size"]), tuple(row["files"])
        values["regions"] = tuple(Region(r["structure"], Box(**r["box"]), r["id"]) for r in row["regions"])
        values["lost"] = tuple((structure, reason) for structure, reason in row["lost"])
        values["dropped"] = Dropped(**row["dropped"]) if row["dropped"] else None
        values["listed"] = tuple(Dropped(**one) for one in row["listed"])
        values["facts"] = tuple(Fact(**one) for one in row["facts"])
        return cls(**values)


def image_path(source: str, key: str, *, marked: bool, perturbation: str = "") -> str:
    """Return the path of a curated image relative to the curated folder.

    Example:
        >>> image_path("refuge", "train/Glaucoma/g0001", marked=True)
        'images/refuge/train/Glaucoma/g0001.marked.jpg'
        >>> image_path("refuge", "train/Glaucoma/g0001", marked=False, perturbation="blur-3")
        'images/refuge/train/Glaucoma/g0001.blur-3.jpg'
    """
    return _path(source, key, _ending(perturbation, marked))


def _path(source: str, key: str, ending: str) -> str:
    return f"images/{source}/{key}{ending and '.'}{ending}.jpg"


def _ending(perturbation: str, marked: bool) -> str:
    return ".".join(filter(None, (perturbation, "marked" if marked else "")))


def numbered(sample: Sample, done: Prepared) -> Sample:
    """Return the sample as tasks see it: with size, hash, numbered regions, too small structures, and facts."""
    small = tuple(structure for structure, reason in done.lost if reason == "too_small")
    sha256 = done.files[0] if done.files else ""
    return replace(sample, size=done.size, sha256=sha256, facts=done.facts, regions=done.regions, too_small=small)


def prepare(sample: Sample, plan: Plan) -> Prepared:
    """Read, box, filter, number, shrink, perturb, draw and write one sample; an unusable file gives its reason."""
    read = guarded(sample, lambda: _read(sample, plan))
    if isinstance(read, Dropped):
        own = () if sample.cut.column else _hashes([sample.own_image])  # a Parquet file holds the images of others too
        return Prepared(sample.source, sample.key, files=own, dropped=read)
    if isinstance(read, Prepared):
        return read
    done, small, orientation = read
    views = _views(plan.tasks, numbered(sample, done))
    changed, listed = (
        _changed(sample, small, Frame(done.size, orientation), views, plan) if len(views) > 1 else ({}, [])
    )
    written = {}
    for name, of_name in views.items():
        shown = small if not name else changed.get(name)
        if shown is None:
            continue
        for marked in sorted(of_name):  # drawn after the perturbation: markers are no part of the photograph
            path = plan.out / image_path(sample.source, sample.key, marked=marked, perturbation=name)
            image = mark(shown, done.regions, done.scale) if marked else shown
            written[_ending(name, marked)] = write_image(path, image)
    listed = [*done.listed, *listed]
    return replace(
        done, plain=written.pop(""), marked=written.pop("marked", ""), perturbed=written, listed=tuple(listed)
    )


def _changed(
    sample: Sample, image: Image.Image, frame: Frame, names: Iterable[str], plan: Plan
) -> tuple[dict[str, Image.Image], list[Dropped]]:
    """Return the changed images by their names, and a line for each change that the sample does not allow."""
    removals = [name for name in names if parse_removal(name)]
    found = guarded(sample, lambda: removed(sample, image, frame, removals, plan.boxes, plan.shapes))
    changed, listed = ({}, [replace(found, extent="part")]) if isinstance(found, Dropped) else found
    if REDRAWN in names and sample.phantom and redrawn(sample.own_image).is_file():
        opened = guarded(sample, lambda: open_image(replace(sample, image=redrawn(sample.own_image))))
        if isinstance(opened, Opened) and opened.image.size == frame.size:
            changed[REDRAWN] = shrink(opened.image, plan.longest_side)[0]
    for name in names:
        if name and name != REDRAWN and name not in removals:
            kind, grade = parse_perturbation(name)  # sides are drawn by sample, the same in every grade
            drawn = shuffle_key(plan.seed, "perturb", kind, sample.source, sample.key)
            changed[name] = perturbed(image, kind, grade, int(drawn, 16))
    return changed, listed


def _read(sample: Sample, plan: Plan) -> tuple[Prepared, Image.Image, int] | Prepared | Dropped:
    """Return what is known of a sample once its files are read, its small image, and its EXIF orientation.

    Nothing is written.

    An image of 16-bit grey that may use fewer bits waits until those of the whole source are known.
    """
    bits = plan.bits.get(sample.source, 0)
    opened = open_image(sample, bits)
    if isinstance(opened, Dropped):
        return opened
    if not bits and 0 < opened.most < _LOW:
        return Prepared(sample.source, sample.key, grey=opened.most, waits=True)
    size = opened.image.size
    small, scale = shrink(opened.image, plan.longest_side)
    small.info.clear()  # or every file written of it would be written of a copy without
    opened = replace(opened, image=small)  # four bytes a pixel less, before the masks take theirs
    shapes: list[Shape] = []
    hashes: dict[Path, str] = {}
    whole = replace(sample, size=size, sha256=opened.sha256)
    boxed, listed = read_boxes(whole, opened.orientation, plan.boxes, shapes, hashes)
    files = (opened.sha256, *_hashes([m.path for m in sample.masks], hashes))
    kept, lost = keep_boxes(boxed, plan.box_filter, plan.cutoffs[sample.source])
    ready = number(kept, plan.seed)
    done = Prepared(
        sample.source,
        sample.key,
        size,
        files,
        ready.regions,
        lost,
        scale,
        thumbnail=thumbnail(small),
        bytes=opened.bytes,
        listed=(*listed, *_unclear_greys(sample, opened)),
        grey=opened.most,
        bits=opened.bits,
        facts=facts_of(boxed, shapes),
    )
    return done, small, opened.orientation


_LOW = 1 << 14
"""16-bit greys that are all below use at most a quarter of their range: they may be of fewer bits."""


def _unclear_greys(sample: Sample, opened: Opened) -> Iterator[Dropped]:
    """Yield the line for an image that uses less than a quarter of its range: it is dark, or of fewer bits."""
    if opened.faded:
        detail = "16-bit colours below a quarter of their range, read as 8 bits: too dark if they use fewer bits"
        yield Dropped.of(sample, "read", "grey_range_unclear", detail, "part")
    elif opened.most and 4 * opened.most < 1 << opened.bits:
        detail = f"greys up to {opened.most}, but {opened.bits} bits are used in the source: too dark if of fewer bits"
        yield Dropped.of(sample, "read", "grey_range_unclear", detail, "part")


def lost(samples: Sequence[Sample]) -> list[Prepared]:
    """Return what becomes of samples over which a worker process ended."""
    return [Prepared(sample.source, sample.key, dropped=died(sample)) for sample in samples]


def prepare_all(samples: Sequence[Sample], plan: Plan) -> list[Prepared]:
    """Prepare several samples: one job of a worker."""
    with rooted(plan.out):  # this process may be a worker, which holds no lock
        return [prepare(sample, plan) for sample in samples]


def boxes_all(samples: Sequence[Sample], rule: BoxRule) -> list[tuple[str, tuple[int, int], Region]]:
    """Return source, size of the image and region of every box of samples; unreadable files give none."""
    read = (guarded(sample, partial(_boxed, sample, rule)) for sample in samples)
    return [(one.source, one.size, region) for one in read if isinstance(one, Sample) for region in one.regions]


def _boxed(sample: Sample, rule: BoxRule) -> Sample | Dropped:
    opened = open_image(sample)
    if isinstance(opened, Dropped):
        return opened
    return read_boxes(replace(sample, size=opened.image.size), opened.orientation, rule)[0]


SHOW_IMAGES = ("own", "another", "same_answer", "other_answer")
"""What questions show that need images of their samples."""


def _views(tasks: Sequence[Task], sample: Sample) -> dict[str, set[bool]]:
    """Return the images to write: perturbation -> unmarked, and marked where a question shows that."""
    views: dict[str, set[bool]] = {"": {False}}
    for question in _checked(tasks, sample):
        if question.shows in SHOW_IMAGES:
            views.setdefault(question.perturbation, {False}).add(question.marked)
    return views


def _checked(tasks: Sequence[Task], sample: Sample) -> Iterator[Question]:
    """Yield every question about a sample.

    Raises:
        LmodError: A marked question shows another image, or is about other regions than those drawn.
    """
    for question in (q for task in tasks for q in task.ask(sample)):
        if question.marked and question.shows != "own":
            raise LmodError(
                f"task {question.task!r}, sample {sample.source}/{sample.key}: a marked question has "
                f"shows={question.shows!r}, but markers are drawn on the sample's own image only.\n"
                f"Next: ask with marked=False or shows='own'"
            )
        if question.marked and question.regions != sample.regions:
            raise LmodError(
                f"task {question.task!r}, sample {sample.source}/{sample.key}: a marked question must be about all "
                f"numbered regions of the sample, as they are what is drawn.\nNext: ask with regions=sample.regions"
            )
        yield question


def _hashes(paths: Sequence[Path], known: Mapping[Path, str] = MappingProxyType({})) -> tuple[str, ...]:
    hashes = []
    for path in paths:
        if path in known:
            hashes.append(known[path])
            continue
        with suppress(OSError, ValueError), open_file(path) as file:  # what cannot be read is listed with its reason
            hashes.append(hashlib.file_digest(file, "sha256").hexdigest())
    return tuple(hashes)


# Draw numbered boxes so that a person and a model at 224 pixels can read which is which.
_CODES = "ffe119 005aff ff28d7 00c850 ffffff e10f0f 00ebff 7d00be ff9100 005f55 ffafc8 78460a"
COLOURS = tuple((*bytes.fromhex(code),) for code in _CODES.split())
"""Colour of number n is entry (n - 1) modulo 12. Neighbours differ in lightness as well as in hue, so that they stay
apart for colour-blind eyes; a dark and a light line round each frame keep it visible on any tissue."""

DIGIT, STROKE = (0.075, 0.045, 10), (0.012, 0.007, 2)
"""Digit height and stroke: share of the shorter side, share of the longer side, pixels; the largest holds. The longer
side keeps digits at 10 of 224 pixels where a model pads an elongated image."""


def mark(image: Image.Image, regions: Sequence[Region], scale: float) -> Image.Image:
    """Return a copy of the image with every region's frame and number.

    Frames lie outside their boxes where the image leaves room, so that they hide nothing of the structure. Labels lie
    outside, too, where they cover least of any box and of each other, and always inside the image.

    Args:
        image: The curated image, RGB.
        regions: Boxes in pixels of the original image, with ids from 1.
        scale: Curated pixels per original pixel.
    """
    drawn = image.copy()
    pen = ImageDraw.Draw(drawn)
    digit, stroke = _sizes(image.size)
    boxes = [_scaled(r.box, scale, image.size) for r in regions]
    for i in _large_first(boxes, regions):
        _frame(pen, boxes[i], COLOURS[(regions[i].id - 1) % len(COLOURS)], stroke, image.size)
    for number, spot in label_boxes(image.size, regions, scale).items():
        _label(pen, spot, number, digit)
    return drawn


def label_boxes(size: tuple[int, int], regions: Sequence[Region], scale: float) -> dict[int, Box]:
    """Return where `mark` writes each number, in pixels of the curated image; nothing without regions.

    Args:
        size: Width and height of the curated image.
        regions: Boxes in pixels of the original image, with ids from 1.
        scale: Curated pixels per original pixel.

    Example:
        >>> label_boxes((200, 200), [Region("optic disc", Box(50, 60, 90, 100), 1)], 1.0)
        {1: Box(x0=46, y0=35, x1=64, y1=56)}
    """
    digit, stroke = _sizes(size)
    boxes = [_scaled(r.box, scale, size) for r in regions]
    labels: dict[int, Box] = {}
    for i in reversed(_large_first(boxes, regions)):  # small boxes have the fewest good places: they choose first
        others = [b for j, b in enumerate(boxes) if j != i]
        wanted = label_size(regions[i].id, digit)
        border = stroke + 2 * _edge(stroke)
        labels[regions[i].id] = place_label(boxes[i], others, list(labels.values()), wanted, border, size)
    return labels


def place_label(
    box: Box, others: Sequence[Box], labels: Sequence[Box], size: tuple[int, int], stroke: int, within: tuple[int, int]
) -> Box:
    """Return where a label goes: of the places round the box, the one that covers least.

    Covering a label counts most, then the share of a box that would be hidden (so a small box inside a large one is
    spared before the large one); among equals the first place wins: above left, above right, below, beside, inside.

    Args:
        box: The box to label.
        others: The other boxes.
        labels: Labels already placed.
        size: Width and height of the label.
        stroke: Thickness of the frame with its contrasting lines, kept free.
        within: Width and height of the image; the label is moved inside it.
    """

    def cost(spot: Box) -> int:
        hidden = sum(_overlap(spot, b) / max(b.area, 1) for b in (box, *others))
        covered = sum(_overlap(spot, b) / spot.area for b in labels)
        return round(20 * (hidden + 10 * covered))  # steps of 5 %: less is no reason to go further from the box

    best, least = box, sys.maxsize
    for x, y in _corners(box, size, stroke):
        spot = _inside(x, y, size, within)
        if (its_own := cost(spot)) < least:
            best, least = spot, its_own
        if not least:
            break
    return best


@lru_cache(maxsize=1024)
def label_size(number: int, digit: int) -> tuple[int, int]:
    """Return width and height in pixels of the label of `number` with digits `digit` pixels high."""
    left, top, right, bottom = _font(digit).getbbox(str(number))
    pad = 2 * max(2, round(digit * 0.18))
    return math.ceil(right - left) + pad, math.ceil(bottom - top) + pad


@lru_cache(maxsize=32)
def _font(digit: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's own font at the size at which a digit is `digit` pixels high."""
    size = digit
    while True:  # digits are about 0.7 of the nominal size
        font = ImageFont.load_default(size=size)
        _, top, _, bottom = font.getbbox("0")
        if bottom - top >= digit or size > 3 * digit:
            return font
        size += 1


def _corners(box: Box, size: tuple[int, int], stroke: int) -> Iterator[tuple[int, int]]:
    width, height = size
    left, right = box.x0 - stroke, box.x1 + stroke - width
    top, bottom = box.y0 - stroke, box.y1 + stroke - height
    above, below = top - height, bottom + height
    before, after = left - width, right + width
    yield from ((left, above), (right, above), (left, below), (right, below))
    yield from ((before, top), (after, top), (before, bottom), (after, bottom))
    yield from ((before, above), (after, above), (before, below), (after, below))
    yield from ((box.x0, box.y0), (box.x1 - width, box.y0), (box.x0, box.y1 - height))
    yield (box.x1 - width, box.y1 - height)
    middle, half = (box.x0 + box.x1 - width) // 2, (box.y0 + box.y1 - height) // 2
    yield from ((middle, box.y0), (middle, box.y1 - height), (box.x0, half), (box.x1 - width, half))


def _sizes(size: tuple[int, int]) -> tuple[int, int]:
    """Return the height of a digit and the thickness of a frame for an image of this size."""
    digit, stroke = (
        max(least, round(min(size) * short), round(max(size) * long)) for short, long, least in (DIGIT, STROKE)
    )
    return digit, stroke


def _large_first(boxes: Sequence[Box], regions: Sequence[Region]) -> list[int]:
    return sorted(range(len(boxes)), key=lambda i: (-boxes[i].area, regions[i].id))


def _inside(x: int, y: int, size: tuple[int, int], within: tuple[int, int]) -> Box:
    x, y = max(0, min(x, within[0] - size[0])), max(0, min(y, within[1] - size[1]))
    return Box(x, y, x + size[0], y + size[1])


def _overlap(a: Box, b: Box) -> int:
    return max(0, min(a.x1, b.x1) - max(a.x0, b.x0)) * max(0, min(a.y1, b.y1) - max(a.y0, b.y0))


def _scaled(box: Box, scale: float, within: tuple[int, int]) -> Box:
    x0, y0 = math.floor(box.x0 * scale), math.floor(box.y0 * scale)
    return Box(
        x0,
        y0,
        max(x0 + 1, min(within[0], math.ceil(box.x1 * scale))),
        max(y0 + 1, min(within[1], math.ceil(box.y1 * scale))),
    )


def _edge(stroke: int) -> int:
    """Return the thickness of the contrasting lines on both sides of a frame."""
    return max(1, stroke // 4)


def _frame(
    pen: ImageDraw.ImageDraw, box: Box, colour: tuple[int, int, int], stroke: int, within: tuple[int, int]
) -> None:
    edge = _edge(stroke)
    border = stroke + 2 * edge
    for reach, line, thick in ((border, _contrast(colour), border), (stroke + edge, colour, stroke)):
        x0, y0 = max(0, box.x0 - reach), max(0, box.y0 - reach)
        x1, y1 = min(within[0], box.x1 + reach), min(within[1], box.y1 + reach)
        pen.rectangle((x0, y0, x1 - 1, y1 - 1), outline=line, width=thick)


def _label(pen: ImageDraw.ImageDraw, spot: Box, number: int, digit: int) -> None:
    colour = COLOURS[(number - 1) % len(COLOURS)]
    font = _font(digit)
    left, top, right, bottom = font.getbbox(str(number))
    pen.rectangle((spot.x0, spot.y0, spot.x1 - 1, spot.y1 - 1), fill=colour, outline=_contrast(colour))
    x = spot.x0 + (spot.width - (right - left)) / 2 - left
    y = spot.y0 + (spot.height - (bottom - top)) / 2 - top
    pen.text((round(x), round(y)), str(number), fill=_contrast(colour), font=font)


def _contrast(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return black on light colours, white on dark ones (luma of Rec. 601)."""
    luma = 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2]
    return (0, 0, 0) if luma > 110 else (255, 255, 255)


def number(sample: Sample, seed: int) -> Sample:
    """Return the sample with its regions shuffled by seed and key, and numbered from 1 in that order.

    The order in which a source or a mask names its structures has no influence.
    """

    def place(index: int) -> str:
        return shuffle_key(seed, "numbering", sample.source, sample.key, index)

    sorted_regions = sorted(sample.regions, key=lambda r: (r.structure, r.box.x0, r.box.y0, r.box.x1, r.box.y1))
    order = sorted(range(len(sorted_regions)), key=place)
    return replace(sample, regions=tuple(replace(sorted_regions[i], id=n) for n, i in enumerate(order, 1)))
