"""Phantoms in the folder layout of Harvard FairSeg: one npz file per eye, a tenth with the older array names."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from lmod_train.core.files import write_beside, write_text
from lmod_train.core.types import Patient
from lmod_train.phantom.checks import check_count, check_size
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note
from lmod_train.phantom.slo import CUP, RIM, scan, structures
from lmod_train.phantom.truth import Truth, boxes_of

_SOURCE = "fairseg"
_FOLDER = "FairSeg"
_SUMMARY = ("age", "gender", "race", "ethnicity", "language", "maritalstatus")
_RACES = (2, 3, 7)  # Asian, Black, White in files with the older array names
_UNKNOWN = 0.08  # share of each code that may be -1
_YOUNGEST, _OLDEST = 6, 91  # years: every age group of the benchmark, with children


@dataclass(frozen=True, slots=True)
class _Person:
    """Demographics in the publisher's codes, -1 if unknown; `age` in years."""

    age: int
    gender: int
    race: int
    ethnicity: int
    language: int
    maritalstatus: int


@dataclass(frozen=True, slots=True)
class _File:
    """An eye to draw, with its demographics; `pid` is 0 in files with the current array names."""

    eye: Eye
    person: _Person
    pid: int
    path: Path


def truths(n: int, seed: int, size: int = 128) -> list[Truth]:
    """Return the truth of each of `n` files, from ``data_00001``, with one box each for disc and cup.

    Cups are large (as in glaucoma) in every second eye; the dataset has no such label. Every tenth file has the older
    array names, a patient number, and the age in days. Age and sex are sometimes unknown. Demographics are not visible
    in the image.

    Args:
        n: Number of files, from 0.
        seed: Seed, from 0.
        size: Height of the images in pixels, the unit of the boxes.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> first = truths(1, seed=0)[0]
        >>> first.key, first.group, [structure for structure, _ in first.boxes]
        ('data_00001', 'data_00001', ['optic disc', 'optic cup'])
    """
    found = []
    for file in _files(Path(), n, seed):
        person, key = file.person, file.path.stem
        codes = structures(file.eye, size)
        extents = (("optic disc", codes >= RIM), ("optic cup", codes == CUP))
        found.append(
            Truth(
                key=key,
                group=str(file.pid) if file.pid else key,
                boxes=boxes_of(extents),
                patient=Patient(
                    age=float(person.age) if person.age >= 0 else None, sex={0: "female", 1: "male"}.get(person.gender)
                ),
            )
        )
    return found


def write(out: Path, n: int, seed: int, size: int = 128, workers: int = 2) -> None:
    """Draw `n` eyes to ``out/FairSeg/All/data_00001.npz`` and on, with a summary; existing files are kept.

    Args:
        out: Folder to write below.
        n: Number of files, from 0.
        seed: Seed, from 0; the same seed writes the same files.
        size: Height in pixels, from 16; the width is 664/512 of it.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    root = Path(out) / _FOLDER
    files = _files(root / "All", n, seed)
    check_size(size)
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size})
    _write_summary(root / "ReadMe" / "data_summary.csv", files)
    draw_all([(file.path,) for file in files], files, partial(_draw, size=size), _SOURCE, workers)


def _files(folder: Path, n: int, seed: int) -> list[_File]:
    """Return the random truth of every file."""
    check_count(n, "files")
    numbers = (
        np.random.default_rng([seed, n, 3]).permutation(n) + 4000
    )  # patient numbers, in another order than the files
    found = []
    for index in range(n):
        own = eye_seed(_SOURCE, seed, index)
        rng = np.random.default_rng([own, 1])
        eye = draw_eye(own, "glaucoma" if rng.random() < 0.5 else "normal")
        pid = int(numbers[index]) if index % 10 == 9 else 0
        found.append(_File(eye, _draw_person(rng), pid, folder / f"data_{index + 1:05d}.npz"))
    return found


def _draw_person(rng: np.random.Generator) -> _Person:
    """Return random demographics, independent of the eye."""
    unknown = rng.random(5) < _UNKNOWN
    codes = [int(rng.integers(0, most)) for most in (2, 2, 3, 5)]  # gender, ethnicity, language, marital status
    gender, ethnicity, language, marital = (-1 if u else c for u, c in zip(unknown[1:], codes, strict=True))
    age = -1 if unknown[0] else int(rng.integers(_YOUNGEST, _OLDEST + 1))
    return _Person(age, gender, int(rng.integers(0, 3)), ethnicity, language, marital)


def _draw(files: Files, file: _File, size: int) -> None:
    """Write one file: image, signed mask, and 0-d arrays."""
    image, codes = scan(file.eye, size), -structures(file.eye, size).astype(np.int8)
    person = file.person
    arrays: Mapping[str, object]
    if file.pid:
        arrays = {
            "fundus_slo": image,
            "disc_cup": codes,
            "pid": file.pid,
            "age": float(person.age * 365 if person.age >= 0 else -1),
            "gender": person.gender,
            "race": _RACES[person.race],
            "hispanic": person.ethnicity,
            "language": person.language,
            "maritalstatus": person.maritalstatus,
        }
    else:
        listed = {name: getattr(person, name) for name in _SUMMARY}
        arrays = {"slo_fundus": image, "disc_cup_mask": codes, **listed, "age": float(person.age)}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{name: np.array(value) for name, value in arrays.items()})  # type: ignore[arg-type]
    with write_beside(files[0]) as beside:
        beside.write_bytes(buffer.getvalue())


def _write_summary(path: Path, files: Sequence[_File]) -> None:
    """Write the summary table of all files, if it does not exist yet."""
    if path.exists():
        return
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("filename", *_SUMMARY))
    rows.writerows((f.path.name, *(getattr(f.person, name) for name in _SUMMARY)) for f in files)
    write_text(path, text.getvalue())
