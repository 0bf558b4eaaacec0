import json

import numpy as np
import pytest
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.folders.g1020 import photographs, truths, write


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_labels_cups_and_sizes_are_independent():
    drawn = photographs(200, seed=0, size=100)
    ill = np.array([one.eye.diagnosis == "glaucoma" for one in drawn])
    cup = np.array([one.cup for one in drawn])
    numbers, heights = np.array([one.number for one in drawn]), np.array([one.frame.height for one in drawn])
    widths = np.array([one.frame.width for one in drawn])
    assert ill.sum() == 100 and (~cup).sum() == 40
    assert (np.diff(numbers) > 0).all() and numbers.max() > 200
    assert len(set(zip(heights, widths, strict=True))) > 100 and (widths > heights).all()
    for other in (cup, numbers, heights, widths / heights):
        assert abs(np.corrcoef(ill, other)[0, 1]) < 0.2


def test_the_folder_is_as_published(tmp_path):
    write(tmp_path, 2, seed=1, size=48, workers=0)
    stems = [t.key for t in truths(2, seed=1, size=48)]
    images = [f"G1020/Images/{stem}{kind}" for stem in stems for kind in (".jpg", ".json")]
    masks = [f"G1020/Masks/{stem}.png" for stem in stems]
    assert sorted(files(tmp_path)) == sorted([*images, *masks, "G1020/G1020.csv", "G1020/phantom.json"])
    header, *rows = (tmp_path / "G1020/G1020.csv").read_text().splitlines()
    assert header == "imageID,binaryLabels"
    expected = {f"{t.key}.jpg,{int(t.labels['glaucoma'] == 'yes')}" for t in truths(2, seed=1, size=48)}
    assert set(rows) == expected


def test_truth_shows_in_pixels_masks_and_outlines(tmp_path):
    write(tmp_path, 10, seed=4, size=96, workers=0)
    root, ratio = tmp_path / "G1020", {"yes": [], "no": []}
    by_mask = {t.key: dict(t.boxes) for t in truths(10, seed=4, size=96, annotations="masks")}
    for truth in truths(10, seed=4, size=96):
        mask = np.asarray(Image.open(root / "Masks" / f"{truth.key}.png"))
        picture = Image.open(root / "Images" / f"{truth.key}.jpg")
        assert picture.size == mask.shape[::-1]
        green = np.asarray(picture)[..., 1].astype(float)
        assert green[mask > 0].mean() > 1.2 * np.median(green[(mask == 0) & (green > 30)])
        content = json.loads((root / "Images" / f"{truth.key}.json").read_text())
        assert (content["imageWidth"], content["imageHeight"]) == picture.size
        shapes = {shape["label"]: np.array(shape["points"]) for shape in content["shapes"]}
        assert len(shapes["disc"]) == 64 and "discLoc" in shapes
        assert set(shapes) == {name.removeprefix("optic ") for name, _ in truth.boxes} | {"discLoc"}
        for name, box in truth.boxes:
            points = shapes[name.removeprefix("optic ")]
            assert (box.x0, box.y0, box.x1, box.y1) == (*np.floor(points.min(0)), *np.ceil(points.max(0)))
            rows, columns = np.nonzero((mask > 0) if name == "optic disc" else (mask == 2))
            inner = by_mask[truth.key][name]
            assert (inner.x0, inner.y0) == (columns.min(), rows.min())
            assert (inner.x1, inner.y1) == (columns.max() + 1, rows.max() + 1)
            assert (
                np.abs(np.subtract((box.x0, box.y0, box.x1, box.y1), (inner.x0, inner.y0, inner.x1, inner.y1))).max()
                <= 1
            )
        boxes = dict(truth.boxes)
        if "optic cup" in boxes:
            ratio[truth.labels["glaucoma"]].append(boxes["optic cup"].height / boxes["optic disc"].height)
        else:
            assert 2 not in mask
    assert len(ratio["yes"]) + len(ratio["no"]) == 8 and max(ratio["no"]) < 0.6 < min(ratio["yes"])


def test_files_depend_only_on_the_seed(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, 3, seed=seed, size=48, workers=0)
    a, b, c = (files(tmp_path / name) for name in "abc")
    assert a == b and not [name for name in a if a[name] == c.get(name) and "Images" in name]


def test_a_second_write_does_nothing_and_other_options_are_refused(tmp_path):
    write(tmp_path, 2, seed=1, size=48, workers=0)
    before = files(tmp_path)
    images = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.jpg")}
    write(tmp_path, 2, seed=1, size=48, workers=0)
    assert files(tmp_path) == before and images == {p: p.stat().st_mtime_ns for p in images}
    with pytest.raises(BadArgument, match="phantoms drawn with"):
        write(tmp_path, 2, seed=2, size=48, workers=0)


@pytest.mark.parametrize(
    ("wrong", "named"), [({"n": -1}, "n=-1"), ({"size": 8}, "size=8"), ({"prevalence": -0.1}, "prevalence=-0.1")]
)
def test_bad_arguments_are_named_before_anything_is_written(tmp_path, wrong, named):
    with pytest.raises(BadArgument, match=named):
        write(tmp_path, **{"n": 3, "seed": 0, **wrong})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadArgument, match="annotations='xml'"):
        truths(1, 0, annotations="xml")
