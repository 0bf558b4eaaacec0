"""Phantoms in the folder layouts of X-PCR: drawn eyes with questions of six stages, and cases with two images."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, write_beside
from lmod_train.core.types import Patient
from lmod_train.extensions.xpcr.drawn import Drawing, Drawn, draw_laser, draw_lens, draw_surgery, one_of
from lmod_train.phantom.eye import DIAGNOSES, Eye, draw_eye
from lmod_train.phantom.fundus import render as render_fundus
from lmod_train.phantom.oct import STAGES, Scan, draw_oct_eye, draw_scan
from lmod_train.phantom.oct import render as render_oct
from lmod_train.phantom.pair import SPOTS, TwoImages, draw_pair, photograph, section
from lmod_train.phantom.shots import draw_all, eye_seed, note
from lmod_train.phantom.truth import Truth

_SOURCE = "xpcr"

_SPLITS = (("train", 0.8), ("val", 0.9), ("test", 1.0))

Layout = Literal["hub", "json", "card"]


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a drawn eye with its place in the release.

    Attributes:
        id: Id in the release.
        number: Number of the row among all.
        modality: ``CFP``, ``OCT``, ``SLO``, ``EP`` (photograph of the lens) or ``SS`` (frame of surgery).
        place: Path of the image in the release.
        group: Group as the source yields it.
        drawn: What is drawn.
    """

    id: str
    number: int
    modality: str
    place: str
    group: str
    drawn: Eye | Scan | Drawing

    @property
    def questions(self) -> list[Drawn]:
        """Questions with their truth."""
        drawn = self.drawn
        if isinstance(drawn, Eye):
            return list(photograph_questions(drawn))
        return list(scan_questions(drawn) if isinstance(drawn, Scan) else drawn.questions)


@dataclass(frozen=True, slots=True)
class _File:
    """An image to write."""

    row: Row
    path: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """Files to write."""
        return (self.path,)


def truths(n: int, seed: int) -> list[Truth]:
    """Return the truth of each row and case that `write` draws with the same options, without their questions.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> [(t.key, t.group, t.patient.laterality) for t in truths(2, seed=0)]
        [('cfp_000000', 'odir/2000', 'left'), ('oct_000000', 'oimhs/1', None)]
    """
    of_rows = [
        Truth(row.id, row.group, patient=Patient(laterality=_side(row.place) if row.modality == "CFP" else None))
        for row in rows(n, seed)
    ]
    return of_rows + [Truth(f"cases/{case.id}", f"cases/{case.id}") for case in cases(n // 4, seed)]


def rows(n: int, seed: int) -> list[Row]:
    """Return `n` rows, in turn a fundus photograph, a B-scan, a laser scan, a photograph of the lens and a frame.

    In the layout of X-PCR a photograph of the lens is one of the external eye (EP); laser scans (SLO) and frames of
    surgery (SS) are not among the released modalities.

    A patient has a fundus photograph of each eye, and an eye two B-scans; every fourth B-scan is beside the macular
    hole, and at most one of its three defects is drawn. Each image of the other modalities has its own patient.

    Raises:
        BadArgument: `n` is negative.
    """
    if n < 0:
        raise BadArgument("n", n, "0 or more images", "give a number from 0")
    return [_ROWS[number % len(_ROWS)](number, number // len(_ROWS), seed) for number in range(n)]


def _photograph(number: int, place: int, seed: int) -> Row:
    side = ("left", "right")[place % 2]
    eyes = (draw_eye(eye_seed(f"{_SOURCE} {k}", seed, place), DIAGNOSES[place % 4]) for k in range(100))
    eye = next(eye for eye in eyes if eye.laterality == side)
    patient = 2000 + place // 2
    path = f"CFP/12 ODIR-5K/Training Images/{patient}_{side}.jpg"
    return Row(f"cfp_{place:06d}", number, "CFP", path, f"odir/{patient}", eye)


def _scan(number: int, place: int, seed: int) -> Row:
    eye_number, scan_number = place // 2 + 1, place % 2
    eye = draw_oct_eye(eye_seed(f"{_SOURCE} oct", seed, eye_number), STAGES[eye_number % 4], "left")
    scan = draw_scan(eye_seed(f"{_SOURCE} scan", seed, place), eye, None if place % 4 == 3 else 0.0)
    one = (scan.dim, scan.shield is not None and not scan.dim)
    scan = replace(scan, shield=scan.shield if one[1] else None, blurred=scan.blurred and not any(one))
    path = f"OCT/48 OIMHS/Images/{eye_number}/{scan_number}.png"
    return Row(f"oct_{place:06d}", number, "OCT", path, f"oimhs/{eye_number}", scan)


def _laser(number: int, place: int, seed: int) -> Row:
    return _own(number, place, "SLO", "png", draw_laser(eye_seed(f"{_SOURCE} SLO", seed, place)))


def _lens(number: int, place: int, seed: int) -> Row:
    return _own(number, place, "EP", "jpg", draw_lens(eye_seed(f"{_SOURCE} EP", seed, place)))


def _surgery(number: int, place: int, seed: int) -> Row:
    return _own(number, place, "SS", "png", draw_surgery(eye_seed(f"{_SOURCE} SS", seed, place)))


def _own(number: int, place: int, modality: str, kind: str, drawn: Drawing) -> Row:
    """Return a row whose image is a group of its own."""
    key = f"{modality.lower()}_{place:06d}"
    path = f"{modality}/drawn/{key}.{kind}"
    return Row(key, number, modality, path, path.lower(), drawn)


_ROWS: tuple[Callable[[int, int, int], Row], ...] = (_photograph, _scan, _laser, _lens, _surgery)


def _side(place: str) -> str:
    return Path(place).stem.rpartition("_")[2]


def write(out: Path, n: int, seed: int, size: int = 384, layout: Layout = "hub", workers: int = 2) -> None:
    """Draw `n` phantoms, and a quarter as many cases, below ``out/X-PCR``; existing images are kept.

    Args:
        out: Folder to write below.
        n: Number of images, from 0, besides the two of each case.
        seed: Seed, from 0; the same seed writes the same files.
        size: Side of the images in pixels, from 32; laser scans are wider, and frames of surgery lower.
        layout: ``hub`` for Parquet files with the images inside, ``json`` for a JSON table beside image files, ``card``
            for the layout of the data set's card.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    drawn = rows(n, seed)
    if size < 32:
        raise BadArgument("size", size, "at least 32 pixels", "use 120 or more to recognise anything")
    root = Path(out) / "X-PCR"
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size, "layout": layout})
    write_cases(root / "multimodal_cases", cases(n // 4, seed), size, workers)
    if layout == "hub":
        _write_parquet(root / "data", drawn, size)
        return
    images = root / "images" if layout == "card" else root
    files = [_File(row, images / row.place) for row in drawn]
    draw_all(files, _Writer(size), _SOURCE, workers)
    for name, part in _tables(root, drawn, layout):
        make_folder(name.parent)
        with write_beside(name) as beside:
            beside.write_text(json.dumps([table_row(row) for row in part], indent=1), encoding="utf-8")


def _tables(root: Path, drawn: Sequence[Row], layout: Layout) -> Iterator[tuple[Path, Sequence[Row]]]:
    """Yield each JSON table with its rows."""
    if layout == "json":
        yield root / "X-PCR.json", drawn
        return
    first = 0
    for name, end in _SPLITS:
        last = round(end * len(drawn))
        yield root / "annotations" / f"{name}.json", drawn[first:last]
        first = last


def table_row(row: Row) -> dict[str, Any]:
    """Return a row as a table of the release has it, without the image."""
    pairs = [question.row(1000 * row.number + place) for place, question in enumerate(row.questions)]
    return {"id": row.id, "modality": row.modality, "image_path": row.place, "qa_pairs": pairs}


def image_file(row: Row, size: int) -> bytes:
    """Return the image of a row as the bytes of a file: JPEG for a photograph, PNG for a scan or a frame."""
    picture, buffer = _picture(row.drawn, size), io.BytesIO()
    picture.save(buffer, *(("JPEG",) if row.place.endswith(".jpg") else ("PNG",)))
    return buffer.getvalue()


def _picture(drawn: Eye | Scan | Drawing, size: int) -> Image.Image:
    if isinstance(drawn, Eye):
        return render_fundus(drawn, size)
    return render_oct(drawn, size) if isinstance(drawn, Scan) else drawn.picture(size)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Function that writes the image of a row, at a size in pixels."""

    size: int

    def __call__(self, file: _File) -> None:
        with write_beside(file.path) as beside:
            beside.write_bytes(image_file(file.row, self.size))


def _write_parquet(folder: Path, drawn: Sequence[Row], size: int) -> None:
    """Write two Parquet files with the images inside, row groups of 16; existing files are kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ("category", "question", "answer", "sub_label", "question_type")
    schema = pa.schema(
        [
            *((name, pa.string()) for name in ("id", "modality")),
            ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
            ("image_path", pa.string()),
            ("qa_pairs", pa.list_(pa.struct([(name, pa.string()) for name in texts]))),
        ]
    )
    make_folder(folder)
    half = (len(drawn) + 1) // 2
    for part, some in enumerate((drawn[:half], drawn[half:])):
        path = folder / f"train-{part:05d}-of-00002.parquet"
        if path.exists():
            continue
        full = [
            table_row(row) | {"image": {"bytes": image_file(row, size), "path": Path(row.place).name}} for row in some
        ]
        with write_beside(path) as beside:
            pq.write_table(pa.Table.from_pylist(full, schema=schema), beside, row_group_size=16)


PHOTOGRAPH, SECTION, TABLE = "cfp.jpg", "oct.png", "case.json"

_TRUTHS = tuple(product(SPOTS, (False, True), (False, True), (False, True), (False, True)))


@dataclass(frozen=True, slots=True)
class DrawnCase:
    """One case: id, number and truth."""

    id: str
    number: int
    pair: TwoImages

    @property
    def questions(self) -> list[Drawn]:
        """Questions with their truth."""
        return list(pair_questions(self.pair))

    @property
    def table(self) -> dict[str, Any]:
        """Content of the case's file."""
        images = [{"modality": "CFP", "file": PHOTOGRAPH}, {"modality": "OCT", "file": SECTION}]
        pairs = [q.row(10_000_000 + 100 * self.number + place) for place, q in enumerate(self.questions)]
        return {"id": self.id, "images": images, "qa_pairs": pairs}


def cases(n: int, seed: int) -> list[DrawnCase]:
    """Return `n` cases; of each 64, every combination of the five truths occurs once, in random order.

    Example:
        >>> [case.id for case in cases(2, seed=0)]
        ['case_001', 'case_002']
    """
    found = []
    for number in range(n):
        order = np.random.default_rng([seed, 22, number // len(_TRUTHS)]).permutation(len(_TRUTHS))
        raised, sick, hole, dark, dim = _TRUTHS[order[number % len(_TRUTHS)]]
        eye = eye_seed(f"{_SOURCE} case", seed, number)
        pair = draw_pair(eye, raised, retinopathy=sick, hole=hole, dark_photograph=dark, dark_scan=dim)
        found.append(DrawnCase(f"case_{number + 1:03d}", number, pair))
    return found


@dataclass(frozen=True, slots=True)
class _Folder:
    """A case to write."""

    case: DrawnCase
    path: Path
    size: int

    @property
    def files(self) -> tuple[Path, ...]:
        """Files to write; the table last."""
        return tuple(self.path / name for name in (PHOTOGRAPH, SECTION, TABLE))


def write_cases(folder: Path, drawn: Sequence[DrawnCase], size: int, workers: int = 0) -> None:
    """Write each case to ``<folder>/<id>/``; existing ones are kept.

    Args:
        folder: Folder of all cases.
        drawn: The cases; may be empty.
        size: Side of the images in pixels, from 16.
        workers: Number of processes to start; 0 works in this one.
    """
    draw_all([_Folder(case, folder / case.id, size) for case in drawn], _write, f"{_SOURCE} cases", workers)


def _write(folder: _Folder) -> None:
    pair, (first, second, table) = folder.case.pair, folder.files
    with write_beside(first) as beside:
        photograph(pair, folder.size).save(beside, format="JPEG", quality=92)
    with write_beside(second) as beside:
        section(pair, folder.size).save(beside, format="PNG")
    with write_beside(table) as beside:
        beside.write_text(json.dumps(folder.case.table, indent=1), encoding="utf-8")


# Questions of X-PCR's six stages about drawn photographs and B-scans, and those about pairs of them.
MANAGEMENT = {
    "normal": "Routine review",
    "cataract": "Refer for cataract surgery",
    "glaucoma": "Refer to a glaucoma clinic",
    "diabetic retinopathy": "Refer to a retina clinic",
}
"""Diagnosis -> decision, for drawings only: no clinical recommendation."""


def photograph_questions(eye: Eye) -> Iterator[Drawn]:
    """Yield the questions about a fundus photograph: one of each stage, and a second one of localisation."""
    hazy = eye.haze > 0.3
    yield Drawn(
        "IQA",
        "quality",
        "Is this colour fundus photograph of sufficient quality for clinical assessment?",
        one_of(
            "No, hidden by a haze" if hazy else "Yes, clearly visible",
            ("Yes, clearly visible", "No, hidden by a haze", "No, without any light", "No, doubled"),
        ),
    )
    left, right = ("In the left half", "In the right half")
    yield Drawn(
        "AL",
        "optic disc",
        "Where in the image is the optic disc?",
        one_of(left if eye.disc[0] < 0.5 else right, (left, right, "Outside the image")),
    )
    left, right = ("To its left", "To its right")
    yield Drawn(
        "AL",
        "fovea",
        "Where is the fovea, seen from the optic disc?",
        one_of(left if eye.fovea[0] < eye.disc[0] else right, (left, right, "Inside it")),
    )
    signs = {
        "normal": "None of these",
        "cataract": "A haze over the whole image",
        "glaucoma": "An optic cup of more than half the disc",
        "diabetic retinopathy": "Spots of blood and exudate",
    }
    yield Drawn("LC", "lesion", "Which sign does the image show?", one_of(signs[eye.diagnosis], tuple(signs.values())))
    yield Drawn("DD", "diagnosis", "What is the most likely diagnosis?", one_of(eye.diagnosis, tuple(MANAGEMENT)))
    counts = ("No spot", "6 to 13 spots", "14 to 20 spots", "More than 20 spots")
    number = len(eye.lesions)
    truth = counts[0] if not number else counts[1] if number < 14 else counts[2]
    yield Drawn("SG", "spots", "How many spots of blood and exudate are there?", one_of(truth, counts))
    decisions = tuple(MANAGEMENT.values())
    yield Drawn(
        "CD", "decision", "What is the most appropriate next step?", one_of(MANAGEMENT[eye.diagnosis], decisions)
    )


def scan_questions(scan: Scan) -> Iterator[Drawn]:
    """Yield the questions about a B-scan, one of each stage; the scan has at most one defect."""
    defects = {
        "Yes, clearly visible": not (scan.dim or scan.shield is not None or scan.blurred),
        "No, the signal is too weak": scan.dim,
        "No, a part is in shadow": scan.shield is not None,
        "No, too blurred": scan.blurred,
    }
    yield Drawn(
        "IQA",
        "quality",
        "Is this OCT scan of sufficient quality for clinical assessment?",
        one_of(next(word for word, there in defects.items() if there), tuple(defects)),
    )
    hole, through = scan.width > 0, scan.width > 0 and scan.eye.stage != "1"
    yield Drawn(
        "AL",
        "interrupted layer",
        "Which structure is interrupted?",
        one_of("The retina" if hole else "None of these", ("The retina", "The choroid", "The lens", "None of these")),
    )
    gaps = ("No gap", "A gap below an intact inner surface", "A gap through all layers of the retina")
    yield Drawn(
        "LC",
        "gap",
        "Which description fits the fovea?",
        one_of(gaps[2] if through else gaps[1] if hole else gaps[0], gaps),
    )
    names = ("macular hole", "no macular hole", "tumour of the choroid")
    yield Drawn("DD", "diagnosis", "What is the most likely diagnosis?", one_of(names[0] if hole else names[1], names))
    stages = ("no hole", *(f"stage {n}" for n in (1, 2, 3, 4)))
    truth = f"stage {scan.eye.stage}" if hole else stages[0]
    yield Drawn("SG", "stage", "Which stage has the macular hole?", one_of(truth, stages))
    steps = ("Routine review", "Review in a few weeks", "Refer to a surgeon", "Emergency today")
    step = steps[2] if through else steps[1] if hole else steps[0]
    yield Drawn("CD", "decision", "What is the most appropriate next step?", one_of(step, steps))


def pair_questions(pair: TwoImages) -> Iterator[Drawn]:
    """Yield the questions about a photograph (image 1) and a scan (image 2) of one eye, one of each kind."""
    spots = {place: f"The spot {place} of the fovea" for place in SPOTS}
    yield Drawn(
        "correspondence",
        "raised spot",
        "Image 1 shows four pale spots on the horizontal line through the fovea. Image 2 is a section along this line, "
        "from left to right. Which of the spots is raised?",
        one_of(spots[pair.raised], tuple(spots.values())),
    )
    both = {
        (True, True): "Diabetic retinopathy and a macular hole",
        (True, False): "Diabetic retinopathy without a macular hole",
        (False, True): "A macular hole without diabetic retinopathy",
        (False, False): "Neither diabetic retinopathy nor a macular hole",
    }
    found = both[pair.retinopathy, pair.hole]
    yield Drawn(
        "integration",
        "diagnosis",
        "Which diseases do the two images together show?",
        one_of(found, tuple(both.values())),
    )
    dark = {
        (True, False): "Image 1 alone",
        (False, True): "Image 2 alone",
        (True, True): "Both images",
        (False, False): "Neither image",
    }
    yield Drawn(
        "selection",
        "exposure",
        "Which image is too dark and should be taken again before it is relied on?",
        one_of(dark[pair.dark_photograph, pair.dark_scan], tuple(dark.values())),
    )
