"""The command `phantom`: its sheet shows phantoms of each source as their files hold them, with their known truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from lmod_train import cli
from lmod_train.cli import phantoms
from lmod_train.cli.phantoms import drawn_folders
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.extension import named
from lmod_train.data.sources.discovery import source_classes
from lmod_train.phantom import contact_sheet
from lmod_train.phantom.contact_sheet import Tile

N, SEED = 8, 3


FEW = ("cataract_1k", "eye_diseases", "oimhs", "refuge")
"""Sources with boxes of several structures, without boxes, of another modality, and with a diagnosis beside boxes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = tmp_path_factory.mktemp("raw")
    for name in FEW:
        named(drawn_folders()[name]).write(raw, N, SEED, workers=0)
    return raw


def test_a_source_is_shown_with_its_name_and_the_boxes_of_its_truth(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    is_shown(FEW, folder, tmp_path, monkeypatch)


@pytest.mark.slow
def test_every_source_is_shown(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    every = tuple(name for name in drawn_folders() if name in source_classes())
    for name in set(every) - set(FEW):
        named(drawn_folders()[name]).write(folder, N, SEED, workers=0)
    is_shown(every, folder, tmp_path, monkeypatch)


def is_shown(names: tuple[str, ...], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiles: list[Tile] = []
    monkeypatch.setattr(contact_sheet, "contact_sheet", lambda shown, out, columns: tiles.extend(shown))
    assert phantoms.draw_sheet(folder, names, N, SEED, tmp_path / "sheet.png") == len(tiles) == 3 * len(names)
    assert [tile.title for tile in tiles[::3]] == [f"{n} · {source_classes()[n].modality}" for n in names]
    for tile in tiles:
        source = tile.title.partition(" ")[0]
        truths = {t.key: t for t in named(drawn_folders()[source]).truths(N, SEED)}
        truth = truths[tile.lines[0]]
        assert tile.boxes == truth.boxes
        assert tile.lines[1:] == tuple(filter(None, [phantoms.labels_of(truth)]))
        assert all(0 <= b.x0 < b.x1 <= tile.image.width and b.y1 <= tile.image.height for _, b in tile.boxes)


def test_different_labels_come_first(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tiles: list[Tile] = []
    monkeypatch.setattr(contact_sheet, "contact_sheet", lambda shown, out, columns: tiles.extend(shown))
    phantoms.draw_sheet(folder, ["eye_diseases"], N, SEED, tmp_path / "sheet.png")
    assert len({tile.lines[1] for tile in tiles}) == 3


def test_the_command_writes_the_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    sheet = tmp_path / "sheet.png"
    assert cli.main(["phantom", "--out", str(tmp_path / "RAW"), "--n", "4", "--sheet", str(sheet)]) == 0
    assert f"wrote {sheet}: 6 phantoms with their true boxes" in capsys.readouterr().out
    assert Image.open(sheet).width > 1500


@pytest.mark.parametrize(
    ("arguments", "part"), [(["--n", "0"], "n='0'"), (["--sources", "refuge,orig"], "--sources='orig'")]
)
def test_phantoms_that_cannot_be_drawn_are_refused(
    arguments: list[str], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    try:
        status: object = cli.main(["phantom", "--out", str(tmp_path / "raw"), *arguments])
    except SystemExit as refused:  # by the parser
        status = refused.code
    assert status == 2
    assert part in capsys.readouterr().err
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize("note", ["phantom.json", "photos/drawn/phantom.json"])
def test_photographs_beside_phantoms_are_no_phantoms(tmp_path, note):
    """What a drawn folder allows, that images may leave the machine, holds for no photograph near it."""
    (tmp_path / "photos" / "drawn").mkdir(parents=True)
    for place in ("photos/a.jpg", "photos/drawn/b.jpg"):
        Image.effect_noise((64, 64), 60).convert("RGB").save(tmp_path / place)
    (tmp_path / note).write_text("{}")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("file,patient,diagnosis\na.jpg,p,glaucoma\ndrawn/b.jpg,q,normal\n")
    out = tmp_path / "C"
    table = ["curate", "--table", str(tmp_path / "tables" / "t.csv"), "--modality", "CFP"]
    assert cli.main([*table, "--images", str(tmp_path / "photos"), "--out", str(out)]) == 0
    assert not read_manifest(out)["sources"]["t"]["redistributable"]
    assert not any(record.phantom for record in read_records(out / "records"))
