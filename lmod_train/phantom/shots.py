"""Drawing of many phantoms in worker processes; each file appears complete or not at all."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TypeVar
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from openpyxl import Workbook
from PIL import Image
from tqdm import tqdm

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, write_beside, write_text
from lmod_train.core.processes import spawning
from lmod_train.core.raw import read_json
from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.phantom.eye import Eye
from lmod_train.phantom.fundus import cup_mask, disc_mask, render

FEW = 48
"""Number of drawings that take about as long in this process as in two whose start takes a second each."""

_CLOCK = re.compile(rb"(?<=W3CDTF\">)[^<]{10,40}(?=</dcterms:)")
"""Times of creation and of change in the properties of a workbook."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One photograph to draw.

    Attributes:
        eye: Truth of the eye.
        photograph: JPEG file to write.
        mask: Mask file to write, None for none.
        codes: Grey values of background, disc rim and cup in the mask.
    """

    eye: Eye
    photograph: Path
    mask: Path | None = None
    codes: tuple[int, int, int] = (0, 1, 2)


Drawn = TypeVar("Drawn")
Files = tuple[Path, ...]
"""Files of one drawing, in the order in which they are written."""


def eye_seed(source: str, seed: int, index: int) -> int:
    """Return a seed for one eye that differs from those of other sources, seeds and indices.

    It is below 2**48; larger seeds are reserved for the training of the small base, which must not see the same eyes.

    Example:
        >>> eye_seed("refuge", 0, 1) != eye_seed("eye_diseases", 0, 1)
        True
    """
    state = np.random.SeedSequence([seed, zlib.crc32(source.encode()), index]).generate_state(2, np.uint32)
    return (int(state[0]) << 32 | int(state[1])) % 2**48


def note(root: Path, drawn: Mapping[str, int | float | str]) -> None:
    """Store in `root` the options it is drawn with, so that a restart with other options cannot mix two datasets.

    Raises:
        BadArgument: The folder contains phantoms drawn with other options, or files that are no phantoms.
    """
    path = root / NOTE
    if path.exists():
        before = _noted(path)
        if before != dict(drawn):
            expected = f"phantoms drawn with {dict(drawn)}, but it contains phantoms drawn with {before}"
            raise BadArgument("out", str(root), expected, "name a new folder")
    elif root.is_dir() and any(root.iterdir()):  # its photographs would be taken for phantoms
        raise BadArgument("out", str(root), "a folder that is new, empty or contains phantoms", "name a new folder")
    write_text(path, json.dumps(dict(drawn), sort_keys=True) + "\n")


def _noted(path: Path) -> object:
    """Return the options that a folder was drawn with.

    Raises:
        BadArgument: Their file cannot be read.
    """
    try:
        return read_json(path)
    except ValueError as error:
        raise BadArgument("out", str(path), f"the options of phantoms ({error})", "name a new folder") from error


def take(shots: Sequence[Shot], size: int, source: str, workers: int = 2) -> None:
    """Write every photograph and mask of an eye that does not exist yet, with a progress bar.

    Args:
        shots: Photographs to draw; may be empty.
        size: Side of the images in pixels.
        source: Name shown beside the progress bar.
        workers: Number of processes to start; 0 works in this one.
    """
    files = [(*([shot.mask] if shot.mask else []), shot.photograph) for shot in shots]
    draw_all(files, shots, partial(_take_one, size=size), source, workers)


def draw_all(
    files: Sequence[Files],
    drawings: Sequence[Drawn],
    draw: Callable[[Files, Drawn], None],
    source: str,
    workers: int = 2,
) -> None:
    """Call `draw` for every drawing of which a file is missing, with a progress bar on a terminal.

    Args:
        files: Files of each drawing; their folders are created.
        drawings: What to draw, small and picklable; may be empty.
        draw: A function of a module, or a `partial` of one (picklable); writes the files of one drawing atomically.
        source: Name shown beside the progress bar.
        workers: Number of processes to start; 0 works in this one, which also does up to `FEW` drawings by itself.
    """
    left = [pair for pair in zip(files, drawings, strict=True) if not all(p.exists() for p in pair[0])]
    for folder in {p.parent for own, _ in left for p in own}:
        make_folder(folder)
    done, words = len(drawings) - len(left), {"desc": f"phantoms of {source}", "unit": "eye"}
    bar = partial(tqdm, total=len(drawings), initial=done, disable=None, **words)  # None: only on a terminal
    if workers == 0 or len(left) <= FEW:
        for own, drawing in bar(left):
            draw(own, drawing)
        return
    # Spawned, not forked: a fork would copy locks held by threads of the caller (torch, tqdm).
    with ProcessPoolExecutor(workers, mp_context=spawning()) as pool:
        for _ in bar(pool.map(draw, *zip(*left, strict=True), chunksize=4)):
            pass


def save(picture: Image.Image, path: Path, **options: int) -> None:
    """Write a picture whole or not at all, in the format of the file's ending."""
    kind = {".jpg": "JPEG", ".bmp": "BMP"}.get(path.suffix, "PNG")
    with write_beside(path) as part:
        picture.save(part, format=kind, **({"quality": 92} if kind == "JPEG" else {}), **options)


def write_workbook(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], title: str = "Sheet1") -> None:
    """Write a workbook if it does not exist yet; the same rows make the same bytes, whatever the time is."""
    if path.exists():
        return
    book = Workbook(write_only=True)
    sheet = book.create_sheet(title)
    for row in (header, *rows):
        sheet.append(list(row))
    with BytesIO() as stream:
        book.save(stream)
        entries = ZipFile(stream)
        with write_beside(path) as beside, ZipFile(beside, "w", ZIP_DEFLATED) as timeless:
            for name in entries.namelist():
                content = _CLOCK.sub(b"1980-01-01T00:00:00Z", entries.read(name))
                timeless.writestr(ZipInfo(name), content, ZIP_DEFLATED)  # of 1980, as every ZipInfo without a date


def _take_one(files: Files, shot: Shot, size: int) -> None:
    """Write mask and photograph of one shot; the photograph last."""
    eye = shot.eye
    if shot.mask:
        background, rim, cup = shot.codes
        codes = np.where(disc_mask(eye, size), rim, background).astype(np.uint8)
        codes[cup_mask(eye, size)] = cup
        save(Image.fromarray(codes), shot.mask)
    save(render(eye, size), files[-1])
