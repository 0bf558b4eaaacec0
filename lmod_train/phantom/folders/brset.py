"""Phantoms in the folder layout of BRSET, with visible conditions, grades, exposure, age and sex."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from lmod_train.core.files import write_beside
from lmod_train.core.types import Patient
from lmod_train.phantom.canvas import Canvas, ellipse
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.folders.brset_cases import Case, cases, eye_of
from lmod_train.phantom.folders.brset_table import ANATOMY, MISSING, published_rows, row, write_table
from lmod_train.phantom.frame import frame_for, photograph
from lmod_train.phantom.shots import draw_all, note
from lmod_train.phantom.signs import SIGNS, paint_signs
from lmod_train.phantom.truth import Truth

_SOURCE = "brset"
_FOLDER = Path("physionet.org") / "files" / "brazilian-ophthalmological" / "1.0.1"  # as wget leaves it
_PHOTOGRAPHS = "fundus_photos"
_ASPECT = {"Canon CR": 2672 / 2056, "NIKON NF5050": 2984 / 2304}


def truths(n: int, seed: int) -> list[Truth]:
    """Return the truth of each photograph that `write` draws with the same options, in the table's order.

    Example:
        >>> first = truths(3, seed=0)[0]
        >>> first.key, first.group, sorted(first.labels)[:2], first.boxes
        ('img00001', '1', ['abnormal macula', 'abnormal optic disc'], ())
    """
    return [_truth(case) for case in cases(n, seed) if case.taken]


def _truth(case: Case) -> Truth:
    names = ["diabetic retinopathy", "macular edema", *SIGNS, *ANATOMY]
    labels = {name: "yes" if name in case.found else "no" for name in names}
    if "optic_disc" in case.stray:
        del labels["abnormal optic disc"]
    poor = [name for name in case.poor if not (name == "focus" and "focus" in case.stray)]
    quality = "Inadequate" if case.poor else "Adequate"
    return Truth(
        key=f"img{case.image:05d}",
        group=str(case.patient),
        labels={**labels, "icdr": str(case.icdr), "sdrg": str(case.sdrg)},
        patient=Patient(
            age=float(case.age) if case.age_listed else None,
            sex=case.sex,
            laterality=draw_eye(case.seed, "normal").laterality,
            camera=case.camera,
            quality=f"{quality} ({', '.join(poor)})" if poor else quality,
        ),
    )


def portrait(case: Case, size: int) -> Image.Image:
    """Return the photograph of a case: RGB, `size` pixels high and about 1.3 times as wide, depending on the camera.

    In addition to the signs of `eye_of`, it shows a bright ring around the fovea that fades with age until 60.
    """
    eye = eye_of(case)
    frame = frame_for(round(size * _ASPECT[case.camera]), size, eye.seed)
    picture = photograph(eye, frame)
    place = (frame.left, frame.top, frame.left + frame.side, frame.top + frame.side)
    canvas = Canvas(picture.crop(place), eye)
    if case.age < 60:
        ring = ellipse(eye.fovea, (0.05, 0.042))
        canvas.paint(canvas.lines([([*ring, ring[0]], 0.008)], soft=0.002), (1.0, 0.85, 0.6), 0.8 * (1 - case.age / 60))
    square = paint_signs(canvas.picture, eye, case.found & set(SIGNS), case.seed)
    if "artifacts" in case.poor:
        square = _dusty(square, eye)
    picture.paste(square, place)
    return picture


def _dusty(picture: Image.Image, eye: Eye) -> Image.Image:
    """Return the picture with dust on the lens: pale, blurred round spots."""
    rng = np.random.default_rng([eye.seed, 11])
    canvas = Canvas(picture, eye)
    spots = [
        ((x, y), (r, r), 0.0)
        for x, y, r in zip(*rng.uniform(0.2, 0.8, (2, 7)), rng.uniform(0.015, 0.04, 7), strict=True)
    ]
    canvas.paint(canvas.ellipses(spots, soft=0.008), (0.80, 0.82, 0.95), 0.6)
    return canvas.picture


@dataclass(frozen=True, slots=True)
class _Take:
    """One photograph to write: of a case, or noise without a case."""

    photograph: Path
    case: Case | None = None
    seed: int = 0

    @property
    def files(self) -> tuple[Path, ...]:
        """Files to write."""
        return (self.photograph,)


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms and their table below ``out/physionet.org/files/...``; existing files are kept.

    Args:
        out: Folder to write below.
        n: Number of photographs, from 0; the table has some more rows (see `cases`).
        seed: Seed, from 0; the same seed writes the same files.
        size: Height in pixels, from 16; the cameras differ a little in width.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    drawn = cases(n, seed)
    frame_for(size, size, 0)  # raises on an invalid size before anything is written
    root = Path(out) / _FOLDER
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size})
    rows = []
    for case in drawn:
        age, side = (float(case.age) if case.age_listed else None), draw_eye(case.seed, "normal").laterality
        who = (case.image, case.patient, case.camera, age, case.sex, side)
        rows.append({**row(*who, case.found, case.icdr, case.sdrg, case.poor), **case.stray})
    takes = [_Take(root / _PHOTOGRAPHS / f"img{case.image:05d}.jpg", case) for case in drawn if case.taken]
    _write(root, rows, takes, partial(_portray, size=size), workers)


def write_counts(out: Path, seed: int, workers: int = 0) -> None:
    """Write a dataset with the size and class counts of the published one and images of noise, to test counts.

    `published_rows` states which counts are exact. The 16,259 photographs are 16 x 16 pixels, all different.

    Args:
        out: Folder to write below, not that of `write`.
        seed: Seed of the assignment of labels, from 0.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: The folder contains other phantoms.
    """
    root = Path(out) / _FOLDER
    note(root, {"source": _SOURCE, "table": "published counts", "seed": seed})
    rows = published_rows(seed)
    present = [number for number in range(1, len(rows) + 1) if number not in MISSING]
    _write(
        root,
        rows,
        [_Take(root / _PHOTOGRAPHS / f"img{number:05d}.jpg", None, number) for number in present],
        _scribble,
        workers,
    )


def _write(
    root: Path,
    rows: Sequence[Mapping[str, str]],
    takes: Sequence[_Take],
    draw: Callable[[_Take], None],
    workers: int,
) -> None:
    """Write the table, the other files beside it, and the photographs."""
    (root / _PHOTOGRAPHS).mkdir(parents=True, exist_ok=True)
    write_table(root / "labels_brset.csv", rows)
    for name, text in (
        ("LICENSE.txt", "Drawn phantoms, no photographs.\n"),
        (f"{_PHOTOGRAPHS}/index.html", "<html/>\n"),
    ):
        with write_beside(root / name) as beside:
            beside.write_text(text, encoding="utf-8")
    draw_all(takes, draw, _SOURCE, workers)


def _portray(take: _Take, size: int) -> None:
    """Write the photograph of a case."""
    assert take.case is not None  # set by `write`
    picture = portrait(take.case, size)
    with write_beside(take.photograph) as beside:
        picture.save(beside, format="JPEG", quality=92)


def _scribble(take: _Take) -> None:
    """Write an image of coarse noise that depends on the seed."""
    blocks = np.random.default_rng([take.seed, 12]).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    picture = Image.fromarray(np.kron(blocks, np.ones((4, 4, 1), dtype=np.uint8)))
    with write_beside(take.photograph) as beside:
        picture.save(beside, format="JPEG", quality=92)
