"""What a model sees of the images of a curated folder: measures, a line an image, tables, contact sheets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache, cached_property, lru_cache
from math import ceil, sqrt
from pathlib import Path
from statistics import mean

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageEnhance, ImageFont

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.csv_files import write_csv
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, write_durably
from lmod_train.core.package_data import package_data
from lmod_train.core.pixels import png_bytes

LINES, PAGE = "images.csv", "page.md"


@dataclass(frozen=True, slots=True)
class SeenImage:
    """What a model sees of an image.

    Attributes:
        image: Path relative to the curated folder.
        modality: Its modality.
        width: Width in pixels.
        height: Height in pixels.
        kept: Share of the area that reaches the network, 0 to 1.
        columns: Columns of the whole image at the finest scale of the network.
        rows: Rows.
        scale: Pixels of the network for one pixel of the curated image, as a length.
        scale_original: Pixels of the network for one pixel of the original image.
        stretch: Scale along the width over that along the height.
        tiles: Inputs of the vision tower that show a part of the image.
        tokens: Image tokens in the prompt.
    """

    image: str
    modality: str
    width: int
    height: int
    kept: float
    columns: float
    rows: float
    scale: float
    scale_original: float
    stretch: float
    tiles: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Shown:
    """An image that records show."""

    image: str
    modality: str
    scale: float


class Calibration:
    """Response and position of every value of a processor's output, for images of one size.

    Args:
        look: The processor.
        width: Width of the images in pixels.
        height: Height of the images in pixels.

    Attributes:
        black: Output for a black image, with one row for each tile.
        response: Output for a white image minus that for a black one.
        channel: Colour of each value: 0 red, 1 green, 2 blue.
        inside: Whether a value belongs to the image and not to padding.
        x: Position of each value inside along the width, 0 to 1; of the others 0.
        y: Position along the height.
        tokens: Number of image tokens in the prompt.
    """

    def __init__(self, look: Look, width: int, height: int) -> None:
        self.width, self.height, self._look = width, height, look
        first, self.tokens = look(_plain(width, height, (0, 0, 0)))
        self.shape = first.shape
        self.black = self._rows(first)
        colours = np.stack([self.output(_plain(width, height, colour)) for colour in PURE]) - self.black
        self.channel = np.abs(colours).argmax(0).astype(np.uint8)
        self.response = colours.sum(0)
        self.inside = self._inside()
        self.x, self.y = self._position(width, across=True), self._position(height, across=False)

    @property
    def is_tiled(self) -> bool:
        """Whether the output holds whole images (..., 3, height, width) and not single patches."""
        return _holds_images(self.shape)

    def axes(self, row: int) -> tuple[Floats, Floats]:
        """Return the positions of the columns and of the rows of a tile that show the image."""
        inside, x, y = self.inside[row], self.x[row], self.y[row]
        if not self.is_tiled:
            return distinct(x[inside]), distinct(y[inside])
        inside, x, y = (part.reshape(self.shape[-3:])[0] for part in (inside, x, y))
        return _middles(x, inside), _middles(y.T, inside.T)

    def _usual(self, channel: int) -> float:
        """Return the usual response of a channel's values; padding responds to nothing and is left out."""
        found = self.response[(self.channel == channel) & (np.abs(self.response) > 1e-6)]
        return float(np.median(found)) if found.size else 1.0

    def _inside(self) -> npt.NDArray[np.bool_]:
        usual = np.array([self._usual(channel) for channel in range(3)])
        return np.asarray(self.response / usual[self.channel] > RESPONDS)

    def _position(self, side: int, *, across: bool) -> Floats:
        steps = max(4, ceil(2 * side / 255))
        total = np.zeros_like(self.black)
        for ramp in _ramps(side, steps):
            grey = np.broadcast_to(ramp if across else ramp[:, None], (self.height, self.width))
            total += self.output(Image.fromarray(np.stack([grey] * 3, axis=-1))) - self.black
        response = np.where(self.inside, self.response, 1)
        return np.asarray(np.where(self.inside, total / response / steps, 0), np.float32)

    def output(self, image: Image.Image) -> Floats:
        """Return the processor's output for an image of this size, one row for each tile.

        Raises:
            BadArgument: It has another shape than that of the images before.
        """
        values, tokens = self._look(image)
        if values.shape != self.shape or tokens != self.tokens:
            raise _unmeasurable(f"{values.shape} and {self.shape}", "one shape for images of one size")
        return self._rows(values)

    def _rows(self, values: Floats) -> Floats:
        """Return one row for each tile; patches of an image are one row together."""
        size = int(np.prod(values.shape[-3:])) if _holds_images(values.shape) else values.size
        return values.reshape(-1, size).astype(np.float32)


Calibrate = Callable[[int, int], Calibration]
"""Function of width and height that calibrates a model's image processor for images of this size."""


def calibrate(look: Look) -> Calibrate:
    """Return that function of a processor; it remembers two sizes, as those of large images take gigabytes."""
    return lru_cache(2)(lambda width, height: Calibration(look, width, height))


def seen_images(calibrated: Calibrate, curated: Path, limit: int) -> list[SeenImage]:
    """Return what a model sees of the first image of each record of a curated folder, ordered by modality and path.

    Args:
        calibrated: The model's image processor.
        curated: The folder.
        limit: Maximum number of images of a modality, drawn evenly over their paths.

    Raises:
        BadArgument: No record shows an image.
        ArtifactError: An image is missing or damaged.
    """
    sized = cache(lambda width, height: view_of(calibrated(width, height)))
    images = Curated(curated)
    return [_line(shown, sized(*images.size(shown.image))) for shown in _shown(curated, limit)]


def _shown(curated: Path, limit: int) -> list[_Shown]:
    records = read_records(curated / "records")
    found = {image: _Shown(image, record.modality, record.scale) for record in records for image in record.image[:1]}
    chosen: list[_Shown] = []
    for modality in sorted({shown.modality for shown in found.values()}):
        own = [found[image] for image in sorted(found) if found[image].modality == modality]
        step = max(1.0, len(own) / limit)
        chosen += [own[int(i * step)] for i in range(min(limit, len(own)))]
    if not chosen:
        raise BadArgument("curated", str(curated), "records with images", "curate with other tasks")
    return chosen


def _line(shown: _Shown, view: View) -> SeenImage:
    columns, rows = view.resolution
    return SeenImage(
        image=shown.image,
        modality=shown.modality,
        width=view.width,
        height=view.height,
        kept=round(view.kept, 4),
        columns=round(columns, 1),
        rows=round(rows, 1),
        scale=round(view.scale, 4),
        scale_original=round(view.scale * shown.scale, 4),
        stretch=round(view.stretch, 4),
        tiles=len(view.tiles),
        tokens=view.tokens,
    )


def write_lines(file: Path, images: Iterable[SeenImage]) -> None:
    """Write images as CSV."""
    write_csv(file, [field.name for field in fields(SeenImage)], map(astuple, images))


def table(images: Sequence[SeenImage]) -> str:
    """Return a Markdown table with a row for each modality: means, and ranges where they differ."""
    head = "| modality | images | kept | seen at | scale | of original | stretch | tiles | tokens |"
    lines = [head, "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for modality in dict.fromkeys(image.modality for image in images):
        own = [image for image in images if image.modality == modality]
        cells = [modality, str(len(own)), _spread([100 * image.kept for image in own], "{:.0f} %")]
        cells.append(f"{_spread([i.columns for i in own])} x {_spread([i.rows for i in own])}")
        cells += [_spread([getattr(i, name) for i in own], "{:.2f}") for name in ("scale", "scale_original", "stretch")]
        cells += [_spread([getattr(i, name) for i in own]) for name in ("tiles", "tokens")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _spread(values: Sequence[float], form: str = "{:.0f}") -> str:
    """Return the mean of values, with the smallest and largest where these differ as printed."""
    low, middle, high = (form.format(value) for value in (min(values), mean(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def page(model: str, images: Sequence[SeenImage]) -> str:
    """Return a Markdown page: the table, what its columns mean, and the contact sheets."""
    sheets = [f"![{m}]({m}.png)" for m in dict.fromkeys(image.modality for image in images)]
    said = package_data(__file__, "texts.yaml")["views"]
    text = f"# What {model} sees\n\n{table(images)}\n\n{said['columns']}\n\n{said['pictures']}"
    return "\n\n".join([text, *sheets]) + "\n"


def sheets(
    calibrated: Calibrate, curated: Path, images: Sequence[SeenImage], title: str, number: int
) -> Iterator[tuple[str, bytes]]:
    """Yield (modality, PNG file) of a contact sheet for each modality.

    Args:
        calibrated: The model's image processor.
        curated: The curated folder.
        images: Images of it, as `seen_images` returns them.
        title: Text above each sheet.
        number: Images of a sheet: those of which least and most is kept, and some between.
    """
    images_of = Curated(curated)
    for modality in dict.fromkeys(image.modality for image in images):
        own = sorted((i for i in images if i.modality == modality), key=lambda i: (i.kept, i.width / i.height, i.image))
        count = min(number, len(own))
        chosen = [own[i * (len(own) - 1) // max(1, count - 1)] for i in range(count)]
        rows = [_row(calibrated, images_of.rgb(line.image)) for line in chosen]
        yield modality, png_bytes(contact_sheet(f"{title}: {modality}", rows))


def _row(calibrated: Calibrate, picture: Image.Image) -> tuple[Image.Image, Image.Image, View]:
    calibration = calibrated(*picture.size)
    return picture, seen(calibration, picture), view_of(calibration)


def write_views(look: Look, curated: Path, out: Path, model: str, limit: int, number: int) -> list[SeenImage]:
    """Measure what a model sees of a curated folder, and write lines, page and contact sheets.

    Args:
        look: The model's image processor.
        curated: The curated folder.
        out: Folder to write to.
        model: Name of the model.
        limit: Maximum number of images of a modality.
        number: Images of a contact sheet.

    Raises:
        BadArgument: No record shows an image.
    """
    calibrated = calibrate(look)
    images = seen_images(calibrated, curated, limit)
    make_folder(out)
    write_lines(out / LINES, images)
    for modality, sheet in sheets(calibrated, curated, images, model, number):
        with write_durably(out / f"{modality}.png") as part:
            part.write_bytes(sheet)
    with write_durably(out / PAGE) as part:
        part.write_text(page(model, images), encoding="utf-8")
    return images


GAP, GREY = 6, (128, 128, 128)
"""Pixels between tiles, and their colour."""

Bytes = npt.NDArray[np.uint8]


def seen(calibration: Calibration, image: Image.Image) -> Image.Image:
    """Return what the network sees of an RGB image, padding included; several tiles as they lie, an overview beside.

    Args:
        calibration: That of a processor for images of this size.
        image: The image.
    """
    if not calibration.is_tiled:
        return Image.fromarray(_of_patches(calibration, image))
    pictures = [Image.fromarray(tile) for tile in _of_tiles(calibration, image)]
    return arranged(pictures, view_of(calibration).tiles)


def _of_tiles(calibration: Calibration, image: Image.Image) -> list[Bytes]:
    """Return the tiles that show a part of the image, (height, width, 3)."""
    shape = (-1, *calibration.shape[-3:])
    held = (calibration.black, calibration.response, calibration.channel, calibration.inside)
    output, black, response, channel, inside = (part.reshape(shape) for part in (calibration.output(image), *held))
    made = np.zeros(output.shape, dtype=np.uint8)
    for plane in range(3):
        shown = inside[:, plane]
        colour = int(np.bincount(channel[:, plane][shown]).argmax())
        zero, gain = np.median(black[:, plane][shown]), np.median(response[:, plane][shown])
        made[:, colour] = _bytes((output[:, plane] - zero) / gain)
    return list(made.transpose(0, 2, 3, 1)[inside.any((1, 2, 3))])


def _of_patches(calibration: Calibration, image: Image.Image) -> Bytes:
    """Return the image that patches come from, (height, width, 3), each value at its measured position."""
    inside = calibration.inside[0]
    x, y = (position_index(place[0][inside]) for place in (calibration.x, calibration.y))
    made = np.zeros((y.max() + 1, x.max() + 1, 3), dtype=np.uint8)
    values = (calibration.output(image) - calibration.black)[0][inside] / calibration.response[0][inside]
    made[y, x, calibration.channel[0][inside]] = _bytes(values)
    return made


def _bytes(values: npt.NDArray[np.floating]) -> Bytes:
    return np.asarray(np.round(255 * np.clip(values, 0, 1)), np.uint8)


def arranged(pictures: Sequence[Image.Image], tiles: Sequence[Tile]) -> Image.Image:
    """Return the tiles of an image in one picture, as they lie in it; a tile of the whole image stands at the right.

    Args:
        pictures: Pictures of the tiles, all of one size.
        tiles: Their places.
    """
    whole = [len(tiles) > 1 and _holds_all(tile, tiles) for tile in tiles]
    lefts, tops = ([round(edge, 2) for edge in edges] for edges in zip(*((t.left, t.top) for t in tiles), strict=True))
    columns, rows = (sorted({e for e, w in zip(edges, whole, strict=True) if not w}) for edges in (lefts, tops))
    width, height = pictures[0].width + GAP, pictures[0].height + GAP
    sheet = Image.new("RGB", ((len(columns) + sum(whole)) * width - GAP, len(rows) * height - GAP), GREY)
    beside = len(columns)
    for picture, left, top, is_whole in zip(pictures, lefts, tops, whole, strict=True):
        sheet.paste(
            picture, (beside * width, 0) if is_whole else (columns.index(left) * width, rows.index(top) * height)
        )
        beside += is_whole
    return sheet


def _holds_all(tile: Tile, tiles: Sequence[Tile]) -> bool:
    """Return whether a tile shows all that the tiles show together, but for one part in a hundred."""
    across = max(t.right for t in tiles) - min(t.left for t in tiles)
    down = max(t.bottom for t in tiles) - min(t.top for t in tiles)
    return (tile.right - tile.left) * (tile.bottom - tile.top) > 0.99 * across * down


HEIGHT, WIDEST, MARGIN, LINE = 360, 900, 12, 22

OUTLINE, PAPER, INK = (255, 200, 0), (255, 255, 255), (20, 20, 20)


def outlined(image: Image.Image, view: View) -> Image.Image:
    """Return an image with the parts that do not reach the network darkened, and the tiles outlined."""
    dark = ImageEnhance.Brightness(image).enhance(0.35)
    ends = [np.array([(t.left, t.top), (t.right, t.bottom)]) * image.size for t in view.tiles]
    boxes = [tuple(corners.round().astype(int).ravel().tolist()) for corners in ends]
    for box in boxes:
        dark.paste(image.crop(box), box[:2])
    pen = ImageDraw.Draw(dark)
    for left, top, right, bottom in boxes:
        pen.rectangle((left, top, right - 1, bottom - 1), outline=OUTLINE, width=max(2, image.width // 256))
    return dark


def caption(view: View) -> str:
    """Return a line on what a model sees of an image."""
    columns, rows = view.resolution
    stretched = "" if 0.97 < view.stretch < 1.03 else f", width stretched by {view.stretch:.2f}"
    tiles = "1 tile" if len(view.tiles) == 1 else f"{len(view.tiles)} tiles"
    return (
        f"{view.width} x {view.height}: {view.kept:.0%} kept, seen at {columns:.0f} x {rows:.0f}{stretched}, {tiles}, "
        f"{view.tokens} tokens"
    )


def contact_sheet(title: str, rows: Sequence[tuple[Image.Image, Image.Image, View]]) -> Image.Image:
    """Return a sheet with a line for each image: the image with the kept parts outlined, beside what the network sees.

    Args:
        title: Text above.
        rows: Image, picture of what the network sees, and the measurement; at least one.
    """
    pairs = [(_fitted(outlined(image, view)), _fitted(picture), caption(view)) for image, picture, view in rows]
    first = max(left.width for left, _, _ in pairs)
    width = 3 * MARGIN + first + max(right.width for _, right, _ in pairs)
    sheet = Image.new("RGB", (max(width, 640), MARGIN + LINE + len(pairs) * (HEIGHT + LINE + MARGIN)), PAPER)
    pen, font, top = ImageDraw.Draw(sheet), ImageFont.load_default(15), MARGIN
    pen.text((MARGIN, top), title, fill=INK, font=font)
    top += LINE
    for left, right, text in pairs:
        sheet.paste(left, (MARGIN, top))
        sheet.paste(right, (2 * MARGIN + first, top))
        pen.text((MARGIN, top + HEIGHT + 2), text, fill=INK, font=font)
        top += HEIGHT + LINE + MARGIN
    return sheet


def _fitted(picture: Image.Image) -> Image.Image:
    """Return a picture of the height of a line, or lower if it would be too wide."""
    scale = min(HEIGHT / picture.height, WIDEST / picture.width)
    return picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))))


# What a model sees of an image, measured at the output of its image processor.
Floats = npt.NDArray[np.float32]

Look = Callable[[Image.Image], tuple[Floats, int]]
"""Function of an RGB image that returns the network's pixel values and the number of image tokens in the prompt."""

RESPONDS = 0.1
"""Least share of a channel's usual response with which a value belongs to the image; borders of padding are mixed."""

EDGE = 4
"""Columns at either end that are left out of the fitted line: near an edge of the image, filters see less of it."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of an image that is in one input of the vision tower.

    Attributes:
        left: Its left edge as a share of the image's width, 0 to 1.
        top: Its upper edge as a share of the height.
        right: Its right edge.
        bottom: Its lower edge.
        columns: Number of columns of the network's pixels that the whole image would have at this tile's scale.
        rows: Number of rows.
    """

    left: float
    top: float
    right: float
    bottom: float
    columns: float
    rows: float

    @property
    def is_certain(self) -> bool:
        """Whether it shows enough columns and rows to fit a line to the inner ones."""
        return min(self.columns * (self.right - self.left), self.rows * (self.bottom - self.top)) > 4 * EDGE


@dataclass(frozen=True)
class View:
    """What a model sees of images of one size.

    Attributes:
        width: Width of the image in pixels.
        height: Height of the image in pixels.
        tiles: Inputs of the vision tower that show a part of the image; the first is the only one of most models.
        tokens: Number of image tokens in the prompt.
    """

    width: int
    height: int
    tiles: tuple[Tile, ...]
    tokens: int

    @cached_property
    def kept(self) -> float:
        """Share of the image's area that reaches the network in any tile, 0 to 1."""
        shown = np.zeros((self.height, self.width), dtype=bool)
        for tile in self.tiles:
            rows = slice(round(tile.top * self.height), round(tile.bottom * self.height))
            shown[rows, round(tile.left * self.width) : round(tile.right * self.width)] = True
        return float(shown.mean())

    @cached_property
    def resolution(self) -> tuple[float, float]:
        """Columns and rows of the whole image in the finest tile: details between them are not seen."""
        finest = max(self.tiles, key=lambda tile: (tile.is_certain, tile.columns * tile.rows))
        return finest.columns, finest.rows

    @property
    def scale(self) -> float:
        """Pixels of the network for one pixel of the image, as a length: the geometric mean of both axes."""
        columns, rows = self.resolution
        return sqrt(columns / self.width * rows / self.height)

    @property
    def stretch(self) -> float:
        """Scale along the width over that along the height; 1 where the aspect ratio is kept."""
        columns, rows = self.resolution
        return columns / self.width / (rows / self.height)


def _middles(positions: Floats, inside: npt.NDArray[np.bool_]) -> Floats:
    """Return the median position of each column that has a value inside; at borders of padding values are mixed."""
    found = np.nanmedian(np.where(inside, positions, np.nan)[:, inside.any(0)], axis=0)
    return np.asarray(found, np.float32)


PURE = ((255, 0, 0), (0, 255, 0), (0, 0, 255))


def _holds_images(shape: tuple[int, ...]) -> bool:
    return len(shape) >= 4 and shape[-3] == 3


def _plain(width: int, height: int, colour: tuple[int, int, int]) -> Image.Image:
    return Image.new("RGB", (width, height), colour)


def _ramps(side: int, steps: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the ramps along a side, each over one of `steps` equal parts: black before, white after."""
    places = (np.arange(side) + 0.5) / side
    for step in range(steps):
        yield np.round(255 * np.clip(steps * places - step, 0, 1)).astype(np.uint8)


def measure(look: Look, width: int, height: int) -> View:
    """Return what a model sees of images of one size.

    Args:
        look: Its image processor.
        width: Width of the images in pixels.
        height: Height of the images in pixels.

    Raises:
        BadArgument: The processor's output differs in shape between images of one size, or shows no part of them.
    """
    return view_of(Calibration(look, width, height))


def view_of(calibration: Calibration) -> View:
    """Return what a calibrated processor shows of an image.

    Raises:
        BadArgument: It shows no part.
    """
    tiles = []
    for row in range(len(calibration.black)):
        if calibration.inside[row].any():
            (left, right, columns), (top, bottom, rows) = map(_extent, calibration.axes(row))
            tiles.append(Tile(left, top, right, bottom, columns, rows))
    if not tiles:
        raise _unmeasurable("constant", "values that depend on the image")
    return View(calibration.width, calibration.height, tuple(tiles), calibration.tokens)


def _unmeasurable(output: str, expected: str) -> BadArgument:
    cure = "use the processor files that were published with the weights"
    return BadArgument("output of the image processor", output, expected, cure)


def distinct(positions: Floats) -> Floats:
    """Return the distinct positions in order; those of one column differ by rounding alone."""
    ordered = np.sort(positions)
    steps = np.diff(ordered)
    usual = (ordered[-1] - ordered[0]) / max(1, min(len(ordered) - 1, 8192))
    begins = np.concatenate([[True], steps > max(1e-6, usual / 8)])
    sums, counts = (
        np.add.reduceat(ordered.astype(np.float64), np.flatnonzero(begins)),
        np.diff(np.append(np.flatnonzero(begins), len(ordered))),
    )
    return np.asarray(sums / counts, np.float32)


def line(positions: Floats) -> tuple[float, float]:
    """Return position of the first of equally spaced columns and distance of two, by a fit to the inner ones."""
    if len(positions) < 2:
        return float(positions[0]), 1.0
    ends = EDGE if len(positions) > 4 * EDGE else 0
    inner = slice(ends, len(positions) - ends)
    distance, first = np.polyfit(np.arange(len(positions))[inner], positions[inner].astype(np.float64), 1)
    return float(first), float(distance)


def _extent(columns: Floats) -> tuple[float, float, float]:
    """Return first and last edge of columns at these positions, 0 to 1, and how many there are from 0 to 1."""
    first, distance = line(columns)
    last = first + distance * (len(columns) - 0.5)
    return max(0.0, first - distance / 2), min(1.0, last), 1 / distance


def position_index(positions: Floats) -> npt.NDArray[np.int64]:
    """Return the number of its column for each position."""
    columns = distinct(positions)
    middles = (columns[1:] + columns[:-1]) / 2
    return np.asarray(np.searchsorted(middles, positions), np.int64)
