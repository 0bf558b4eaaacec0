"""A raw folder with a note file is a phantom source, and its records are marked as phantoms."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.cli import main
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.phantoms import LICENCE, NOTE
from lmod_train.data.sources.discovery import discover
from lmod_train.phantom.shots import note


def test_every_drawn_source_is_marked_as_a_phantom(tmp_path: Path):
    assert main(["phantom", "--out", str(tmp_path), "--n", "2", "--sources", "all"]) == 0
    found = discover(tmp_path).sources
    assert len(found) > 5 and [s.name for s in found if not s.is_phantom] == []
    for file in tmp_path.rglob(NOTE):
        file.unlink()
    assert [s.name for s in discover(tmp_path).sources if s.is_phantom] == []


def test_phantoms_have_the_phantom_licence_and_other_sources_their_own(tmp_path: Path):
    assert main(["phantom", "--out", str(tmp_path / "raw"), "--n", "8", "--sources", "eye_diseases,refuge"]) == 0
    (note_of,) = (tmp_path / "raw").glob(f"eye*/{NOTE}")
    note_of.unlink()
    assert main(["curate", "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "curated")]) == 0
    records = read_records(tmp_path / "curated" / "records")
    assert {(r.source, r.phantom) for r in records} == {("eye_diseases", False), ("refuge", True)}
    assert {r.licence == LICENCE for r in records if r.phantom} == {True}
    assert {r.licence == LICENCE for r in records if not r.phantom} == {False}


def test_phantoms_are_not_drawn_into_a_folder_with_other_files(tmp_path: Path):
    (tmp_path / "photograph.jpg").write_bytes(b"an eye")
    with pytest.raises(BadArgument, match="new, empty or contains phantoms"):
        note(tmp_path, {"n": 3})
    assert [p.name for p in tmp_path.iterdir()] == ["photograph.jpg"]
