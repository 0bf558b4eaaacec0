"""Files that devices write (volumes of OCT, DICOM, HEIC) as pictures, by the libraries of the extra ``devices``.

Pixels, side, position of the scan and scale are read. Names, numbers and dates of patients are in no file that is
written, and in no message: errors of the libraries are named by their class alone, as their texts may quote them.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from lmod_train.core.csv_files import write_csv
from lmod_train.core.files import make_folder, remove, remove_empty, write_beside
from lmod_train.core.links import rooted
from lmod_train.core.pixels import MOST_PIXELS, png_bytes
from lmod_train.core.raw import read_bytes
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.cells.image_names import DEVICES, Folder, Held, Scan
from lmod_train.data.curation.guard import guarded
from lmod_train.data.curation.image_files import used_bits
from lmod_train.data.curation.workers import local_crew, run
from lmod_train.data.sources.objects import HELD

FOLDER = "device_images"
"""Folder of a curated folder for the pictures of device files, until they are curated."""

SCANS = "scans.csv"
"""File of a curated folder with side, scale and position of each picture of a device file."""

MOST_PICTURES = 2_000
"""Pictures of a file."""

SECONDS = 120.0
"""That a file may take."""


def read_devices(out: Path, folder: Folder, files: Sequence[Path], page: str, workers: int) -> Folder:
    """Return a folder with the pictures of its device files, or what a file is and why it is not read.

    Args:
        out: Curated folder, which holds the pictures until they are curated.
        folder: The images.
        files: The device files that the table names.
        page: See `lmod_train.data.cells.image_names.paged`.
        workers: Number of processes that read them.
    """
    if not files:
        return folder
    jobs = [(file, out, n, page) for n, file in enumerate(files)]
    found: dict[Path, Held | str] = {}
    with local_crew(workers) as crew:
        for job in run(_read_all, jobs, crew, size=1, lost=_lost):
            found |= job
    rows = [
        (_below(file, folder), number, scan.side, *_rounded(scan.scale, 2), *_rounded(scan.position, 4))
        for file, held in sorted(found.items())
        if isinstance(held, Held)
        for number, scan in held.scans.items()
    ]
    heads = ("file", "page", "side", "x_micrometres", "y_micrometres", "start_x", "start_y", "end_x", "end_y")
    write_csv(out / SCANS, heads, rows)
    return replace(folder, held=found)


def _rounded(numbers: Sequence[float], n: int) -> list[object]:
    return [round(number, 4) for number in numbers] or [""] * n


def _below(file: Path, folder: Folder) -> str:
    return file.relative_to(folder.root).as_posix()


def remove_held(out: Path) -> None:
    """Remove the images that curation has read from files of its own: of device files, and of cells in base64."""
    remove(out / HELD)
    for file in (out / FOLDER).glob("*.parquet"):
        remove(file)
    if (out / FOLDER).is_dir():
        remove_empty(out / FOLDER)


_Job = tuple[Path, Path, int, str]


def _read_all(jobs: Sequence[_Job]) -> dict[Path, Held | str]:
    return {job[0]: _read(*job) for job in jobs}


def _lost(jobs: Sequence[_Job]) -> dict[Path, Held | str]:
    return {job[0]: f"{_kind(job[0])[0]}: the process that read it ended" for job in jobs}


def _kind(file: Path) -> Sequence[str]:
    return DEVICES[file.suffix.casefold()]


def _read(file: Path, out: Path, number: int, page: str) -> Held | str:
    what, module = _kind(file)
    if find_spec(module) is None:
        return f"{what}; `pip install 'lmod-train[devices]'` reads it"

    def read() -> list[Scan]:
        read_bytes(file)  # within the limits of image files
        with _quietly():
            scans = list(_READERS[module](file))
        if not scans or len(scans) > MOST_PICTURES or any(scan.pixels.size > 3 * MOST_PIXELS for scan in scans):
            raise ValueError
        return scans

    scans = guarded(Sample("devices", file.name, "", file, "", ""), read, SECONDS)
    if isinstance(scans, Dropped):
        return f"{what} that cannot be read ({scans.detail.partition(':')[0]})"
    n = len(scans)
    chosen = {"": [1] if n == 1 else [], "middle": [(n + 1) // 2], "all": list(range(1, n + 1))}
    numbers = [at for at in chosen.get(page) or [int(page or 0) if n > 1 else 1] if 0 < at <= n]
    target = out / FOLDER / f"{number:06d}.parquet"
    pictures = [png_bytes(_eight_bits(scans[at - 1].pixels)) for at in numbers]
    with rooted(out):
        make_folder(target.parent)
        with write_beside(target) as part:
            pq.write_table(pa.table({"image": pa.array(pictures, pa.binary())}), part, row_group_size=16)
    bare = {at: Scan(np.zeros(0), one.side, one.scale, one.position) for at in numbers for one in [scans[at - 1]]}
    return Held(target, n, bare)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep what libraries print, warn and log to themselves: it may quote names and dates."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _eight_bits(pixels: npt.NDArray[Any]) -> Image.Image:
    """Return pixels as 8-bit grey or RGB; greys of more bits keep the upper eight of the bits that the picture uses."""
    if pixels.dtype.kind == "f" and float(pixels.min()) >= 0 and float(pixels.max()) <= 1:
        pixels = pixels * 255
    pixels = np.rint(pixels).astype(np.int64)
    if pixels.min() < 0 or pixels.max() > 0xFFFF or pixels.ndim not in (2, 3):
        raise ValueError
    return Image.fromarray((pixels >> (used_bits(int(pixels.max())) - 8)).astype(np.uint8))


def _side(stated: object) -> str:
    return {"OD": "right", "R": "right", "OS": "left", "L": "left"}.get(str(stated or "").strip().upper(), "")


def _of_eyepy(file: Path) -> Iterator[Scan]:
    """Yield the B-scans of each volume of a Heidelberg file, and the SLO image after them."""
    if file.suffix.casefold() == ".e2e":
        with import_module("eyepy.io.he").HeE2eReader(file) as reader:
            volumes = list(reader.volumes)
    else:
        volumes = [import_module("eyepy").import_heyex_vol(file)]
    for volume in volumes:
        side = _side(volume.meta.get("laterality"))
        for scan in volume:
            ends = tuple(map(float, (*scan.meta["start_pos"], *scan.meta["end_pos"])))
            yield Scan(scan.data, side, (1000 * volume.scale_x, 1000 * volume.scale_y), ends)
        slo = volume.localizer
        yield Scan(slo.data, side, (1000 * slo.scale_x, 1000 * slo.scale_y))


def _of_oct_converter(file: Path) -> Iterator[Scan]:
    """Yield the B-scans of a Topcon, Zeiss or Optovue file, and its fundus image after them."""
    readers = import_module("oct_converter.readers")
    named = {".fda": "FDA", ".fds": "FDS", ".img": "IMG", ".oct": "POCT"}[file.suffix.casefold()]
    with _binary_fromstring():
        yield from _read_by(getattr(readers, named)(file))


@contextlib.contextmanager
def _binary_fromstring() -> Iterator[None]:
    """Give numpy the binary mode of `fromstring` back, which numpy 2.3 removed and oct-converter 0.7 calls."""
    before = np.fromstring
    np.fromstring = lambda data, dtype: np.frombuffer(data, dtype).copy()  # type: ignore[assignment]
    try:
        yield
    finally:
        np.fromstring = before


def _read_by(reader: Any) -> Iterator[Scan]:
    read = reader.read_oct_volume()
    for volume in read if isinstance(read, list) else [read]:
        spacing = list(volume.pixel_spacing or ())  # of width, slices and height
        scale = (1000 * float(spacing[0]), 1000 * float(spacing[2])) if len(spacing) == 3 else ()
        yield from (Scan(np.asarray(pixels), _side(volume.laterality), scale) for pixels in volume.volume)
    if hasattr(reader, "read_fundus_image"):
        with contextlib.suppress(ValueError):  # there is none
            fundus = reader.read_fundus_image()
            yield Scan(np.asarray(fundus.image), _side(fundus.laterality))


def _of_pydicom(file: Path) -> Iterator[Scan]:
    """Yield the frames of a DICOM file."""
    dataset = import_module("pydicom").dcmread(file)
    side = _side(dataset.get("ImageLaterality") or dataset.get("Laterality"))
    spacing = dataset.get("PixelSpacing")  # between rows, between columns
    scale = (1000 * float(spacing[1]), 1000 * float(spacing[0])) if spacing else ()
    frames = import_module("pydicom.pixels").pixel_array(dataset)
    several = int(dataset.get("NumberOfFrames") or 1) > 1
    inverted = dataset.get("PhotometricInterpretation") == "MONOCHROME1"
    for frame in frames if several else [frames]:
        yield Scan((1 << int(dataset.BitsStored)) - 1 - frame.astype(np.int64) if inverted else frame, side, scale)


def _of_heif(file: Path) -> Iterator[Scan]:
    """Yield the pictures of a HEIC file, upright."""
    for picture in import_module("pillow_heif").open_heif(file, convert_hdr_to_8bit=True):
        yield Scan(np.asarray(picture.to_pillow().convert("RGB")))


_READERS: Mapping[str, Callable[[Path], Iterator[Scan]]] = {
    "eyepy": _of_eyepy,
    "oct_converter": _of_oct_converter,
    "pydicom": _of_pydicom,
    "pillow_heif": _of_heif,
}
