"""The picture of the first page is drawn from phantoms."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from tests.docs.pages import DOCS, ROOT

SPEC = importlib.util.spec_from_file_location("docs_picture", ROOT / "scripts" / "docs_picture.py")
assert SPEC and SPEC.loader
docs_picture = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(docs_picture)


@pytest.fixture
def quickstart(curated: Path, tmp_path: Path) -> Path:
    """A folder like the quick start's: records of phantoms, and the figure of a report."""
    (tmp_path / "curated").symlink_to(curated)
    (tmp_path / "report" / "figures").mkdir(parents=True)
    Image.new("RGB", (300, 200), (1, 2, 3)).save(tmp_path / "report" / "figures" / "scores.png")
    return tmp_path


def test_the_picture_shows_a_phantom_beside_the_figure(quickstart: Path):
    docs_picture.main([str(quickstart), "--out", str(quickstart / "picture.png")])
    with Image.open(quickstart / "picture.png") as picture:
        assert picture.height == docs_picture.HEIGHT + docs_picture.CAPTION + 2 * docs_picture.MARGIN
        assert picture.getpixel((picture.width - docs_picture.MARGIN - 9, docs_picture.MARGIN + 9)) == (1, 2, 3)


def test_only_a_phantom_is_drawn(quickstart: Path, monkeypatch: pytest.MonkeyPatch):
    from dataclasses import replace

    read = docs_picture.read_records
    monkeypatch.setattr(docs_picture, "read_records", lambda file: [replace(r, phantom=False) for r in read(file)])
    with pytest.raises(BadArgument, match="phantoms"):
        docs_picture.marked(quickstart / "curated")


def test_the_picture_of_the_pages_is_as_the_script_draws_it():
    with Image.open(DOCS / "images" / "overview.png") as picture:
        assert picture.height == docs_picture.HEIGHT + docs_picture.CAPTION + 2 * docs_picture.MARGIN
