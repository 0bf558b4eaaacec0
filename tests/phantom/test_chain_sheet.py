"""The sheet of chains: pictures with their questions, and the licence of those that must not be redistributed."""

import json
import shutil
import sys

import numpy as np
import pytest
from PIL import Image, ImageDraw

from lmod_train.core.artifacts.records import read_records
from lmod_train.core.types import Reply
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.refuge import Refuge
from lmod_train.extensions.xpcr.stages import STAGE_NAMES
from lmod_train.extensions.xpcr.tasks import Chain
from lmod_train.phantom import contact_sheet as sheet
from lmod_train.phantom.folders import refuge
from scripts.benchmarks import chain_sheet

LICENCE = "for research in the laboratory that asked for it, and for no other use by anybody"
LINES = ["not for redistribution: for research in the laboratory", "that asked for it, and for no other use by anybody"]


@pytest.fixture(scope="module")
def curated(tmp_path_factory):
    """Chains of drawn eyes, which may be redistributed."""
    root = tmp_path_factory.mktemp("sheet")
    refuge.write(root / "raw", 6, 0, size=64, workers=0)
    curate([Refuge(root / "raw")], [Chain()], root / "out", longest_side=64, workers=1, progress=False)
    return root / "out"


@pytest.fixture
def closed(curated, tmp_path):
    """The same folder, of a source that must not be redistributed."""
    manifest = json.loads((curated / "manifest.json").read_text(encoding="utf-8"))
    manifest["sources"]["refuge"] |= {"redistributable": False, "licence": LICENCE}
    for part in ("images", "records"):
        shutil.copytree(curated / part, tmp_path / part)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return tmp_path


def drawn(folder, out, monkeypatch, chains=1):
    monkeypatch.setattr(sys, "argv", ["chain_sheet", str(folder), str(out), "--chains", str(chains)])
    assert chain_sheet.main() == 0
    return np.asarray(Image.open(out))


def line_on(picture, number):
    """Return the pixels of a line beneath the first picture, from 0 for the title."""
    top = sheet.MARGIN + chain_sheet.SIDE + number * sheet.LINE
    return picture[top : top + sheet.LINE, sheet.MARGIN : sheet.MARGIN + chain_sheet.SIDE]


def written(words):
    """Return the pixels of words in grey on an empty line."""
    line = Image.new("RGB", (chain_sheet.SIDE, sheet.LINE), sheet.PAPER)
    ImageDraw.Draw(line).text((0, 3), words, fill=sheet.GREY, font=sheet._font())
    return np.asarray(line)


def test_the_licence_is_in_the_picture_where_it_forbids_redistribution(closed, tmp_path, monkeypatch):
    picture = drawn(closed, tmp_path / "sheet.png", monkeypatch)
    for number, words in enumerate(LINES, 1):
        assert np.array_equal(line_on(picture, number), written(words))


def test_pictures_that_may_be_passed_on_have_no_such_line(curated, closed, tmp_path, monkeypatch):
    free, bound = (drawn(folder, tmp_path / "sheet.png", monkeypatch) for folder in (curated, closed))
    assert bound.shape[0] - free.shape[0] == len(LINES) * sheet.LINE
    assert np.array_equal(line_on(free, 1), line_on(bound, 1 + len(LINES)))


def test_a_folder_without_a_manifest_counts_as_one_that_must_not_be_redistributed(closed, tmp_path):
    (closed / "manifest.json").unlink()
    record = read_records(closed / "records")[0]
    assert chain_sheet.warning_of(record, closed)[0].startswith("not for redistribution: ")


def test_every_question_has_its_options_and_an_arrow_at_the_right_one(curated):
    chain = chain_sheet.chains_of(read_records(curated / "records"))[0]
    tile = chain_sheet.tile_of(chain, curated)
    right = [line.partition(". ")[2] for line in tile.lines if line.startswith("  >")]
    asked = [chain[stage] for stage in STAGE_NAMES]
    assert right == [Chain().parse(Reply(r.id, r.answer), r) for r in asked]
    assert [line[5:7] for line in tile.lines].count(". ") == sum(len(r.choices) for r in asked)


def test_without_a_chain_nothing_is_written(curated, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["chain_sheet", str(curated), str(tmp_path / "no.png"), "--modality", "OCT"])
    assert chain_sheet.main() == 1 and not (tmp_path / "no.png").exists()
    assert "no chain in these records" in capsys.readouterr().err
