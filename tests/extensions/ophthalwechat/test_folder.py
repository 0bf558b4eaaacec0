"""Phantoms of OphthalWeChat: files, and what is drawn again or refused."""

import pytest
from openpyxl import load_workbook
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.ophthalwechat.phantom import IMAGES, QUESTIONS, images, missing_ids, second_id, truths, write


def content(path):
    return [list(row) for row in load_workbook(path).active.iter_rows(values_only=True)]


def test_the_same_seed_writes_the_same_and_nothing_twice(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, 8, 1, size=32, workers=0)
    one, other = (tmp_path / name / "OphthalWeChat" for name in ("a", "b"))
    assert [content(one / f) for f in (QUESTIONS, IMAGES)] == [content(other / f) for f in (QUESTIONS, IMAGES)]
    pictures = sorted((one / "images").iterdir())
    assert [p.read_bytes() for p in pictures] == [p.read_bytes() for p in sorted((other / "images").iterdir())]
    stamps = {p: p.stat().st_mtime_ns for p in one.rglob("*") if p.name != "phantom.json"}
    write(tmp_path / "a", 8, 1, size=32, workers=0)
    assert {p: p.stat().st_mtime_ns for p in stamps if p.is_file()} == {p: t for p, t in stamps.items() if p.is_file()}
    with pytest.raises(BadArgument, match="new folder"):
        write(tmp_path / "a", 8, 2, size=32, workers=0)


def test_images_rows_and_headers(tmp_path):
    write(tmp_path, 8, 1, size=32, workers=0)
    root = tmp_path / "OphthalWeChat"
    sizes = {p.stem: Image.open(p).size for p in (root / "images").iterdir()}
    assert sizes == {str(s.id): (64, 32) if s.modality == "CFP+OCT" else (32, 32) for s in images(8, 1)}
    asked, shown = content(root / QUESTIONS), content(root / IMAGES)
    assert asked[0][:2] == ["QA ID", "Image ID"] and shown[0][0] == "图片编号"
    assert len(asked) == 1 + 8 * 8 + 2 and [row[0] for row in shown[1:]] == list(range(1, 11))
    assert [second_id(s, 8) for s in images(8, 1)] == [None] * 7 + [9] and list(missing_ids(8)) == [10]
    assert shown[9][1] == shown[8][1] and 9 in [row[1] for row in asked]
    assert [t.key for t in truths(8, 1)] == list(map(str, range(1, 9)))


@pytest.mark.parametrize(("n", "size", "name"), [(-1, 32, "n"), (2, 8, "size")])
def test_numbers_out_of_range(tmp_path, n, size, name):
    with pytest.raises(BadArgument, match=f"^{name}="):
        write(tmp_path, n, 0, size=size, workers=0)
    assert truths(0, 0) == []
