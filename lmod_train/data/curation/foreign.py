"""Photographs that are not eyes, for the probes that ask a model about them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.links import check_links_below
from lmod_train.core.raw import read_bytes
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.guard import guarded
from lmod_train.data.curation.image_files import open_image, shrink, write_image
from lmod_train.data.curation.sample_keys import unusable_key

NAME = "foreign"
"""Folder below ``images/``, in the place where other images have the name of their source."""

SHIPPED = ("china.jpg", "flower.jpg")
"""The photographs that scikit-learn ships: a temple and a flower, CC BY 2.0."""

LICENCE, UNKNOWN = "CC BY 2.0 (danielbuechele; vultilion)", "not known"
"""Of `SHIPPED`, with the photographers it asks to name, and of photographs that a user brings."""

ENDINGS = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp"}


@dataclass(frozen=True, slots=True)
class Photograph:
    """A foreign photograph as it was curated.

    Attributes:
        file: Name of its raw file.
        raw_sha256: Of that file.
        image: Path relative to the curated folder.
        sha256: Of the curated image.
        scale: Curated pixels per original pixel.
        licence: Under which it came.
    """

    file: str
    raw_sha256: str
    image: str
    sha256: str
    scale: float
    licence: str = UNKNOWN


def photographs_in(folder: Path | None) -> list[Path]:
    """Return the photographs of a folder in name order (subfolders are not looked into), or the shipped ones.

    Args:
        folder: None takes those of `SHIPPED` that are installed.

    Raises:
        LeavesFolder: A link in it leads out of it, and links are not allowed.
        BadArgument: There is no such folder, it holds no photograph, or two share a stem.
    """
    if folder is None:
        return [_shipped() / name for name in SHIPPED if (_shipped() / name).is_file()]
    expected, cure = (
        "a folder of photographs that are not eyes",
        "name another, or leave it out for two that come along",
    )
    if not folder.is_dir():
        raise BadArgument("foreign", str(folder), expected, cure)
    check_links_below(folder)
    files = sorted(f for f in folder.iterdir() if f.suffix.lower() in ENDINGS and not f.name.startswith("."))
    if not files:
        raise BadArgument("foreign", str(folder), f"{expected} ({', '.join(sorted(ENDINGS))})", cure)
    stems = [f.stem for f in files]
    if len(set(stems)) < len(stems):
        twice = sorted({s for s in stems if stems.count(s) > 1})
        raise BadArgument("foreign", twice, "each name once, whatever its ending", "rename one of them")
    return files


def _shipped() -> Path:
    spec = find_spec("sklearn")
    return Path(spec.origin).parent / "datasets" / "images" if spec and spec.origin else Path()


def fingerprint(files: Iterable[Path]) -> dict[str, str]:
    """Return file name -> SHA-256: what must be the same for a curation to be continued; empty for what is no file."""
    return {f.name: _sha256(f) for f in files}


def _sha256(file: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(file)).hexdigest()
    except (OSError, ValueError):
        return ""


def curate_foreign(
    files: Sequence[Path], out: Path, longest_side: int | None
) -> tuple[list[Photograph], list[Dropped]]:
    """Shrink every photograph as the sources' images are and write it to ``images/foreign/<stem>.jpg``.

    Args:
        files: Of `photographs_in`.
        out: The curated folder.
        longest_side: Pixels; None keeps originals.

    Returns:
        The photographs, and those that could not be read.

    Raises:
        BadArgument: None could be read.
    """
    curated, dropped = [], []
    for file in files:
        sample = Sample(NAME, file.stem, "", file, "", "")
        problem = unusable_key(sample)
        opened = problem if problem is not None else guarded(sample, partial(open_image, sample))
        if isinstance(opened, Dropped):
            dropped.append(opened)
            continue
        small, scale = shrink(opened.image, longest_side)
        image = f"images/{NAME}/{file.stem}.jpg"
        licence = LICENCE if file.name in SHIPPED and file.parent == _shipped() else UNKNOWN
        curated.append(Photograph(file.name, opened.sha256, image, write_image(out / image, small), scale, licence))
    if not curated:
        cure = "`--foreign FOLDER` names a folder of photographs that are not eyes"
        raise BadArgument("foreign", [str(f) for f in files], "at least one readable photograph", cure)
    return curated, dropped


def note(folder: Path | None, shown: Iterable[Photograph]) -> dict[str, Any]:
    """Return the manifest's account of the photographs shown; whether they may be passed on is known of ours only."""
    return {
        "from": str(folder) if folder else f"scikit-learn {version('scikit-learn')}",
        "licence": UNKNOWN if folder else LICENCE,
        "redistributable": folder is None,
        "files": {p.image: {"file": p.file, "sha256": p.raw_sha256} for p in shown},
    }
