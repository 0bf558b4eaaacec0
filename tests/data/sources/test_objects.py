"""Objects of files of other tools, and the images inside them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmod_train.core.cells import image_bytes
from lmod_train.data.sources import objects
from lmod_train.data.sources.objects import image_in, objects_in, unpack
from tests.tabled import tabled

ROWS = [{"id": "a", "x": 1}, {"id": "b", "x": 2}]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(80)
CODED = base64.b64encode(PNG).decode()


@tabled(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=1),
        "\n".join(map(json.dumps, ROWS)),
        "\n\n".join(map(json.dumps, ROWS)) + "\n",
        json.dumps({row["id"]: {"x": row["x"]} for row in ROWS}),
        json.dumps({"version": 1, "data": ROWS}),
    ],
)
def test_json_in_every_shape_is_the_same_objects(tmp_path: Path, text: str):
    (tmp_path / "file").write_text(text)
    assert list(objects_in(tmp_path / "file")) == ROWS


def test_parquet_and_one_object_alone(tmp_path: Path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "file")
    assert list(objects_in(tmp_path / "file")) == ROWS
    (tmp_path / "one").write_text(json.dumps({"messages": [{"role": "user"}, {"role": "assistant"}]}))
    assert len(list(objects_in(tmp_path / "one"))) == 1


@pytest.mark.parametrize("text", ["", "3", "a,b\n1,2\n", "[1, 2", '"text"', "{a: 1}\n{b: 2}"])
def test_another_text_is_refused(tmp_path: Path, text: str):
    (tmp_path / "file").write_text(text)
    with pytest.raises(ValueError, match=r"JSON|found"):
        list(objects_in(tmp_path / "file"))


@tabled(
    "value,image",
    [
        ("eye.jpg", "eye.jpg"),
        ("file:///data/eye.jpg", "/data/eye.jpg"),
        (CODED, PNG),
        (f"data:image/png;base64,{CODED}", PNG),
        (PNG, PNG),
        ({"bytes": PNG, "path": "eye.jpg"}, PNG),
        ({"bytes": None, "path": "eye.jpg"}, "eye.jpg"),
        ({"url": f"data:image/png;base64,{CODED}"}, PNG),
        ("a/" * 60 + "eye", "a/" * 60 + "eye"),
        (b"", None), ("", None), (None, None), (3, None), ({"path": {"path": "x"}}, None),
    ],
)  # fmt: skip
def test_an_image_is_bytes_or_a_name(value: Any, image: bytes | str | None):
    assert image_in(value) == image


def test_images_are_unpacked_once_each_and_found_by_their_hash(tmp_path: Path):
    images = [PNG + bytes([n % 20]) for n in range(40)]
    places = unpack(tmp_path / "held", iter(images))
    assert len(places) == 20 and pq.read_metadata(tmp_path / "held").num_rows == 20
    assert {image_bytes(place.path, place.cut) for place in places.values()} == set(images)
    assert not unpack(tmp_path / "none", ()) and not (tmp_path / "none").exists()


def test_large_images_share_no_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    images = [PNG + bytes([n]) for n in range(20)]
    for most, groups in ((objects.MOST_IMAGE_BYTES, [16, 4]), (16 * len(PNG), [1] * 20)):
        monkeypatch.setattr(objects, "MOST_IMAGE_BYTES", most)
        places = unpack(tmp_path / "held", iter(images))
        read = pq.read_metadata(tmp_path / "held")
        assert [read.row_group(n).num_rows for n in range(read.num_row_groups) if read.row_group(n).num_rows] == groups
        assert [image_bytes(place.path, place.cut) for place in places.values()] == images
        (tmp_path / "held").unlink()


def test_lines_that_are_none_keep_their_numbers(tmp_path: Path):
    assert list(objects.objects_of('\n{"x": 1}\n \nnone\n{"x": 2}')) == [(2, {"x": 1}), (4, "none"), (5, {"x": 2})]
