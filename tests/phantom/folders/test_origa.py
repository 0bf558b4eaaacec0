import numpy as np
import pytest
from PIL import Image
from scipy.io import loadmat

from lmod_train.core.errors import BadArgument
from lmod_train.phantom.folders.origa import eyes, truths, write
from tests.tabled import tabled


def files(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_half_are_ill_and_numbers_do_not_depend_on_the_label():
    ill = [eye.diagnosis == "glaucoma" for _, eye in eyes(40, seed=0)]
    assert sum(ill) == 20 and ill != sorted(ill) and ill != sorted(ill, reverse=True)
    assert [number for number, _ in eyes(40, 0)] == [f"{i:03d}" for i in range(1, 41)]
    assert [sum(eye.diagnosis == "glaucoma" for _, eye in eyes(30, 0, p)) for p in (0, 0.1, 1)] == [0, 3, 30]


def test_folders_and_tables_are_those_of_the_layouts(tmp_path):
    trees = {
        "kaggle": [
            "Images/1.jpg",
            "Masks/1.png",
            "OrigaList.csv",
            "Semi-automatic-annotations/1.mat",
            "origa_info.csv",
        ],
        "detection": ["ORIGA/ORIGA/Images/1.jpg", "ORIGA/ORIGA/Semi-automatic-annotations/1.mat", "glaucoma.csv"],
        "original": [
            "Images/1.jpg",
            "Semi-automatic-annotations-done-by-doctors-eg-ground-truth/1.mat",
            "binary_labels.xlsx",
        ],
    }
    for layout, tree in trees.items():
        write(tmp_path / layout, 1, seed=1, size=48, layout=layout, workers=0)
        (root,) = (tmp_path / layout).iterdir()
        assert root.name == ("glaucoma-detection" if layout == "detection" else "ORIGA")
        assert sorted(files(root)) == sorted([*(p.replace("/1.", "/001.") for p in tree), "phantom.json"])
    lines = (tmp_path / "kaggle/ORIGA/OrigaList.csv").read_text().splitlines()
    assert lines[0] == "Eye,Filename,ExpCDR,Set,Glaucoma" and lines[1].split(",")[1] == "001.jpg"


def test_truth_shows_in_pixels_and_boxes_are_their_extent(tmp_path):
    write(tmp_path, 6, seed=4, size=96, workers=0)
    root = tmp_path / "ORIGA"
    ratio = {"yes": [], "no": []}
    for truth in truths(6, seed=4, size=96):
        mask = np.asarray(Image.open(root / "Masks" / f"{truth.key}.png"))
        assert (mask == loadmat(root / "Semi-automatic-annotations" / f"{truth.key}.mat")["mask"]).all()
        assert mask.shape == (96, 144) and set(np.unique(mask)) == {0, 1, 2}
        picture = Image.open(root / "Images" / f"{truth.key}.jpg")
        assert picture.size == (144, 96)
        green = np.asarray(picture)[..., 1].astype(float)
        assert green[mask == 2].mean() > green[mask == 1].mean() > np.median(green[(mask == 0) & (green > 30)])
        for name, box in truth.boxes:
            inside = (mask > 0) if name == "optic disc" else (mask == 2)
            assert inside[box.y0 : box.y1, box.x0 : box.x1].sum() == inside.sum()
            assert all(inside[box.y0 : box.y1, x].any() for x in (box.x0, box.x1 - 1))
            assert all(inside[y, box.x0 : box.x1].any() for y in (box.y0, box.y1 - 1))
        disc, cup = (box for _, box in truth.boxes)
        ratio[truth.labels["glaucoma"]].append(cup.height / disc.height)
    assert max(ratio["no"]) < 0.55 < min(ratio["yes"]) and len(ratio["yes"]) == 3


def test_files_depend_only_on_the_seed(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write(tmp_path / name, 2, seed=seed, size=48, workers=0)
    a, b, c = (files(tmp_path / name) for name in "abc")
    assert a == b and not [name for name in a if a[name] == c[name]]


@pytest.mark.parametrize("layout", ["kaggle", "original"])
def test_a_second_write_does_nothing_and_other_options_are_refused(tmp_path, layout):
    write(tmp_path, 2, seed=1, size=48, layout=layout, workers=0)
    before = files(tmp_path)
    write(tmp_path, 2, seed=1, size=48, layout=layout, workers=0)
    assert files(tmp_path) == before
    with pytest.raises(BadArgument, match="phantoms drawn with"):
        write(tmp_path, 3, seed=1, size=48, layout=layout, workers=0)


@tabled(
    ("wrong", "named"),
    [
        ({"n": -1}, "n=-1"),
        ({"layout": "zip"}, "layout='zip'"),
        ({"prevalence": 1.5}, "prevalence=1.5"),
        ({"size": 4}, "size="),
    ],
)
def test_bad_arguments_are_named_before_anything_is_written(tmp_path, wrong, named):
    with pytest.raises(BadArgument, match=named):
        write(tmp_path, **{"n": 3, "seed": 0, **wrong})
    assert list(tmp_path.iterdir()) == []
