"""The manifest of a curated folder comes back, and others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.artifacts.manifest import read_manifest, write_json
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.errors import ArtifactError


def test_the_manifest_comes_back_and_others_are_refused(tmp_path: Path):
    manifest = {"schema_version": SCHEMA_VERSION, "protocol": "协议", "counts": {"b": 1, "a": None}}
    write_json(tmp_path / "manifest.json", manifest)
    assert read_manifest(tmp_path) == manifest
    assert "协议" in (tmp_path / "manifest.json").read_text(encoding="utf-8")
    for damage, problem in (("{", "is not JSON"), ('{"schema_version": 2}', "schema version 2, expected 4")):
        (tmp_path / "manifest.json").write_text(damage)
        with pytest.raises(ArtifactError, match=problem) as refused:
            read_manifest(tmp_path)
        again = "`python -m lmod_train curate --config CONFIG --raw RAW --out NEW`"
        assert again in str(refused.value), "into the same folder it would change nothing"
    with pytest.raises(ArtifactError, match="not curated"):
        read_manifest(tmp_path / "elsewhere")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a": [' + "[]," * 1_000_000 + "[]]}", "x" * (2**26 + 1)])
def test_a_manifest_that_costs_more_than_its_size_is_refused(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ArtifactError, match=r"is not JSON \((lists and|more than 1|67,108,865 b)"):
        read_manifest(tmp_path)
