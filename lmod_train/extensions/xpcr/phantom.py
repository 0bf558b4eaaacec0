"""Phantoms in the folder layouts of X-PCR: drawn eyes with questions of six stages, and cases with two images."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.files import make_folder, write_beside
from lmod_train.core.option_letters import both_or_neither
from lmod_train.core.package_data import package_data
from lmod_train.core.perturbations import perturbed
from lmod_train.core.types import Patient
from lmod_train.phantom.eye import DIAGNOSES, Eye, draw_eye
from lmod_train.phantom.eye_photograph import EyePhotograph, OuterEye, draw_eye_photograph, render
from lmod_train.phantom.fundus import render as render_fundus
from lmod_train.phantom.instruments import INSTRUMENTS, Point
from lmod_train.phantom.oct import STAGES, Scan, draw_oct_eye, draw_scan
from lmod_train.phantom.oct import render as render_oct
from lmod_train.phantom.pair import SPOTS, TwoImages, draw_pair, photograph, section
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note, save
from lmod_train.phantom.slo import scan, width_of
from lmod_train.phantom.surgery import Scene, draw_operation, draw_scene
from lmod_train.phantom.surgery import render as render_surgery
from lmod_train.phantom.truth import Truth

_SOURCE = "xpcr"


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


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms, and a quarter as many cases, below ``out/X-PCR``, the images inside the tables.

    Args:
        out: Folder to write below.
        n: Number of images, from 0, besides the two of each case.
        seed: Seed, from 0; the same seed writes the same files.
        size: Side of the images in pixels, from 32; laser scans are wider, and frames of surgery lower.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    drawn = rows(n, seed)
    if size < 32:
        raise BadArgument("size", size, "at least 32 pixels", "use 120 or more to recognise anything")
    root = Path(out) / "X-PCR"
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size, "layout": "hub"})
    write_cases(root / "multimodal_cases", cases(n // 4, seed), size, workers)
    _write_parquet(root / "data", drawn, size)


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


def write_cases(folder: Path, drawn: Sequence[DrawnCase], size: int, workers: int = 0) -> None:
    """Write each case to ``<folder>/<id>/``; existing ones are kept.

    Args:
        folder: Folder of all cases.
        drawn: The cases; may be empty.
        size: Side of the images in pixels, from 16.
        workers: Number of processes to start; 0 works in this one.
    """
    files = [tuple(folder / case.id / name for name in (PHOTOGRAPH, SECTION, TABLE)) for case in drawn]
    draw_all(files, drawn, partial(_write_case, size=size), f"{_SOURCE} cases", workers)


def _write_case(files: Files, case: DrawnCase, size: int) -> None:
    first, second, table = files
    save(photograph(case.pair, size), first)
    save(section(case.pair, size), second)
    with write_beside(table) as beside:
        beside.write_text(json.dumps(case.table, indent=1), encoding="utf-8")


# Questions of X-PCR's six stages about drawn photographs and B-scans, and those about pairs of them.
_DISEASES = ("normal", "cataract", "glaucoma", "diabetic retinopathy")


def photograph_questions(eye: Eye) -> tuple[Drawn, ...]:
    """Return the questions about a fundus photograph: one of each stage, and a second one of localisation."""
    disease, spots = _DISEASES.index(eye.diagnosis), len(eye.lesions)
    return (
        asked("photograph quality", eye.haze > 0.3),
        asked("disc", eye.disc[0] >= 0.5),
        asked("fovea", eye.fovea[0] >= eye.disc[0]),
        asked("sign", disease),
        asked("disease", disease),
        asked("spots", (spots > 0) + (spots > 13)),
        asked("photograph decision", disease),
    )


def scan_questions(scan: Scan) -> tuple[Drawn, ...]:
    """Return the questions about a B-scan, one of each stage; the scan has at most one defect."""
    hole, through = scan.width > 0, scan.width > 0 and scan.eye.stage != "1"
    return (
        asked("scan quality", 1 if scan.dim else 2 if scan.shield is not None else 3 * scan.blurred),
        asked("interrupted", 0 if hole else 3),
        asked("gap", hole + through),
        asked("hole", not hole),
        asked("hole stage", int(scan.eye.stage) if hole else 0),
        asked("scan decision", hole + through),
    )


def pair_questions(pair: TwoImages) -> tuple[Drawn, ...]:
    """Return the questions about a photograph (image 1) and a scan (image 2) of one eye, one of each kind."""
    spots = tuple(f"The spot {place} of the fovea" for place in SPOTS)
    dark = {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}
    return (
        asked("raised", list(SPOTS).index(pair.raised), options=spots),
        asked("diseases", 3 - 2 * pair.retinopathy - pair.hole),
        asked("dark", dark[pair.dark_photograph, pair.dark_scan]),
    )


FORM = "single_choice"
"""The question type of every question."""

QUARTERS = ("upper left quarter", "upper right quarter", "lower left quarter", "lower right quarter")

CLEAR = 0.015
"""Distance of a place from a border between two quarters, in units of the image's height, at least."""

DEFECTS: Mapping[str, str] = package_data(__file__, "words.yaml")["drawn"]["defects"]
"""Perturbation of an image, empty for none -> words of the options, of one length."""

_GRADE = 3  # of the perturbation: it disturbs reading, and hides nothing that is asked for


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question about a phantom; of the options, the first is right."""

    category: str
    sub_label: str
    text: str
    options: tuple[str, ...]

    def row(self, seed: int) -> dict[str, str]:
        """Return the question as the release writes it, its options in a random order."""
        options = [self.options[n] for n in np.random.default_rng(seed).permutation(len(self.options))]
        return {
            "category": self.category,
            "question": f"{self.text}\nOptions: {options}",
            "answer": self.options[0],
            "sub_label": self.sub_label,
            "question_type": FORM,
        }


class Drawing(Protocol):
    """A drawn row: its truth as questions, and its image."""

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        ...

    def picture(self, size: int) -> Image.Image:
        """Return the image, RGB, at a size in pixels."""
        ...


def asked(name: str, right: int, *words: str, options: tuple[str, ...] = ()) -> Drawn:
    """Return a question of `asked.yaml`.

    Args:
        name: Its name there.
        right: Place of the right option.
        *words: What its words name.
        options: Options, where the file has none.
    """
    category, label, text, *listed = package_data(__file__, "asked.yaml")[name]
    options = options or tuple(listed[0])
    return Drawn(category, label, text.format(*words), one_of(options[right], options))


def one_of(truth: str, others: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options with the right one first.

    Example:
        >>> one_of("left", ("left", "right"))
        ('left', 'right')
    """
    return (truth, *(other for other in others if other != truth))


def is_clear(x: float, y: float, width: float = 1.0) -> bool:
    """Return whether a place lies clearly in one quarter of an image of height 1 and a width."""
    return min(abs(x - width / 2), abs(y - 0.5)) > CLEAR


def place_question(view: str, structure: str, x: float, y: float, width: float = 1.0) -> Drawn:
    """Return the question in which quarter the centre of a structure lies; lengths are in units of the height."""
    text = f"In which quarter of the {view} does the centre of the {structure} lie?"
    return Drawn("AL", structure, text, one_of(QUARTERS[(x > width / 2) + 2 * (y > 0.5)], QUARTERS))


def draw_defect(rng: np.random.Generator) -> str:
    """Return one of `DEFECTS`, all equally likely."""
    return tuple(DEFECTS)[rng.integers(len(DEFECTS))]


def quality_question(view: str, defect: str) -> Drawn:
    """Return the question which defect an image has."""
    text = f"How good is this {view}? Which defect does it have?"
    return Drawn("IQA", "quality", text, one_of(DEFECTS[defect], tuple(DEFECTS.values())))


def with_defect(image: Image.Image, defect: str, seed: int) -> Image.Image:
    """Return the image with a defect; the seed decides the side of a shadow."""
    return perturbed(image, defect, _GRADE, seed) if defect else image


# Laser scans of the fundus in rows of X-PCR: quality, place of the disc, cup, glaucoma, its grade and the decision.
BANDS = ((0.20, 0.28), (0.32, 0.48), (0.61, 0.64), (0.66, 0.69), (0.71, 0.78), (0.82, 0.85))
"""Vertical cup-to-disc ratios that are drawn, clear of the borders of classes (0.3, 0.5, 0.7) and grades."""

_SHARES = (0.2, 0.2, 0.2, 0.1, 0.1, 0.2)

_CLASSES, _BORDERS, _ILL = (0.3, 0.5, 0.7), (0.5, 0.65, 0.8), 0.6

_VIEW = "laser scan"


@dataclass(frozen=True, slots=True)
class Laser:
    """Truth of one laser scan: the eye, whose cup decides findings, diagnosis, grade and decision, and a defect."""

    eye: Eye
    defect: str

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        ratio, wide = self.eye.cup_to_disc, width_of(1000) / 1000
        grade = sum(ratio > border for border in _BORDERS)
        x, y = wide * self.eye.disc[0], 0.5 + wide * (self.eye.disc[1] - 0.5)
        return (
            quality_question(_VIEW, self.defect),
            place_question(_VIEW, "optic disc", x, y, wide),
            asked("cup", sum(ratio > border for border in _CLASSES)),
            asked("glaucoma", ratio > _ILL),
            asked("cup grade", grade),
            asked("laser decision", grade),
        )

    def picture(self, size: int) -> Image.Image:
        """Return the scan, RGB, `size` pixels high."""
        return with_defect(Image.fromarray(scan(self.eye, size)).convert("RGB"), self.defect, self.eye.seed)


def draw_laser(seed: int) -> Laser:
    """Return the truth of one laser scan; quality, place and cup are independent of each other.

    Args:
        seed: From 0.
    """
    rng = np.random.default_rng([seed, 31])
    eyes = (draw_eye(eye_seed("xpcr laser", seed, k), "normal") for k in range(100))
    eye = next(eye for eye in eyes if is_clear(*eye.disc))
    low, high = BANDS[rng.choice(len(BANDS), p=_SHARES)]
    return Laser(_cupped(eye, float(rng.uniform(low, high))), draw_defect(rng))


def _cupped(eye: Eye, ratio: float) -> Eye:
    """Return the eye with another vertical cup-to-disc ratio, the cup inside the disc as before."""
    larger, nearer = ratio / eye.cup_to_disc, (1 - ratio) / (1 - eye.cup_to_disc)
    (x, y), (u, v) = eye.disc, eye.cup
    return replace(
        eye,
        diagnosis="glaucoma" if ratio > _ILL else "normal",
        cup=(x + (u - x) * nearer, y + (v - y) * nearer),
        cup_radii=(eye.cup_radii[0] * larger, eye.cup_radii[1] * larger),
        cup_to_disc=ratio,
    )


# Photographs of the lens in rows of X-PCR: quality, place and width of the pupil, opacity, cataract and decision.
LENS_HAZES = ((0.0, 0.0), (0.28, 0.36), (0.54, 0.62), (0.90, 1.0))
"""Haze of the lens in each grade."""

WIDTHS = ((0.30, 0.38), (0.54, 0.62))
"""Radius of a narrow and of a wide pupil, in radii of the iris."""

_SHARES_LENS = (0.4, 0.2, 0.2, 0.2)

_VIEW_LENS = "photograph"


@dataclass(frozen=True, slots=True)
class Lens:
    """Truth of one photograph of an eye from outside.

    Attributes:
        photograph: Photograph of one eye.
        grade: Grade of the opacity, 0 to 3.
        defect: Defect of the quality, one of `DEFECTS`.
    """

    photograph: EyePhotograph
    grade: int
    defect: str

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        (eye,) = self.photograph.eyes
        findings = both_or_neither("a lens opacity", "a wide pupil")
        return (
            quality_question(_VIEW_LENS, self.defect),
            place_question(_VIEW_LENS, "pupil", *_middle(eye)),
            asked("lens findings", (eye.haze > 0) + 2 * (eye.pupil > 0.5), options=findings),
            asked("cataract", self.grade > 0),
            asked("lens grade", self.grade),
            asked("lens decision", self.grade),
        )

    def picture(self, size: int) -> Image.Image:
        """Return the photograph, RGB, `size` pixels a side."""
        return with_defect(render(self.photograph, size), self.defect, self.photograph.seed)


def draw_lens(seed: int) -> Lens:
    """Return the truth of one photograph; quality, place, pupil and opacity are independent of each other.

    Args:
        seed: From 0.
    """
    rng = np.random.default_rng([seed, 32])
    view = "right" if rng.random() < 0.5 else "left"
    seeds = (eye_seed("xpcr lens", seed, k) for k in range(100))
    photographs = (draw_eye_photograph(own, "right" if view == "right" else "left", cataract=False) for own in seeds)
    photograph = next(one for one in photographs if is_clear(*_middle(one.eyes[0])))
    grade, wide = int(rng.choice(len(LENS_HAZES), p=_SHARES_LENS)), int(rng.integers(2))
    haze, pupil = (float(rng.uniform(*span)) for span in (LENS_HAZES[grade], WIDTHS[wide]))
    eye = replace(photograph.eyes[0], haze=haze, pupil=pupil)
    return Lens(replace(photograph, eyes=(eye,)), grade, draw_defect(rng))


def _middle(eye: OuterEye) -> tuple[float, float]:
    """Return the centre of the pupil."""
    return eye.x + eye.width * eye.gaze[0], eye.y + eye.width * eye.stretch * eye.gaze[1]


# Frames of cataract surgery in rows of X-PCR: quality, pupil, instruments, state and opacity of the lens, step.
SURGERY_HAZES = ((0.0, 0.0), (0.22, 0.28), (0.50, 0.58), (0.85, 0.95))
"""Haze of the natural lens in each grade."""

_IMPLANTED, _SHARES_SURGERY, _WIDE = 0.35, (0.12, 0.28, 0.30, 0.30), 4 / 3

_VIEW_SURGERY = "frame"


@dataclass(frozen=True, slots=True)
class Surgery:
    """Truth of one frame of surgery.

    Attributes:
        scene: What is drawn.
        named: The two instruments that are asked for.
        grade: Grade of the opacity in the pupil, 0 to 3; 0 with an implanted lens.
        defect: Defect of the quality, one of `DEFECTS`.
    """

    scene: Scene
    named: tuple[str, str]
    grade: int
    defect: str

    @property
    def questions(self) -> tuple[Drawn, ...]:
        """Questions with their truth, one of each stage."""
        here = {instrument.kind for instrument in self.scene.instruments}
        there, implanted = [name in here for name in self.named], bool(self.scene.lens)
        findings = both_or_neither(*self.named)
        return (
            quality_question(_VIEW_SURGERY, self.defect),
            place_question(_VIEW_SURGERY, "pupil", *_middle_surgery(self.scene.pupil), _WIDE),
            asked("instruments", there[0] + 2 * there[1], *self.named, options=findings),
            asked("lens", implanted),
            asked("surgery grade", self.grade),
            asked("surgery step", 0 if implanted else max(self.grade, 1)),
        )

    def picture(self, size: int) -> Image.Image:
        """Return the frame, RGB, `size` pixels wide or up to 3 less, as the width is a multiple of 4."""
        return with_defect(render_surgery(self.scene, size - size % 4), self.defect, self.scene.seed)


def draw_surgery(seed: int) -> Surgery:
    """Return the truth of one frame; quality, place, instruments and lens are independent of each other.

    Each of the two instruments that are asked for is in every second frame, and a third one in half of the frames.

    Args:
        seed: From 0.
    """
    rng = np.random.default_rng([seed, 33])
    first, second, third = (INSTRUMENTS[n] for n in rng.permutation(len(INSTRUMENTS))[:3])
    kinds = [kind for kind in (first, second, third) if rng.random() < 0.5]
    implanted = bool(rng.random() < _IMPLANTED)
    grade = 0 if implanted else int(rng.choice(len(SURGERY_HAZES), p=_SHARES_SURGERY))
    order = [kinds[n] for n in rng.permutation(len(kinds))]
    scenes = (_scene(eye_seed("xpcr surgery", seed, k), order, implanted) for k in range(100))
    scene = next(scene for scene in scenes if is_clear(*_middle_surgery(scene.pupil), _WIDE))
    haze = float(rng.uniform(*SURGERY_HAZES[grade]))
    return Surgery(replace(scene, haze=0.0 if implanted else haze), (first, second), grade, draw_defect(rng))


def _scene(seed: int, kinds: list[str], implanted: bool) -> Scene:
    return draw_scene(seed, draw_operation(seed), kinds, lens=implanted)


def _middle_surgery(ring: tuple[Point, ...]) -> Point:
    """Return the centre of an outline, the middle of its extent."""
    low, high = np.min(ring, axis=0), np.max(ring, axis=0)
    return float(low[0] + high[0]) / 2, float(low[1] + high[1]) / 2
