"""Phantoms in the three folder layouts in which ORIGA is distributed."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.io import savemat

from lmod_train.core.files import write_beside
from lmod_train.core.types import Patient
from lmod_train.phantom.eye import Eye, draw_eye
from lmod_train.phantom.frame import Frame, frame_for, photograph
from lmod_train.phantom.fundus import cup_mask, disc_mask
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note, save, write_workbook
from lmod_train.phantom.truth import Truth, extent
from scripts.base.masks import place

Layout = Literal["kaggle", "detection", "original"]

_SOURCE = "origa"
_ANNOTATIONS = "Semi-automatic-annotations"


def eyes(n: int, seed: int) -> list[tuple[str, Eye]]:
    """Return number and eye of each of `n` phantoms; numbers run from ``001`` and do not depend on the label."""
    sick = np.arange(n) < round(n / 2)
    np.random.default_rng([seed, n]).shuffle(sick)
    return [
        (f"{i + 1:03d}", draw_eye(eye_seed(_SOURCE, seed, i), "glaucoma" if ill else "normal"))
        for i, ill in enumerate(sick.tolist())
    ]


def truths(n: int, seed: int, size: int = 384, layout: Layout = "kaggle") -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options."""
    found = []
    for number, eye in eyes(n, seed):
        frame = _frame(eye, size)
        masks = {"optic disc": disc_mask(eye, frame.side), "optic cup": cup_mask(eye, frame.side)}
        found.append(
            Truth(
                key=number,
                group=number,
                labels={"glaucoma": "yes" if eye.diagnosis == "glaucoma" else "no"},
                boxes=tuple((name, extent(place(mask, frame))) for name, mask in masks.items() if mask.any()),
                patient=Patient() if layout == "original" else Patient(laterality=eye.laterality),
            )
        )
    return found


def write(out: Path, n: int, seed: int, size: int = 384, layout: Layout = "kaggle", workers: int = 2) -> None:
    """Draw `n` phantoms with masks and tables below ``out/ORIGA`` or ``out/glaucoma-detection``."""
    drawn = eyes(n, seed)
    root = Path(out) / ("glaucoma-detection" if layout == "detection" else "ORIGA")
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size, "layout": layout})
    base = root / "ORIGA" / "ORIGA" if layout == "detection" else root
    annotations = _ANNOTATIONS + ("-done-by-doctors-eg-ground-truth" if layout == "original" else "")
    places = [(annotations, "mat"), *([("Masks", "png")] if layout == "kaggle" else []), ("Images", "jpg")]
    files = [tuple(base / folder / f"{number}.{kind}" for folder, kind in places) for number, _ in drawn]
    _write_tables(root, layout, drawn)
    draw_all(files, [eye for _, eye in drawn], partial(_take, size=size), _SOURCE, workers)


def _frame(eye: Eye, size: int) -> Frame:
    """Return the 3:2 photograph of ORIGA with the eye in its middle."""
    return frame_for(size * 3 // 2, size, eye.seed)


def _take(files: Files, eye: Eye, size: int) -> None:
    """Write masks and photograph of one eye: 0 background, 1 rim, 2 cup."""
    frame = _frame(eye, size)
    codes = place(disc_mask(eye, frame.side), frame).astype(np.uint8)
    codes += place(cup_mask(eye, frame.side), frame)
    with write_beside(files[0]) as beside:
        _save_mat(codes, beside)
    for path in files[1:-1]:
        save(Image.fromarray(codes), path)
    save(photograph(eye, frame), files[-1])


def _save_mat(codes: npt.NDArray[np.uint8], path: Path) -> None:
    """Write a mask as a MATLAB file; the date in the header's first 116 bytes is blanked, for reproducible files."""
    buffer = io.BytesIO()
    savemat(buffer, {"mask": codes}, do_compression=True)
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(116) + buffer.getvalue()[116:])


def _write_tables(root: Path, layout: Layout, drawn: Sequence[tuple[str, Eye]]) -> None:
    """Write the tables of one layout."""
    rows = [
        {
            "Eye": "OD" if eye.laterality == "right" else "OS",
            "Filename": f"{number}.jpg",
            "ExpCDR": f"{eye.cup_to_disc:.4f}",
            "Set": "AB"[i % 2],
            "Glaucoma": str(int(eye.diagnosis == "glaucoma")),
        }
        for i, (number, eye) in enumerate(drawn)
    ]
    if layout == "original":
        _write_workbook(root / "binary_labels.xlsx", rows)
    elif layout == "detection":
        _write_csv(root / "glaucoma.csv", ("Filename", "ExpCDR", "Eye", "Set", "Glaucoma"), rows)
    else:
        _write_csv(root / "OrigaList.csv", ("Eye", "Filename", "ExpCDR", "Set", "Glaucoma"), rows)
        info = [
            {"Image": f"Origa/Images/{r['Filename']}", "Source": "Origa", "Cropped": "True", "CDR": r["ExpCDR"]}
            | {"Ecc-Cup": "0", "Ecc-Disc": "0", "Label": r["Glaucoma"]}
            for r in rows
        ]
        _write_csv(root / "origa_info.csv", ("Image", "Source", "Cropped", "CDR", "Ecc-Cup", "Ecc-Disc", "Label"), info)


def _write_workbook(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write the original release's table, with file names in quotation marks."""
    listed = [(row["Set"], f"'{row['Filename']}'", int(row["Glaucoma"])) for row in rows]
    write_workbook(path, ("set", "filename", "label"), listed)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[dict[str, str]]) -> None:
    """Write one table of text."""
    text = io.StringIO()
    table = csv.DictWriter(text, header, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    with write_beside(path) as beside:
        beside.write_text(text.getvalue(), encoding="utf-8")
