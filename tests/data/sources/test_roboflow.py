"""Roboflow exports in general, tested with CAU001, whose class names are known."""

import json
import shutil

import pytest
from PIL import Image

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.sources.cau001 import Cau001
from tests.drawn import cau001

FLAVOURS = ("yolo", "coco")
N, SEED, SIZE = 12, 31, 64


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    raw = tmp_path_factory.mktemp("exports")
    for flavour in FLAVOURS:
        cau001.write(raw / flavour, N, SEED, SIZE, flavour, workers=0)
    return {flavour: raw / flavour / "CAU001" for flavour in FLAVOURS}


@pytest.fixture
def yolo(exports, tmp_path):
    return shutil.copytree(exports["yolo"], tmp_path / "cau001.v1i.yolov11")


@pytest.fixture
def coco(exports, tmp_path):
    return shutil.copytree(exports["coco"], tmp_path / "cau001.v1i.coco")


def samples(root):
    return [s for s in Cau001(root).samples() if isinstance(s, Sample)]


def drops(root):
    return [(d.file, d.reason, d.detail) for d in Cau001(root).samples() if isinstance(d, Dropped)]


def bare(root):
    return [s.key for s in samples(root) if not s.outlines]


def label(root, number=0):
    return sorted((root / "train" / "labels").iterdir())[number]


def test_both_flavours_give_the_same(exports):
    one, other = (samples(exports[flavour]) for flavour in FLAVOURS)
    assert [s.key for s in one] == [s.key for s in other] and len(one) == N
    for a, b in zip(one, other, strict=True):
        assert (a.group, a.patient, [o.structure for o in a.outlines]) == (
            b.group, b.patient, [o.structure for o in b.outlines])  # fmt: skip
        for mine, theirs in zip(a.outlines, b.outlines, strict=True):
            assert [v for p in mine.points for v in p] == pytest.approx([v for p in theirs.points for v in p])
    assert drops(exports["yolo"]) == drops(exports["coco"]) == []


def test_parts_come_in_order_and_stems_are_sorted_in_them(exports):
    keys = [s.key.split("/") for s in samples(exports["yolo"])]
    assert list(dict.fromkeys(part for part, _ in keys)) == ["train", "valid", "test"]
    for part in ("train", "valid", "test"):
        stems = [stem for p, stem in keys if p == part]
        assert stems == sorted(stems)


def test_augmented_copies_are_one_group_even_in_two_parts(yolo):
    groups = [s.group for s in samples(yolo) if s.key.startswith("train/")]
    assert sorted(groups.count(g) for g in set(groups)) == [3, 3, 3] and not any(".rf." in g for g in groups)
    old = label(yolo)
    family = old.name.partition(".rf.")[0]
    for kind, ending in (("images", "jpg"), ("labels", "txt")):
        shutil.move(yolo / "train" / kind / f"{old.stem}.{ending}", yolo / "test" / kind / f"{old.stem}.{ending}")
    found = {s.key.split("/")[0] for s in samples(yolo) if s.group == family}
    assert found == {"train", "test"}


def test_a_name_without_rf_is_its_own_group(yolo):
    for kind, ending in (("images", "jpg"), ("labels", "txt")):
        file = yolo / "train" / kind / f"{label(yolo).stem}.{ending}"
        shutil.copy(file, file.with_stem("1Left_520"))
    assert {s.key: s.group for s in samples(yolo)}["train/1Left_520"] == "1Left_520"


def test_a_part_called_val_and_capitals_are_read(yolo):
    keys = [s.key for s in samples(yolo)]
    (yolo / "valid").rename(yolo / "val")
    (yolo / "train" / "images").rename(yolo / "train" / "Images")
    assert [s.key.replace("val/", "valid/") for s in samples(yolo)] == keys
    assert bare(yolo) == []


def test_the_export_is_found_doubled_and_a_few_levels_down_beside_clutter(yolo, tmp_path):
    keys = [s.key for s in samples(yolo)]
    doubled = tmp_path / "x" / "y"
    shutil.copytree(yolo, doubled / "y")
    assert Cau001.found_in(doubled) and not Cau001.found_in(tmp_path / "x")
    for root in (doubled, tmp_path / "x"):
        Cau001(root).verify()
        assert [s.key for s in samples(root)] == keys
    for name in ("__MACOSX/._data.yaml", "index.html", "train/images/a.jpg:Zone.Identifier", ".DS_Store"):
        (doubled / "y" / name).parent.mkdir(exist_ok=True)
        (doubled / "y" / name).write_bytes(b"\x00")
    assert [s.key for s in samples(doubled)] == keys and drops(doubled) == []


def test_a_second_export_below_the_root_is_listed_and_not_read(yolo, coco, tmp_path):
    assert len(samples(tmp_path)) == N
    assert [(file, reason) for file, reason, _ in drops(tmp_path)] == [(yolo.name, "another copy")]


def test_an_empty_label_file_is_a_photograph_without_boxes_and_no_problem(yolo):
    label(yolo).write_text("")
    assert bare(yolo) == [f"train/{label(yolo).stem}"] and drops(yolo) == []


def test_missing_malformed_and_unknown_labels_drop_their_own_boxes_only(yolo):
    missing, malformed, unknown = (label(yolo, i) for i in range(3))
    missing.unlink()
    malformed.write_text(malformed.read_text() + "\n3 0.5 0.5 0.1")
    unknown.write_text("9 0.5 0.5 0.1 0.1")
    assert len(samples(yolo)) == N
    assert bare(yolo) == [f"train/{file.stem}" for file in (missing, malformed, unknown)]
    dropped = drops(yolo)
    assert [(file, reason) for file, reason, _ in dropped] == [
        (f"train/images/{malformed.stem}.jpg", "unreadable label"),
        (f"train/images/{unknown.stem}.jpg", "unknown class"),
        (f"train/images/{missing.stem}.jpg", "missing label"),
    ]
    assert "'3 0.5 0.5 0.1'" in dropped[0][2] and "class 9" in dropped[1][2]
    assert {d.extent for d in Cau001(yolo).samples() if isinstance(d, Dropped)} == {"part"}


def test_stray_files_lone_labels_and_doubled_keys_are_listed(yolo):
    photograph = yolo / "train" / "images" / f"{label(yolo).stem}.jpg"
    shutil.copy(photograph, photograph.with_suffix(".png"))
    (yolo / "train" / "labels" / "alone.txt").write_text("0 0.5 0.5 0.1 0.1")
    for name in ("notes.txt", "train/labels.cache", "train/images/a.gif", "other/b.jpg"):
        (yolo / name).parent.mkdir(exist_ok=True)
        (yolo / name).write_bytes(b"")
    assert [(file, reason) for file, reason, _ in drops(yolo)] == [
        ("train/labels/alone.txt", "missing photograph"),
        (f"train/images/{photograph.stem}.png", "same key twice"),
        ("notes.txt", "stray file"),
        ("other/b.jpg", "stray file"),
        ("train/labels.cache", "stray file"),
        ("train/images/a.gif", "stray file"),
    ]
    assert len(samples(yolo)) == N


def test_class_names_are_those_of_data_yaml_whatever_their_order(yolo):
    keys = {s.key: {o.structure for o in s.outlines} for s in samples(yolo)}
    (yolo / "data.yaml").write_text("names: {0: Pupila, 1: Ojo Izq, 2: Ojo Der, 3: Iris}")
    turned = {"pupil": "iris", "iris": "pupil", "left eye": "right eye", "right eye": "left eye"}
    assert {s.key: {turned[o.structure] for o in s.outlines} for s in samples(yolo)} == keys


@pytest.mark.parametrize("text", ["names: [", "nc: 4", ""])
def test_without_class_names_nothing_can_be_read_and_the_error_gives_the_reason(yolo, text):
    (yolo / "data.yaml").write_text(text)
    assert Cau001.found_in(yolo), "its readme names it"
    for readme in yolo.glob("README*"):
        readme.unlink()
    assert not Cau001.found_in(yolo)
    with pytest.raises(SourceNotFound, match="unreadable class names"):
        Cau001(yolo).verify()


def test_an_export_without_photographs_is_not_there(yolo):
    for part in ("train", "valid", "test"):
        shutil.rmtree(yolo / part / "images")
    with pytest.raises(SourceNotFound, match="photographs"):
        list(Cau001(yolo).samples())


def test_a_damaged_coco_file_drops_its_part_only(coco):
    file = coco / "valid" / "_annotations.coco.json"
    file.write_bytes(file.read_bytes()[:100])
    assert Cau001.found_in(coco)
    assert len(samples(coco)) == N and bare(coco) == [s.key for s in samples(coco) if s.key.startswith("valid/")]
    assert [entry[:2] for entry in drops(coco)] == [("valid/_annotations.coco.json", "unreadable label")]


def test_a_part_without_its_coco_file_comes_without_boxes(coco):
    (coco / "test" / "_annotations.coco.json").unlink()
    assert {key.split("/")[0] for key in bare(coco)} == {"test"}
    assert [entry[:2] for entry in drops(coco)] == [("test", "missing table")]


def test_a_stated_size_that_differs_from_the_photograph_drops_its_boxes(coco):
    whole = {s.key: s for s in samples(coco)}
    changed = whole[
        "train/" + json.loads((coco / "train" / "_annotations.coco.json").read_text())["images"][0]["file_name"][:-4]
    ]
    with Image.open(changed.image) as image:
        image.resize((image.width, image.height // 2)).save(changed.image)
    assert bare(coco) == [changed.key]
    ((file, reason, detail),) = drops(coco)
    assert (file, reason) == (changed.image.relative_to(coco).as_posix(), "size differs") and "annotated at" in detail


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_part_that_is_not_there_is_listed_and_the_others_are_read(yolo, part):
    shutil.rmtree(yolo / part)
    assert samples(yolo) and not [s for s in samples(yolo) if s.key.startswith(part)]
    assert [(d.key, d.reason, d.extent) for d in Cau001(yolo).samples() if isinstance(d, Dropped)] == [
        (part, "missing split", "gone")
    ]


def test_photographs_that_the_coco_file_misses_or_names_wrongly_are_listed(coco):
    file = coco / "train" / "_annotations.coco.json"
    content = json.loads(file.read_text())
    first = content["images"][0]["file_name"]
    content["images"][0]["file_name"] = "gone.jpg"
    file.write_text(json.dumps(content))
    assert [d[:2] for d in drops(coco)] == [
        ("train/_annotations.coco.json", "missing photograph"),
        (f"train/{first}", "missing label"),
    ]
    assert next(d.key for d in Cau001(coco).samples() if isinstance(d, Dropped)) == "train/gone"
    assert bare(coco) == [f"train/{first.removesuffix('.jpg')}"]


def test_all_coco_files_damaged_are_listed(coco):
    for part in ("train", "valid", "test"):
        (coco / part / "_annotations.coco.json").write_text("[]")
    assert Cau001.found_in(coco), "its readme names it"
    with pytest.raises(SourceNotFound, match="COCO"):
        Cau001(coco).verify()
