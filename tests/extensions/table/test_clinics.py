"""Tables of clinics and of public sets, with keys that were written before the code: nothing is understood wrongly.

``clinics/keys.json`` states of each table what its columns mean and whether a reader could doubt it. All content is
made up, and the images are drawn here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.data.cells.diagnoses import condition_of, findings_of
from lmod_train.data.cells.image_names import Folder, folder_of
from lmod_train.data.curation.manifest_files import read_dropped
from lmod_train.data.sources.grid import read_grid
from lmod_train.extensions.table.columns import understand
from lmod_train.extensions.table.meanings import UNUSED, Answers, Column

CLINICS = Path(__file__).parent / "clinics"
KEYS: dict[str, dict[str, Any]] = json.loads((CLINICS / "keys.json").read_text(encoding="utf-8"))
QUICK = (
    "01_de_csv_cp1252",
    "11_odir5k_two_eyes",
    "23_vlmeval_base64",
    "28_xlsx_two_row_header",
    "34_subfolders_same_names",
)

LEFT = UNUSED | {"own", "quality", "camera", "category", "hint"}
"""Meanings by which nothing is claimed."""


def drawn(folder: Path, names: list[str]) -> Path:
    for seed, name in enumerate(names):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(seed).integers(0, 255, (48, 48, 3), dtype=np.uint8)
        Image.fromarray(noise).save(file)
    folder.mkdir(exist_ok=True)
    return folder


def understood(key: dict[str, Any], images: Path) -> dict[str, Column]:
    grid = read_grid(CLINICS / key["file"])
    folder = folder_of(drawn(images, key["images"])) if key["images"] else Folder(images, ())
    return {column.name: column for column in understand(grid, folder, Answers())}


def judged(column: Column, key: dict[str, Any]) -> str:
    """Return ``right``, ``asked``, ``left`` or ``wrong: ...`` for what was understood of a column."""
    if column.doubt:
        return "right" if not key["certain"] or key.get("either") else "asked"
    right = {key["meaning"], *key.get("accept", ())}
    if column.meaning in key.get("never", ()):
        return f"wrong: never {column.meaning}"
    if column.meaning in LEFT:
        if key.get("private") and column.meaning not in UNUSED:
            return f"wrong: a private column is {column.meaning}"
        claims_nothing = right & (LEFT | {"licence/source", "region boxes"})
        return "right" if claims_nothing or not key["certain"] or key.get("either") else "left"
    is_flag = key.get("form") == "flag" and condition_of(column.meaning) is not None
    is_scale = column.meaning in {scale.name for scale in SCALES} and "grade" in right
    if not (column.meaning in right or is_flag or is_scale or (column.meaning == "option" and "options" in right)):
        return f"wrong: {column.meaning}, expected {key['meaning']}"
    if not key["certain"] and not key.get("either"):
        return f"wrong: {column.meaning} without asking"
    return _wrong_word(column, key) or "right"


def _wrong_word(column: Column, key: dict[str, Any]) -> str:
    for cell, expected in key.get("values", {}).items():
        if column.meaning == "diagnosis":
            stated = [expected] if isinstance(expected, str) else expected or []
            claimed = [word for word in findings_of(cell.strip()).present if not any(_is_of(word, e) for e in stated)]
            if claimed:
                return f"wrong: {cell!r} is {claimed}, expected {expected}"
        elif column.words.get(cell.strip()) != {"validation": "val"}.get(expected, expected):
            return f"wrong: {cell!r} is {column.words.get(cell.strip())}, expected {expected}"
    return ""


def _is_of(word: str, expected: str) -> bool:
    """Return whether a disease is the expected one, or the one of which that is a kind."""
    is_one = not re.search(r"suspect|history of|^no ", expected)
    return is_one and (word in expected or word in findings_of(expected).present)


def test_no_column_is_understood_wrongly_and_most_without_a_question(tmp_path: Path):
    verdicts: Counter[str] = Counter()
    for name, key in KEYS.items():
        columns = understood(key, tmp_path / name)
        for column, stated in key["columns"].items():
            verdict = judged(columns[column], stated)
            assert not verdict.startswith("wrong"), f"{name}, {column}: {verdict}"
            verdicts[verdict] += 1
    assert verdicts.total() > 300 and verdicts["right"] >= 0.98 * verdicts.total(), verdicts


@pytest.mark.parametrize("name", KEYS)
def test_every_row_is_read(name: str):
    key, grid = KEYS[name], read_grid(CLINICS / KEYS[name]["file"])
    assert len(grid.rows) + len(grid.lost) == key["rows"] + key["lost"] and grid.header_line == key["header_line"]
    encoding = key["encoding"] and re.sub("^utf-?16.*", "utf-16", key["encoding"].replace("_", "-").lower())
    assert not encoding or encoding.removesuffix("-sig") in grid.kind.replace("iso8859-15", "latin-9 iso8859-15")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in KEYS])
def test_rows_are_records_and_listed_drops_and_nothing_leaves(name: str, tmp_path: Path, capsys):
    key, out = KEYS[name], tmp_path / "OUT"
    images = ["--images", str(drawn(tmp_path / "images", key["images"]))] if key["images"] else []
    command = ["curate", "--table", str(CLINICS / key["file"]), *images, "--modality", key["modality"]]
    command += ["--name", "clinic", "--out", str(out), "--workers", "1"]
    if cli.main(command) == 2:
        status = cli.main([*command, *key["answers"]])
        error = capsys.readouterr().err
        if key["records"][0] == 0:
            assert status == 2 and "expected a column that names an image" in error
            return
        for _ in range(2):  # what the key leaves open, and what is lost, the printed command answers
            if status:
                printed = re.findall(r"`(python -m lmod_train curate [^`]+)`", error)[-1]
                status = cli.main(shlex.split(printed)[3:])
                error = capsys.readouterr().err
        assert status == 0
    records, drops = read_records(out / "records"), read_dropped(out / "dropped.csv")
    keys = {(r.key, *r.image) for r in records}
    unasked = sum(d.reason == "no question" for d in drops)
    assert len(keys) + unasked in key["records"] or len(keys) in key["records"]
    by_line = {d.key for d in drops if d.extent == "gone" and d.key.startswith("line ")}
    assert len(keys) + len(by_line) >= key["rows"], "a row is a record or listed"
    splits: dict[str, set[str]] = {}
    for record in records:
        splits.setdefault(record.group, set()).add(record.split)
    assert all(len(of) == 1 for of in splits.values()), "no patient is in two splits"
    if key["patients"] and not unasked and "14_" not in name:
        assert len(splits) == key["patients"]
    stated = read_manifest(out)["sources"]["clinic"]
    assert stated["redistributable"] is False and stated["licence"] == "not stated"
    assert cli.main(["export", str(out), "--to", "llava", "--out", str(tmp_path / "EXPORT")]) == 2
    assert "not to be passed on" in capsys.readouterr().err
