import json
import shutil

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument, SourceNotFound
from lmod_train.core.types import Dropped
from lmod_train.data.sources.g1020 import G1020
from tests.data.sources.boxed import boxed, drops, samples
from tests.drawn.g1020 import truths, write

SIZE = 64


@pytest.fixture(scope="module")
def drawn_g1020(tmp_path_factory):
    raw = tmp_path_factory.mktemp("g1020")
    write(raw, 10, seed=5, size=SIZE, workers=0)
    return raw / "G1020"


@pytest.fixture
def copy(drawn_g1020, tmp_path):
    return shutil.copytree(drawn_g1020, tmp_path / "any name")


@pytest.mark.parametrize("annotations", ["json", "masks"])
def test_reading_gives_the_truths_back(drawn_g1020, annotations):
    source = G1020(drawn_g1020, annotations=annotations)
    expected = truths(10, seed=5, size=SIZE, annotations=annotations)
    found = samples(source)
    assert [*found] == [t.key for t in expected] and drops(source) == {}
    for truth in expected:
        sample = found[truth.key]
        assert (sample.group, sample.labels, sample.patient) == (truth.group, truth.labels, truth.patient)
        assert boxed(sample) == set(truth.boxes)
        assert bool(sample.masks) == (annotations == "masks") == (not sample.outlines)
    assert {len(t.boxes) for t in expected} == {1, 2}


def test_masks_in_the_other_coding_give_the_same(copy):
    before = {k: boxed(s) for k, s in samples(G1020(copy, annotations="masks")).items()}
    for path in (copy / "Masks").iterdir():
        codes = np.array([0, 128, 255], dtype=np.uint8)[np.asarray(Image.open(path))]
        Image.fromarray(codes).save(path)
    assert {k: boxed(s) for k, s in samples(G1020(copy, annotations="masks")).items()} == before
    first, second = sorted((copy / "Masks").iterdir())[:2]
    Image.fromarray(np.where(np.asarray(Image.open(second)), 255, 0).astype(np.uint8)).save(second)
    assert boxed(samples(G1020(copy, annotations="masks"))[second.stem]) == "mask_coding_unknown"
    Image.new("L", Image.open(first).size, 64).save(first)
    assert boxed(samples(G1020(copy, annotations="masks"))[first.stem]) == "mask_coding_unknown"


def test_a_missing_or_unusable_json_is_replaced_by_the_mask(copy):
    gone, torn, odd, last = [*samples(G1020(copy))][:4]
    images = copy / "Images"
    (images / f"{gone}.json").unlink()
    (images / f"{torn}.json").write_text((images / f"{torn}.json").read_text()[:200])
    (images / f"{odd}.json").write_text((images / f"{odd}.json").read_text().replace('"disc"', '"dsc"'))
    (images / f"{last}.json").write_text('{"shapes": []}')
    by_mask = {t.key: set(t.boxes) for t in truths(10, seed=5, size=SIZE, annotations="masks")}
    found = samples(G1020(copy))
    assert [k for k, s in found.items() if s.masks] == [gone, torn, odd, last]
    assert all(boxed(found[key]) == by_mask[key] for key in (gone, torn, odd, last))
    unreadable = {(f"{key}.json", "unreadable outline"): 1 for key in (torn, odd, last)}
    assert drops(G1020(copy)) == unreadable | {(f"{gone}.jpg", "missing outline"): 1}
    shutil.rmtree(copy / "Masks")
    bare = samples(G1020(copy))
    assert len(bare) == 10 and boxed(bare[gone]) == set() and boxed(bare[torn]) == set()


def test_json_may_be_in_its_own_folder(copy):
    before = samples(G1020(copy))
    (copy / "Images" / "Images").mkdir()
    (copy / "Images" / "json_files").mkdir()
    (copy / "Json").mkdir()
    for place, folder in (("*.jpg", "Images/Images"), ("*[02468].json", "Images/json_files"), ("*.json", "Json")):
        for path in (copy / "Images").glob(place):
            path.rename(copy / folder / path.name)
    after = samples(G1020(copy))
    assert {k: (s.outlines, s.labels) for k, s in after.items()} == {
        k: (s.outlines, s.labels) for k, s in before.items()
    }
    assert all(s.outlines for s in after.values()) and drops(G1020(copy)) == {}


def test_the_disc_may_be_read_from_its_box(copy):
    key = next(iter(samples(G1020(copy))))
    content = json.loads((copy / "Images" / f"{key}.json").read_text())
    (box,) = [np.array(s["points"]) for s in content["shapes"] if s["label"] == "discLoc"]
    found = samples(G1020(copy, disc_from="discLoc"))[key].outlines
    outlines = {o.structure: np.array(o.points) for o in found}
    assert len(outlines) == len(found)
    assert (outlines["optic disc"] == box).all()
    assert box.min() < np.array(samples(G1020(copy))[key].outlines[0].points).min()


def test_derived_copies_are_ignored_and_strays_listed(copy):
    before = samples(G1020(copy))
    some = next((copy / "Images").glob("*.jpg"))
    for name in (
        "Images_Cropped/img/image_0.jpg",
        "Images_Square/x.jpg",
        "Masks_Cropped/img/x.png",
        "NerveRemoved_Images/x.jpg",
    ):
        (copy / name).parent.mkdir(parents=True)
        shutil.copy(some, copy / name)
    for name in ("Images/._a.jpg", "Images/Thumbs.db", "Images/x.jpg:Zone.Identifier", "index.html"):
        (copy / name).write_bytes(b"")
    assert samples(G1020(copy)) == before and drops(G1020(copy)) == {}
    shutil.copy(some, some.with_suffix(".png"))
    shutil.copy(some, copy / "Masks" / "image_999.png")
    (copy / "Images" / "image_998.json").write_text('{"shapes": []}')
    (copy / "notes.txt").write_bytes(b"")
    assert samples(G1020(copy)) == before
    assert drops(G1020(copy)) == {
        (f"{some.stem}.png", "same key twice"): 1,
        ("image_998.json", "missing photograph"): 1,
        ("image_999.png", "missing photograph"): 1,
        ("notes.txt", "stray file"): 1,
    }


def test_damaged_labels_are_listed_and_the_rest_is_read(copy):
    keys = [*samples(G1020(copy))]
    rows = [
        f"{keys[0]}.jpg,1",
        f"{keys[1]}.jpg,yes",
        f"{keys[2]}.jpg,0",
        f"{keys[2]}.jpg,1",
        f"{keys[3]}.JPG,0.0",
        f"{keys[4]}.jpg,0,1",
        "image_99.jpg,0",
    ]
    (copy / "G1020.csv").write_bytes("\r\n".join([" imageID ,Binary Labels", *rows, ",,"]).encode("utf-8-sig"))
    found = samples(G1020(copy))
    assert [found[k].labels.get("glaucoma") for k in keys[:5]] == ["yes", None, None, "no", None]
    listed = [d for d in G1020(copy).samples() if isinstance(d, Dropped)]
    assert [(d.reason, d.detail) for d in listed[:3]] == [
        ("unreadable label", f"{keys[1]}.jpg: label 'yes' is neither 0 nor 1"),
        ("unreadable label", f"{keys[2]}.jpg: labelled both 0 and 1"),
        ("unreadable label", f"{keys[4]}.jpg: values do not fit the columns ('1' has no column)"),
    ]
    left = [("missing label", key) for key in keys[5:]] + [("missing photograph", "image_99")]
    assert [(d.reason, d.key) for d in listed[3:]] == left


@pytest.mark.parametrize("content", [b"PK\x03\x04 torn", b"imageID,label\nimage_0.jpg,1\n", b"\x00\x01", b""])
def test_a_damaged_list_drops_only_the_labels(copy, content):
    (copy / "G1020.csv").write_bytes(content)
    found = samples(G1020(copy))
    assert len(found) == 10 and not any(s.labels for s in found.values()) and all(s.outlines for s in found.values())
    assert drops(G1020(copy)) == {("G1020.csv", "unreadable sheet"): 1}


def test_doubled_and_encoded_folders_give_the_same(drawn_g1020, tmp_path):
    expected = [(k, s.labels, s.outlines) for k, s in samples(G1020(drawn_g1020)).items()]
    shutil.copytree(drawn_g1020, tmp_path / "g1020" / "G1020")
    images = tmp_path / "g1020" / "G1020" / "Images"
    images.rename(images.with_name("%49mages"))
    assert G1020.found_in(tmp_path / "g1020") and not G1020.found_in(tmp_path)
    for root in (tmp_path / "g1020", tmp_path):
        assert [(k, s.labels, s.outlines) for k, s in samples(G1020(root)).items()] == expected


def test_other_words_for_options_are_refused():
    for wrong in ({"annotations": "xml"}, {"disc_from": "box"}):
        with pytest.raises(BadArgument, match=f"{next(iter(wrong))}="):
            G1020(**wrong)


def test_a_folder_without_photographs_is_an_error(copy):
    for path in (copy / "Images").glob("*.jpg"):
        path.unlink()
    with pytest.raises(SourceNotFound, match="every photograph"):
        G1020(copy).verify()
