import numpy as np
import pytest
import yaml
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.folders.cau001 import truths, write


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_the_same_seed_writes_the_same_bytes_and_another_writes_others(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, 5, seed, size=64, workers=0)
    a, b, c = (files(tmp_path / name / "CAU001") for name in "abc")
    assert a == b
    assert not {v for k, v in a.items() if k.endswith(".jpg")} & {v for k, v in c.items() if k.endswith(".jpg")}


def test_folders_and_classes_are_those_of_the_export(tmp_path):
    write(tmp_path, 5, 0, size=64, workers=0)
    assert yaml.safe_load((tmp_path / "CAU001" / "data.yaml").read_text())["names"] == [
        "Iris", "Ojo Der", "Ojo Izq", "Pupila"]  # fmt: skip
    assert {p.parent.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.jpg")} == {
        f"CAU001/{part}/images" for part in ("train", "valid", "test")
    }
    assert {f"{t.key.replace('/', '/images/')}.jpg" for t in truths(5, 0, 64)} == {
        p.relative_to(tmp_path / "CAU001").as_posix() for p in tmp_path.rglob("*.jpg")
    }


def test_views_alternate_and_all_parts_have_some():
    found = truths(60, 0, 64)
    counts = {len(t.boxes) for t in found}
    assert counts == {2, 3, 6}
    assert {t.patient.laterality for t in found} == {"right", "left", None}
    assert {t.key.split("/")[0] for t in found[:5]} == {"train", "valid", "test"}
    assert all(t.labels == {} for t in found)


def test_copies_of_a_family_share_boxes_and_group_and_differ_in_pixels(tmp_path):
    write(tmp_path, 3, 3, size=64, workers=0)
    first, *others = truths(3, 3, 64)
    assert all((t.group, t.boxes, t.patient) == (first.group, first.boxes, first.patient) for t in others)
    assert len({p.read_bytes() for p in tmp_path.rglob("*.jpg")}) == 3


def test_names_do_not_depend_on_the_view():
    found = {t.group: len(t.boxes) + (t.patient.laterality == "left") for t in truths(120, 0, 64)}
    in_order = [kind for _, kind in sorted(found.items(), key=lambda item: int(item[0].split("_")[0]))]
    turns = [kind for _, kind in found.items()]
    assert in_order != turns and abs(np.corrcoef(range(len(found)), in_order)[0, 1]) < 0.4


def test_the_pupil_box_holds_the_dark_of_most_eyes_in_the_files(tmp_path):
    write(tmp_path, 30, 8, size=96, workers=0)
    dark = {}
    for truth in truths(30, 8, 96):
        image = np.asarray(Image.open(tmp_path / "CAU001" / f"{truth.key.replace('/', '/images/')}.jpg").convert("L"))
        boxes = dict(truth.boxes)
        inner, outer = (np.median(image[b.y0 : b.y1, b.x0 : b.x1]) for b in (boxes["pupil"], boxes["iris"]))
        dark[truth.group] = bool(inner < 0.75 * outer)
    assert len(dark) >= 12 and 0.4 <= np.mean(list(dark.values())) <= 0.95  # three of ten are cloudy


def test_a_second_writing_does_nothing_and_other_options_are_refused(tmp_path):
    write(tmp_path, 4, 0, size=64, workers=0)
    times = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.jpg")}
    write(tmp_path, 4, 0, size=64, workers=0)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.jpg")} == times
    for other in ({"n": 5}, {"seed": 1}, {"size": 72}, {"flavour": "coco"}):
        with pytest.raises(BadArgument, match="name a new folder"):
            write(tmp_path, **{"n": 4, "seed": 0, "size": 64, "workers": 0, **other})


def test_zero_images_are_written_and_negative_numbers_refused(tmp_path):
    assert truths(0, 0) == []
    write(tmp_path / "none", 0, 0, workers=0)
    for wrong, named in (({"n": -1}, "n=-1"), ({"size": 10}, "size=10"), ({"flavour": "voc"}, "voc")):
        with pytest.raises(BadArgument, match=named):
            write(tmp_path / "wrong", **{"n": 1, "seed": 0, "workers": 0, **wrong})
    assert not (tmp_path / "wrong").exists()
