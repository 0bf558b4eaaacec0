"""Only records whose sources a manifest states as redistributable leave this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.artifacts.leaving import closed_sources, open_sources, source_of, sources_touched
from lmod_train.core.artifacts.manifest import write_json
from tests.tiny import record

FREE, CLOSED, UNSAID = {"redistributable": True}, {"redistributable": False}, {"licence": "CC0"}
SOURCES = {"free": FREE, "closed": CLOSED, "unsaid": UNSAID}


def shown(source: str, *images: str):
    return record(f"glaucoma/{source}/1", image=images, source=source)


CASES = [
    (shown("free", "images/free/1.jpg"), []),
    (shown("free"), []),
    (shown("closed", "images/closed/1.jpg"), ["closed"]),
    (shown("unsaid", "images/unsaid/1.jpg"), ["unsaid"]),
    (shown("unknown", "images/unknown/1.jpg"), ["unknown"]),
    (shown("free", "images/closed/1.jpg"), ["closed"]),
    (shown("free", "images/free/1.jpg", "images/foreign/china.jpg"), ["foreign"]),
    (shown("closed", "images/free/1.jpg"), ["closed"]),
    (shown("free", "1.jpg"), []),
]


@pytest.mark.parametrize(("one", "stay"), CASES)
def test_a_record_leaves_if_its_source_and_those_of_its_images_are_free(tmp_path: Path, one, stay):
    write_json(tmp_path / "manifest.json", {"schema_version": 4, "sources": SOURCES})
    assert closed_sources([shown("free"), one], tmp_path) == stay
    assert closed_sources([one], tmp_path, allowed=stay) == []


def test_without_a_manifest_nothing_leaves(tmp_path: Path):
    everything = [one for one, _ in CASES]
    named = sorted(set().union(*map(sources_touched, everything)))
    assert closed_sources(everything, tmp_path) == named
    (tmp_path / "manifest.json").write_text("{")
    assert closed_sources(everything, tmp_path) == named and closed_sources([], tmp_path) == []


def test_foreign_photographs_are_described_apart():
    assert open_sources({"sources": SOURCES, "foreign": FREE}) == {"free", "foreign"}
    assert open_sources({"sources": SOURCES, "foreign": CLOSED}) == open_sources({"sources": SOURCES}) == {"free"}
    assert open_sources({"sources": {"a": {"redistributable": "yes"}, "b": None}}) == open_sources({}) == set()
    assert source_of("images/foreign/china.jpg", "free") == "foreign"
