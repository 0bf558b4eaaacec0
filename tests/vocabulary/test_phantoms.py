"""Drawings are known by a file in their raw folder, and are called phantoms from there to the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.artifacts.records import read_records
from lmod_train.cli import main
from lmod_train.errors import BadArgument
from lmod_train.phantom.shots import note
from lmod_train.sources.discovery import discover
from lmod_train.vocabulary.phantoms import LICENCE, NOTE


def test_every_source_that_can_be_drawn_is_known_to_be_drawn(tmp_path: Path):
    assert main(["phantom", "--out", str(tmp_path), "--n", "4", "--sources", "all"]) == 0
    found = discover(tmp_path).sources
    assert len(found) > 5 and [s.name for s in found if not s.is_phantom] == []
    for file in tmp_path.rglob(NOTE):
        file.unlink()
    assert [s.name for s in discover(tmp_path).sources if s.is_phantom] == []


def test_a_drawn_source_has_the_licence_of_drawings_and_one_that_is_not_its_own(tmp_path: Path):
    assert main(["phantom", "--out", str(tmp_path / "raw"), "--n", "12", "--sources", "eye_diseases,refuge"]) == 0
    (note_of,) = (tmp_path / "raw").glob(f"eye*/{NOTE}")
    note_of.unlink()
    assert main(["curate", "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "curated")]) == 0
    records = read_records(tmp_path / "curated" / "records")
    assert {(r.source, r.phantom) for r in records} == {("eye_diseases", False), ("refuge", True)}
    assert {r.licence == LICENCE for r in records if r.phantom} == {True}
    assert {r.licence == LICENCE for r in records if not r.phantom} == {False}


def test_phantoms_are_not_drawn_among_files_that_are_none(tmp_path: Path):
    (tmp_path / "photograph.jpg").write_bytes(b"an eye")
    with pytest.raises(BadArgument, match="new, empty or of phantoms"):
        note(tmp_path, {"n": 3})
    assert [p.name for p in tmp_path.iterdir()] == ["photograph.jpg"]
