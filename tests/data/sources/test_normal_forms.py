"""Files and rows are paired whether letters are stored with their accents (NFC) or apart (NFD, as on macOS)."""

import json
import unicodedata
from pathlib import Path

import pytest

from lmod_train.core.types import Sample
from lmod_train.data.formats.conversations import Dialogue, read_dialogues
from lmod_train.data.sources.brset import Brset
from lmod_train.data.sources.cataract_1k import Cataract1K
from lmod_train.data.sources.cataract_detection_2 import CataractDetection2
from lmod_train.data.sources.clutter import in_any_form
from lmod_train.data.sources.g1020 import G1020
from lmod_train.data.sources.origa import Origa
from lmod_train.data.sources.refuge import Refuge
from lmod_train.phantom.folders import brset, cataract_1k, refuge
from tests.data.curation.world import photograph
from tests.drawn import cataract_detection_2, g1020, origa
from tests.tabled import tabled

IMAGES = {".jpg", ".jpeg"}
DRAWN = {
    "refuge": (Refuge, lambda out: refuge.write(out, 6, 1, size=48, workers=0)),
    "origa": (Origa, lambda out: origa.write(out, 6, 1, size=48, workers=0)),
    "g1020": (G1020, lambda out: g1020.write(out, 6, 1, size=48, workers=0)),
    "yolo": (CataractDetection2, lambda out: cataract_detection_2.write(out, 6, 1, 64, "yolo", workers=0)),
    "coco": (CataractDetection2, lambda out: cataract_detection_2.write(out, 6, 1, 64, "coco", workers=0)),
    "brset": (Brset, lambda out: brset.write(out, 6, 1, size=48, workers=0)),
    "cataract_1k": (Cataract1K, lambda out: cataract_1k.write(out, 4, 1, 48, workers=0)),
}


@tabled("name", DRAWN)
def test_photographs_keep_their_annotations(tmp_path, name):
    kind, write = DRAWN[name]
    write(tmp_path)
    before = _held(kind(tmp_path), name)
    assert before
    _accented(tmp_path)
    assert _held(kind(tmp_path), name) == before


def _held(source, name):
    """Return what the samples hold, whatever their names are; labels only where `_accented` changes their table."""
    found = [s for s in source.samples() if isinstance(s, Sample)]
    in_table = name not in ("refuge", "origa")
    return sorted((len(s.masks), len(s.outlines), sorted(s.labels.items()) if in_table else []) for s in found)


def _accented(root):
    """Put an accent into the name of every photograph (NFD), and of every other file and in tables (NFC)."""
    stems = {p.stem for p in root.rglob("*") if p.suffix in IMAGES or p.parent.name == "img"}
    for file in [p for p in root.rglob("*") if p.is_file()]:
        stem = next((s for s in sorted(stems, key=len, reverse=True) if file.name.startswith(s)), None)
        photographed = file.suffix in IMAGES or file.parent.name == "img"
        if stem:
            file.rename(file.with_name(unicodedata.normalize("NFD" if photographed else "NFC", f"é{file.name}")))
        elif file.suffix in (".csv", ".json"):
            text = file.read_text(encoding="utf-8")
            for one in sorted(stems, key=len, reverse=True):
                text = text.replace(f'"{one}', f'"é{one}').replace(f"\n{one}", f"\né{one}")
            file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("stored", "named"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_conversations_find_their_images(tmp_path, stored, named):
    photograph(tmp_path / unicodedata.normalize(stored, "olhos/João/é.png"), 1)
    image = unicodedata.normalize(named, "olhos/João/é.png")
    turns = [{"from": "human", "value": "<image>\nWhich eye?"}, {"from": "gpt", "value": "Left."}]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"id": "a", "image": image, "conversatons": turns}]), encoding="utf-16")
    (found,) = read_dialogues(file, tmp_path, "talk")
    assert isinstance(found, Dialogue) and found.images[0].path.is_file() and len(found.turns) == 2


def test_names_that_do_not_exist_stay_as_they_are(tmp_path):
    for name in ("nowhere.png", "é.png", "é/../../x", str(Path("/") / "é")):
        assert in_any_form(tmp_path, name) == tmp_path / name
