"""Export by the command line: what is written, what is said, what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lmod_train import cli
from lmod_train.data.sources.refuge import Refuge


def export(curated: Path, *more: str | Path) -> int:
    return cli.main(["export", str(curated), *map(str, more)])


def test_a_curated_folder_becomes_llava_s_file(curated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    assert export(curated, "--to", "llava", "--out", out, "--sources", "eye_diseases", "--split", "train") == 0
    items = json.loads((out / "train.json").read_text())
    assert items and all(i["id"].startswith("four_way/eye_diseases/") for i in items)
    said = capsys.readouterr().out
    assert f"wrote {out}: {len(items)} of {len(items)} records; its README.md describes how llava reads them" in said
    assert "do not redistribute" not in said


@pytest.fixture
def closed(curated: Path, tmp_path: Path) -> Path:
    """The same folder, had its REFUGE been photographs and no phantoms."""
    folder = shutil.copytree(curated, tmp_path / "closed")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sources"]["refuge"] |= {"licence": Refuge.licence, "redistributable": Refuge.redistributable}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_a_closed_source_is_refused_with_the_next_command(closed: Path, tmp_path: Path, capsys):
    curated = closed
    assert export(curated, "--to", "hugging_face", "--out", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert "refuge (CC BY 4.0 as stated by LMOD" in error and "--sources eye_diseases" in error
    assert not (tmp_path / "out").exists()
    assert (
        export(curated, "--to", "hugging_face", "--out", tmp_path / "out", "--for_own_use", "--tasks", "anatomy") == 0
    )
    assert "do not redistribute" in capsys.readouterr().out
    assert (tmp_path / "out" / "NOTICE").exists()


def test_what_is_misspelt_is_named(curated: Path, tmp_path: Path, capsys):
    assert export(curated, "--to", "llava", "--out", tmp_path / "out", "--tasks", "glaucoma,anatomie") == 2
    assert "anatomie" in capsys.readouterr().err
    assert export(curated, "--to", "lava", "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert "did you mean `--to llava`?" in said
    assert "trl_grpo" in said  # the format of an extension
