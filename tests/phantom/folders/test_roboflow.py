import json
from collections import Counter

import numpy as np
import pytest
import yaml
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.eye_photograph import boxes, draw_eye_photograph, render
from lmod_train.phantom.folders.roboflow import Exported, Place, Project, augment, places, stems, write_export

PROJECT = Project("space", "eyes", ("eye", "pupil"))


def images(size=64):
    found = []
    for number, split in enumerate(("train", "valid")):
        taken = draw_eye_photograph(number, "left", cataract=False)
        eye, _, pupil = (box for _, box in boxes(taken, size))
        found.append(Exported(taken, split, f"{number}_png.rf.{number:032x}", (("eye", eye), ("pupil", pupil))))
    return found


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_only_training_photographs_are_copied_and_families_stay_in_one_split():
    found = list(places(48))
    assert len(found) == 48
    family = {p.family: [q for q in found if q.family == p.family] for p in found}
    for members in family.values():
        assert len({p.split for p in members}) == 1
        copies = [p.copy for p in members]
        assert copies == ([0, 1, 2] if members[0].split == "train" else [None])
    assert Counter(members[0].split for members in family.values()) == {"train": 14, "valid": 4, "test": 2}


def test_n_counts_images_and_the_last_family_may_lack_copies():
    assert [len(list(places(n))) for n in range(8)] == list(range(8))
    assert [p.copy for p in places(2)] == [0, 1]
    with pytest.raises(BadArgument, match="n=-1"):
        list(places(-1))


def test_without_copies_every_photograph_is_the_original():
    assert {p.copy for p in places(20, copies=0)} == {None} and len({p.family for p in places(20, copies=0)}) == 20


def test_stems_are_unique_and_copies_share_the_name_before_rf():
    found = list(places(24))
    named = stems("x", 1, found)
    assert len(set(named)) == 24
    families = {}
    for place, stem in zip(found, named, strict=True):
        name, _, digits = stem.partition(".rf.")
        assert len(digits) == 32 and int(digits, 16) >= 0 and name.split("_")[1] in ("png", "jpg", "jpeg")
        families.setdefault(place.family, set()).add(name)
    assert all(len(names) == 1 for names in families.values())
    assert len(set.union(*families.values())) == len(families)
    assert named == stems("x", 1, found) != stems("x", 2, found)
    numbers = [int(next(iter(families[f])).split("_")[0]) for f in sorted(families)]
    assert numbers != sorted(numbers)
    assert stems("x", 1, []) == []


def test_the_yolo_export_has_the_folders_and_lines_of_roboflow(tmp_path):
    write_export(tmp_path, images(), PROJECT, {"source": "x"}, 64, workers=0)
    names = [
        f"{i.split}/{kind}/{i.stem}.{end}" for i in images() for kind, end in (("images", "jpg"), ("labels", "txt"))
    ]
    assert set(files(tmp_path)) == {*names, "data.yaml", "README.dataset.txt", "README.roboflow.txt", "phantom.json"}
    content = yaml.safe_load((tmp_path / "data.yaml").read_text())
    assert (content["nc"], content["names"], content["roboflow"]["project"]) == (2, ["eye", "pupil"], "eyes")
    for image in images():
        lines = (tmp_path / image.split / "labels" / f"{image.stem}.txt").read_text().splitlines()
        for line, (name, box) in zip(lines, image.objects, strict=True):
            kind, x, y, width, height = map(float, line.split())
            assert PROJECT.classes[int(kind)] == name
            assert (x * 64, y * 64) == ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
            assert (width * 64, height * 64) == (box.width, box.height)


def test_the_coco_export_has_one_json_per_part_with_a_placeholder_category(tmp_path):
    write_export(tmp_path, images(), PROJECT, {"source": "x"}, 64, "coco", workers=0)
    train = images()[0]
    assert {f"train/{train.stem}.jpg", "train/_annotations.coco.json"} <= set(files(tmp_path))
    coco = json.loads((tmp_path / "train" / "_annotations.coco.json").read_text())
    above = {"id": 0, "name": "eye-pupil", "supercategory": "none"}
    assert coco["categories"][0] == above and {c["supercategory"] for c in coco["categories"][1:]} == {"eye-pupil"}
    names = {c["id"]: c["name"] for c in coco["categories"]}
    (image,) = coco["images"]
    assert (image["file_name"], image["width"], image["height"]) == (f"{train.stem}.jpg", 64, 64)
    found = [(names[a["category_id"]], a["bbox"]) for a in coco["annotations"] if a["image_id"] == image["id"]]
    assert found == [(name, [b.x0, b.y0, b.width, b.height]) for name, b in train.objects]


def test_a_second_writing_changes_nothing_and_other_options_are_refused(tmp_path):
    write_export(tmp_path, images(), PROJECT, {"source": "x"}, 64, workers=0)
    before, gone = files(tmp_path), tmp_path / "train" / "images" / f"{images()[0].stem}.jpg"
    gone.unlink()
    times = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.jpg")}
    write_export(tmp_path, images(), PROJECT, {"source": "x"}, 64, workers=0)
    assert files(tmp_path) == before and all(p.stat().st_mtime_ns == at for p, at in times.items())
    with pytest.raises(BadArgument, match="name a new folder"):
        write_export(tmp_path, images(72), PROJECT, {"source": "x"}, 72, workers=0)


@pytest.mark.parametrize(("size", "flavour", "named"), [(63, "yolo", "size=63"), (64, "voc", "flavour='voc'")])
def test_bad_arguments_are_named_before_anything_is_written(tmp_path, size, flavour, named):
    with pytest.raises(BadArgument, match=named):
        write_export(tmp_path / "x", [], PROJECT, {"source": "x"}, size, flavour, workers=0)
    assert not (tmp_path / "x").exists()


def test_augmentation_salts_seven_percent_within_the_stated_brightness():
    plain = Image.new("RGB", (200, 200), (120, 110, 100))
    gains, grey, salted = [], 0, []
    for seed in range(60):
        pixels = np.asarray(augment(plain, seed)).astype(float)
        noise = (pixels == 0).all(axis=-1) | (pixels == 255).all(axis=-1)
        salted.append(noise.mean())
        kept = pixels[~noise]
        gains.append(kept.mean() / 110)
        grey += bool((kept[:, 0] == kept[:, 2]).all())
    assert np.mean(salted) == pytest.approx(0.07, abs=0.002) and np.ptp(salted) < 0.02
    assert 0.54 < min(gains) < 0.65 and 1.3 < max(gains) < 1.46
    assert 10 < grey < 40


def test_augmentation_blurs_and_leaves_everything_where_it_was():
    picture = render(draw_eye_photograph(3, "right", cataract=False), 128)
    for seed in range(4):
        copy = np.asarray(augment(picture, seed).convert("L")).astype(float)
        kept = (copy > 0) & (copy < 255)
        assert np.corrcoef(copy[kept], np.asarray(picture.convert("L")).astype(float)[kept])[0, 1] > 0.9
    assert augment(picture, 1).tobytes() == augment(picture, 1).tobytes() != augment(picture, 2).tobytes()


def test_places_are_as_specified():
    assert next(places(1)) == Place(0, "train", 0)
