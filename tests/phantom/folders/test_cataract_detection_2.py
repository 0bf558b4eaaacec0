from collections import Counter

import numpy as np
import pytest
import yaml
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.folders.cataract_detection_2 import truths, write

ROOT = "Cataract Detection 2"


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def opened(root, truth):
    return np.asarray(Image.open(root / ROOT / f"{truth.key.replace('/', '/images/')}.jpg").convert("L")).astype(float)


def test_the_same_seed_writes_the_same_bytes_and_another_writes_others(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, 4, seed, size=64, workers=0)
    a, b, c = (files(tmp_path / name / ROOT) for name in "abc")
    assert a == b
    assert not {v for k, v in a.items() if k.endswith(".jpg")} & {v for k, v in c.items() if k.endswith(".jpg")}


def test_classes_are_balanced_in_every_part():
    parts = Counter((t.key.split("/")[0], t.labels["diagnosis"]) for t in truths(40, 0, 64))
    assert parts == {
        ("train", "cataract"): 14,
        ("train", "normal"): 14,
        ("valid", "cataract"): 4,
        ("valid", "normal"): 4,
        ("test", "cataract"): 2,
        ("test", "normal"): 2,
    }
    assert [len(truths(n, 0, 64)) for n in range(5)] == list(range(5))
    assert all(
        t.labels["cataract"] == ("yes" if t.labels["diagnosis"] == "cataract" else "no") for t in truths(9, 0, 64)
    )


def test_each_photograph_is_its_own_group_with_one_box():
    found = truths(20, 0, 64)
    assert len({t.group for t in found}) == 20 and all([n for n, _ in t.boxes] == ["eye"] for t in found)


def test_the_truth_shows_in_the_pupil_and_nowhere_else(tmp_path):
    write(tmp_path, 60, 4, size=96, workers=0)
    middles, rims = {"cataract": [], "normal": []}, {"cataract": [], "normal": []}
    for truth in truths(60, 4, 96):
        image, (_, box) = opened(tmp_path, truth), truth.boxes[0]
        part = image[box.y0 : box.y1, box.x0 : box.x1]
        dark = np.sort(part.ravel())[: max(1, part.size // 40)]  # a clear pupil is the darkest fortieth
        middles[truth.labels["diagnosis"]].append(dark.mean() / np.median(part))
        rims[truth.labels["diagnosis"]].append((image[:8].mean(), box.x0, box.y0, box.width, box.height))
    cut = np.median(middles["cataract"] + middles["normal"])
    right = sum(m > cut for m in middles["cataract"]) + sum(m <= cut for m in middles["normal"])
    assert right / 60 > 0.75
    cataract, normal = (np.array(rims[name]) for name in ("cataract", "normal"))
    spread = np.sqrt((cataract.var(axis=0) + normal.var(axis=0)) / 2)
    assert (np.abs(cataract.mean(axis=0) - normal.mean(axis=0)) / spread < 0.75).all()  # 2.9 standard errors


def test_names_do_not_depend_on_the_class():
    ill = [t.labels["cataract"] == "yes" for t in sorted(truths(80, 0, 64), key=lambda t: int(t.group.split("_")[0]))]
    assert abs(np.corrcoef(np.arange(80), ill)[0, 1]) < 0.3 and abs(np.corrcoef(np.arange(80) % 2, ill)[0, 1]) < 0.3
    endings = Counter((t.group.split("_")[1], t.labels["cataract"]) for t in truths(300, 0, 64))
    assert all(endings[end, "yes"] == pytest.approx(endings[end, "no"], abs=25) for end in ("png", "jpg", "jpeg"))


def test_folders_are_those_of_an_export(tmp_path):
    write(tmp_path, 6, 0, size=64, workers=0)
    assert yaml.safe_load((tmp_path / ROOT / "data.yaml").read_text())["names"] == ["cataract", "normal"]
    assert {p.name for p in (tmp_path / ROOT).iterdir()} == {
        "data.yaml", "README.dataset.txt", "README.roboflow.txt", "phantom.json", "train", "valid", "test"}  # fmt: skip
    assert {f"{t.key.replace('/', '/labels/')}.txt" for t in truths(6, 0, 64)} == {
        p.relative_to(tmp_path / ROOT).as_posix() for p in tmp_path.rglob("*/labels/*.txt")
    }


def test_a_second_writing_does_nothing_and_other_options_are_refused(tmp_path):
    write(tmp_path, 3, 0, size=64, workers=0)
    times = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.jpg")}
    write(tmp_path, 3, 0, size=64, workers=0)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.jpg")} == times
    with pytest.raises(BadArgument, match="name a new folder"):
        write(tmp_path, 4, 0, size=64, workers=0)


def test_zero_images_are_written_and_negative_numbers_refused(tmp_path):
    assert truths(0, 0) == []
    write(tmp_path / "none", 0, 0, workers=0)
    for wrong, named in (({"n": -1}, "n=-1"), ({"size": 10}, "size=10"), ({"flavour": "voc"}, "voc")):
        with pytest.raises(BadArgument, match=named):
            write(tmp_path / "wrong", **{"n": 1, "seed": 0, "workers": 0, **wrong})
    assert not (tmp_path / "wrong").exists()
