"""Import by the command line, and what can be done with the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from tests.core.test_lock import end, hold


@pytest.fixture
def file(curated: Path, tmp_path: Path) -> Path:
    """Conversations about every curated photograph of one source, and one about an image that is not there."""
    names = sorted({r.image_plain[0] for r in read_records(curated / "records") if r.source == "refuge"})
    items = [
        {"id": name, "image": name, "conversations": [
            {"from": "human", "value": "<image>\nWhich eye?"}, {"from": "gpt", "value": "Left."},
            {"from": "human", "value": "Why?"}, {"from": "gpt", "value": "The disc lies on the left."},
        ]}
        for name in [*names, "gone.jpg"]
    ]  # fmt: skip
    path = tmp_path / "1-talk.json"
    path.write_text(json.dumps(items))
    return path


def test_conversations_become_a_curated_folder(curated: Path, file: Path, tmp_path: Path, capsys):
    out = tmp_path / "out"
    arguments = ["--images", str(curated), "--out", str(out), "--licence", "CC0", "--ratios", "[0.5,0.25,0.25]"]
    assert cli.main(["import", str(file), *arguments, "--modality", "CFP", "--longest_side", "64"]) == 0
    records = read_records(out / "records")
    manifest = read_manifest(out)
    assert {(r.source, r.licence, r.modality) for r in records} == {("_1_talk", "CC0", "CFP")}
    assert len(records) == 2 * (len(json.loads(file.read_text())) - 1)
    assert manifest["images"]["longest_side"] == 64 and manifest["settings"]["ratios"] == [0.5, 0.25, 0.25]
    said = capsys.readouterr().out
    assert f"conversation: {len(records)} records (" in said
    assert f"dropped of _1_talk: 1 gone (image_missing 1), 0 in part; listed in {out / 'dropped.csv'}" in said
    assert cli.main(["export", str(out), "--to", "llava", "--out", str(tmp_path / "again")]) == 2  # not said to be free
    assert "_1_talk (CC0)" in capsys.readouterr().err


def test_a_mistake_is_named(curated: Path, file: Path, tmp_path: Path, capsys):
    nowhere = ["--images", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out")]
    assert cli.main(["import", str(file), *nowhere]) == 2
    assert "--images" in capsys.readouterr().err
    arguments = ["--images", str(curated), "--out", str(tmp_path / "out"), "--ratios", "[0.5,0.5,0.5]"]
    assert cli.main(["import", str(file), *arguments]) == 2
    assert "sum to 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_another_process_writes_is_not_touched(curated: Path, file: Path, tmp_path: Path, capsys):
    other = hold(tmp_path / "out")
    assert cli.main(["import", str(file), "--images", str(curated), "--out", str(tmp_path / "out")]) == 2
    assert f"process {other.pid} on" in capsys.readouterr().err
    end(other)
