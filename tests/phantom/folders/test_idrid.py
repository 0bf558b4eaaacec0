import math
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.folders.idrid import photographs, truths, write


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_parts_splits_and_grades_are_balanced_and_numbers_do_not_depend_on_them():
    drawn = photographs(80, seed=0, size=48)
    assert Counter((one.part, one.split) for one in drawn) == {
        **{("A", "train"): 14, ("A", "test"): 6, ("BC", "train"): 48, ("BC", "test"): 12}
    }
    assert Counter(one.grade for one in drawn if one.part == "BC") == dict.fromkeys(range(5), 12)
    assert Counter(one.grade for one in drawn if one.part == "A") == dict.fromkeys(range(1, 5), 5)
    assert Counter(one.risk for one in drawn if one.part == "BC" and one.grade > 1) == {0: 12, 1: 12, 2: 12}
    assert {one.risk for one in drawn if one.grade < 2} == {0}
    grades = [one.grade for one in drawn if one.part == "BC"]
    assert abs(np.corrcoef(grades, np.arange(60))[0, 1]) < 0.25
    assert len({one.key for one in drawn}) == 80 and drawn[62].stem < drawn[67].stem


def test_photographs_of_part_a_are_repeated_under_other_numbers():
    plain, drawn = photographs(16, seed=0, size=48), photographs(16, seed=0, size=48, repeated=2)
    assert [one.key for one in drawn] == [one.key for one in plain]
    assert [(one.eye, one.grade, one.risk) for one in drawn[4:6]] == [
        (one.eye, one.grade, one.risk) for one in plain[:2]
    ]
    assert drawn[:4] + drawn[6:] == plain[:4] + plain[6:]
    for repeated in (-1, 5):
        with pytest.raises(BadArgument, match="repeated"):
            photographs(16, seed=0, size=48, repeated=repeated)


def test_exudates_are_placed_by_the_risk():
    for one in photographs(40, seed=3, size=48):
        eye = one.eye
        away = [math.dist((e.x, e.y), eye.fovea) for e in eye.lesions if e.kind == "hard exudate"]
        within = [d <= 2 * max(eye.disc_radii) for d in away]
        if one.part == "BC":
            assert one.risk == (0 if not away else 2 if any(within) else 1)


def test_the_folder_is_as_published(tmp_path):
    write(tmp_path, 8, seed=1, size=48, workers=0)
    root = tmp_path / "IDRiD"
    written = {p for p in files(root) if not p.startswith("A. Segmentation/2.")}
    a, b = "a. Training Set", "b. Testing Set"
    grades, points = "B. Disease Grading/2. Groundtruths", "C. Localization/2. Groundtruths"
    assert written == {
        "phantom.json",
        f"A. Segmentation/1. Original Images/{a}/IDRiD_01.jpg",
        f"A. Segmentation/1. Original Images/{a}/IDRiD_02.jpg",
        *(
            f"{part}/1. Original Images/{a}/IDRiD_00{i}.jpg"
            for i in (1, 2, 3, 4)
            for part in ("B. Disease Grading", "C. Localization")
        ),
        *(
            f"{part}/1. Original Images/{b}/IDRiD_00{i}.jpg"
            for i in (1, 2)
            for part in ("B. Disease Grading", "C. Localization")
        ),
        f"{grades}/a. IDRiD_Disease Grading_Training Labels.csv",
        f"{grades}/b. IDRiD_Disease Grading_Testing Labels.csv",
        f"{points}/1. Optic Disc Center Location/a. IDRiD_OD_Center_Training Set_Markups.csv",
        f"{points}/1. Optic Disc Center Location/b. IDRiD_OD_Center_Testing Set_Markups.csv",
        f"{points}/2. Fovea Center Location/IDRiD_Fovea_Center_Training Set_Markups.csv",
        f"{points}/2. Fovea Center Location/IDRiD_Fovea_Center_Testing Set_Markups.csv",
    }
    lines = (root / f"{grades}/a. IDRiD_Disease Grading_Training Labels.csv").read_text().splitlines()
    assert lines[0].startswith("Image name,Retinopathy grade,Risk of macular edema ,") and lines[-1] == ",,,,"
    same = [root / part / f"1. Original Images/{b}/IDRiD_001.jpg" for part in ("B. Disease Grading", "C. Localization")]
    assert same[0].read_bytes() == same[1].read_bytes() and Image.open(same[0]).size == (72, 48)


def test_lesions_and_disc_show_where_their_masks_are(tmp_path):
    write(tmp_path, 16, seed=4, size=128, workers=0)
    root = tmp_path / "IDRiD" / "A. Segmentation"
    seen = Counter()
    for path in root.rglob("*.tif"):
        image = Image.open(path)
        assert image.mode == "P" and image.getpalette()[:6] == [0, 0, 0, 255, 0, 0]
        mask = np.asarray(image) > 0
        photo = root / "1. Original Images" / path.parents[1].name / f"{path.stem[:8]}.jpg"
        green = np.asarray(Image.open(photo))[..., 1].astype(float)
        inside, around = green[mask].mean(), np.median(green[~mask & (green > 30)])
        assert inside < 0.95 * around if path.stem[-2:] in ("MA", "HE") else inside > 1.1 * around
        seen[path.stem[-2:]] += 1
    grades = Counter(one.grade for one in photographs(16, seed=4, size=128) if one.part == "A")
    assert (seen["OD"], seen["MA"], seen["HE"]) == (4, 4, 3) and seen["SE"] == grades[3] + grades[4] and seen["EX"]


def test_boxes_are_the_extent_of_masks_and_points(tmp_path):
    write(tmp_path, 8, seed=5, size=128, workers=0)
    root = tmp_path / "IDRiD"
    codes = {
        "optic disc": "OD",
        "microaneurysms": "MA",
        "haemorrhages": "HE",
        "hard exudates": "EX",
        "soft exudates": "SE",
    }
    drawn = {one.key: one for one in photographs(8, seed=5, size=128)}
    for truth in truths(8, seed=5, size=128, lesions=True):
        one = drawn[truth.key]
        for structure, box in truth.boxes:
            if one.part == "A":
                (path,) = root.rglob(f"{one.stem}_{codes[structure]}.tif")
                rows, columns = np.nonzero(np.asarray(Image.open(path)))
                assert (box.x0, box.y0, box.x1, box.y1) == (
                    columns.min(),
                    rows.min(),
                    columns.max() + 1,
                    rows.max() + 1,
                )
            else:
                at = one.frame.pixel(one.eye.fovea if structure == "fovea" else one.eye.disc)
                middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
                assert middle == pytest.approx(at, abs=1.01)
                sides = (200, 200) if structure == "fovea" else (600, 500)
                assert (box.width, box.height) == pytest.approx([side * 193 / 4288 for side in sides], abs=2)
    discless = truths(8, seed=5, size=128, disc_size=None, fovea_side=400)
    assert all(len(t.boxes) == 1 for t in discless)
    assert max(t.boxes[0][1].width for t in discless if t.key.startswith("BC")) == pytest.approx(
        400 * 193 / 4288, abs=2
    )


def test_files_depend_only_on_the_seed(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, 5, seed=seed, size=48, workers=0)
    a, b, c = (files(tmp_path / name) for name in "abc")
    assert a == b and not [name for name in a if a[name] == c.get(name) and name.endswith(("jpg", "OD.tif"))]


def test_a_second_write_does_nothing_and_other_options_are_refused(tmp_path):
    write(tmp_path, 4, seed=1, size=48, workers=0)
    before, images = files(tmp_path), {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.jpg")}
    write(tmp_path, 4, seed=1, size=48, workers=0)
    assert files(tmp_path) == before and images == {p: p.stat().st_mtime_ns for p in images}
    with pytest.raises(BadArgument, match="phantoms drawn with"):
        write(tmp_path, 4, seed=1, size=64, workers=0)


@pytest.mark.parametrize(("wrong", "named"), [({"n": -1}, "n=-1"), ({"size": 8}, "size=8")])
def test_bad_arguments_are_named_before_anything_is_written(tmp_path, wrong, named):
    with pytest.raises(BadArgument, match=named):
        write(tmp_path, **{"n": 3, "seed": 0, **wrong})
    assert list(tmp_path.iterdir()) == []
