"""What stands beside the pixels of a raw image, and where it lay, goes nowhere: not into folder, export or page."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.pixels import KINDS
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.formats.export import export, formats
from lmod_train.report.thumbnails import thumbnail
from lmod_train.tasks.four_way import FourWay
from tests.core.test_pixels import NAME, told
from tests.data.curation.world import Folders
from tests.tabled import tabled

PATIENT = "Mueller_Erika_"
"""How the names of raw files begin."""


def everything(folder: Path) -> bytes:
    """Return all bytes of a folder, and what is packed in its tables."""
    found = []
    for file in sorted(f for f in folder.rglob("*") if f.is_file()):
        data = file.read_bytes()
        found += [str(file.relative_to(folder)).encode(), data]
        if file.suffix == ".parquet":
            rows = pq.read_table(file).to_pylist()
            found += [repr(rows).encode(), *(i["bytes"] for row in rows for i in row.get("images", ()))]
        if file.suffix == ".tsv":
            found += [base64.b64decode(coded) for coded in re.findall(rb"/9j/[\w+/=]{100,}", data)]
    return b"\n".join(found)


@pytest.fixture(scope="module", params=[64, None], ids=["shrunk", "originals"])
def curated(request, tmp_path_factory) -> Path:
    """Eight photographs, of which six are in formats with a name in every place for words."""
    home = tmp_path_factory.mktemp("home")
    source = Folders.write(home / "raw", 8)
    for file in sorted((home / "raw").rglob("*.png")):
        file.rename(file.with_stem(f"{PATIENT}{file.stem}"))
    files = sorted((home / "raw").rglob("*.png"))
    for file, kind in zip(files, KINDS, strict=False):
        file.write_bytes(told(kind))
    curate([source], [FourWay()], home / "curated", longest_side=request.param, workers=1, progress=False, balance=())
    assert len(read_records(home / "curated" / "records")) == 8
    return home / "curated"


def test_a_curated_folder_holds_no_name(curated: Path):
    assert sum(NAME in f.read_bytes() for f in curated.parent.joinpath("raw").rglob("*.png")) >= 4, "the trap is set"
    assert len(list((curated / "images").rglob("*.jpg"))) == 8
    assert NAME not in everything(curated) and b"Exif" not in everything(curated)
    for image in (curated / "images").rglob("*.jpg"):
        coded = thumbnail(curated, image.relative_to(curated).as_posix())
        assert NAME not in base64.b64decode(coded.partition(",")[2])


@tabled("to", tuple(formats()))
@tabled("images", ["copy", "link", "none"])
def test_an_export_holds_no_name_and_no_folder(curated: Path, tmp_path: Path, to: str, images):
    if images == "link" and to not in ("llava", "sharegpt"):
        return  # images lie inside the files
    if images == "none" and to == "trl_grpo":
        return  # which needs them
    for name in {image for r in read_records(curated / "records") for image in r.image}:
        file = curated / name  # a curated folder from elsewhere
        bare = file.read_bytes()
        if NAME not in bare:
            file.write_bytes(bare[:2] + b"\xff\xfe\x00\x0e" + NAME + bare[2:])
    home = str(curated.parent).encode()
    assert NAME in everything(curated) and home in str(read_manifest(curated)).encode()
    export(curated, to, tmp_path / "out", images=images, for_own_use=True)
    held = everything(tmp_path / "out")
    links = [f.readlink() for f in (tmp_path / "out").rglob("*") if f.is_symlink()]
    assert images == "none" or PATIENT.encode() not in held
    assert NAME not in held and home not in held and not any(link.is_absolute() for link in links)
    assert str(tmp_path).encode() not in held
