from collections import Counter

import numpy as np
import pytest
from openpyxl import load_workbook
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box
from lmod_train.phantom.folders.oimhs import truths, write

CODES = {
    "choroid": (255, 255, 0),
    "retina": (0, 255, 0),
    "intraretinal cysts": (0, 0, 255),
    "macular hole": (255, 0, 0),
}


def images(out):
    root = out / "OIMHS_dataset" / "Images"
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*.png"))}


def rows(out, name):
    return list(load_workbook(out / "OIMHS_dataset" / name).active.iter_rows(values_only=True))


def test_the_folder_and_the_tables_are_as_published(tmp_path):
    write(tmp_path, 10, seed=1, size=48, scans=3, workers=0)
    root = tmp_path / "OIMHS_dataset"
    assert sorted(p.name for p in root.iterdir() if p.name != "phantom.json") == [
        "Demographics of the participants.xlsx",
        "Images",
        "Quality Assessment.xlsx",
    ]
    names = [f"{eye}/{scan}.png" for eye in (1, 2, 3) for scan in range(3)]
    assert [*images(tmp_path)] == [*names, "4/0.png"]
    header, *eyes = rows(tmp_path, "Demographics of the participants.xlsx")
    assert header == ("Patient ID", "Eye ID", "Eye category", "Age(years)", "Sex", "Stage")
    assert [row[:2] for row in eyes] == [(1, 1), (2, 2), (2, 3), (3, 4)]
    assert eyes[1][3:5] == eyes[2][3:5] and {eyes[1][2], eyes[2][2]} == {"OD", "OS"}  # one person's two eyes
    header, *quality = rows(tmp_path, "Quality Assessment.xlsx")
    assert header == ("Eye ID", "Image ID", "Low signal strength", "Signal shield", "Image blur")
    assert [f"{row[0]}/{row[1]}.png" for row in quality] == [*images(tmp_path)]
    assert {flag for row in quality for flag in row[2:]} <= {0, 1}


def test_boxes_are_the_extent_of_the_colours_drawn(tmp_path):
    write(tmp_path, 12, seed=2, size=64, workers=0)
    for truth in truths(12, seed=2, size=64):
        pixels = np.asarray(Image.open(tmp_path / "OIMHS_dataset" / "Images" / f"{truth.key}.png"))
        assert pixels.shape == (64, 128, 3)
        mask = pixels[:, 64:]
        extents = {}
        for structure, colour in CODES.items():
            y, x = np.nonzero((mask == colour).all(axis=2))
            if len(x):
                extents[structure] = Box(int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1)
        assert dict(truth.boxes) == extents
        assert {tuple(c) for c in mask.reshape(-1, 3).tolist()} <= {(0, 0, 0), *CODES.values()}
        assert (pixels[:, :64] == pixels[:, :64, :1]).all()  # the B-scan is grey


def test_the_hole_is_dark_in_the_image_where_the_mask_has_it(tmp_path):
    write(tmp_path, 16, seed=3, size=96, workers=0)
    for file in sorted((tmp_path / "OIMHS_dataset" / "Images").rglob("*.png")):
        pixels = np.asarray(Image.open(file)).astype(int)
        scan, mask = pixels[:, :96, 0], pixels[:, 96:]
        inside, around = (mask == CODES["macular hole"]).all(axis=2), (mask == CODES["retina"]).all(axis=2)
        if inside.any():
            assert scan[inside].mean() < 0.6 * scan[around].mean()


def test_stages_alternate_and_most_scans_show_them():
    found = truths(400, seed=0, size=32)
    by_eye = {t.key.split("/")[0]: t.labels["macular_hole_stage"] for t in found}
    assert Counter(by_eye.values()) == dict.fromkeys("1234", 25)
    order = [*by_eye.values()]
    assert order != sorted(order) and order[:4] != order[4:8]
    shown = np.mean(["macular hole" in dict(t.boxes) for t in found])
    assert 0.78 < shown < 0.92
    middle = [t for t in found if t.key.endswith("/2")]
    assert all("macular hole" in dict(t.boxes) for t in middle)


def test_counts_are_as_requested():
    found = truths(14, seed=0, size=32, scans=2, counts=(1, 1, 2, 3))
    assert Counter(t.labels["macular_hole_stage"] for t in found if t.key.endswith("/0")) == {
        "1": 1,
        "2": 1,
        "3": 2,
        "4": 3,
    }
    for wrong in ((1, 1, 1, 1), (1, 2, 4), (-1, 2, 3, 3)):
        with pytest.raises(BadArgument, match="counts="):
            truths(14, seed=0, scans=2, counts=wrong)


def test_nothing_about_the_person_or_the_exposure_follows_the_stage():
    found = truths(800, seed=0, size=16, scans=1)
    for of in (
        lambda t: t.patient.age,
        lambda t: t.patient.sex == "male",
        lambda t: t.patient.laterality == "left",
        lambda t: t.patient.quality == "no defect noted",
    ):
        values = np.array([float(of(t)) for t in found])
        means = [values[[t.labels["macular_hole_stage"] == s for t in found]].mean() for s in "1234"]
        assert max(means) - min(means) < 0.3 * values.std()


def test_files_depend_only_on_the_seed(tmp_path):
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        write(tmp_path / out, 4, seed, size=32, workers=0)
    assert images(tmp_path / "a") == images(tmp_path / "b")
    assert all(images(tmp_path / "a")[name] != data for name, data in images(tmp_path / "c").items())
    assert truths(4, 0, 32) == truths(4, 0, 32) != truths(4, 1, 32)


def test_a_second_write_does_nothing_and_other_options_are_refused(tmp_path):
    write(tmp_path, 4, seed=0, size=32, workers=0)
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.rglob("*") if p.suffix in (".png", ".xlsx")}
    write(tmp_path, 4, seed=0, size=32, workers=0)
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in before} == before and len(before) == 6
    for other in ({"n": 5}, {"seed": 1}, {"size": 33}, {"scans": 2}, {"counts": (0, 0, 0, 1)}):
        with pytest.raises(BadArgument, match="name a new folder"):
            write(tmp_path, **{"n": 4, "seed": 0, "size": 32, "workers": 0, **other})


@pytest.mark.parametrize(("wrong", "named"), [({"n": -1}, "n=-1"), ({"scans": 0}, "scans=0"), ({"size": 8}, "size=8")])
def test_bad_arguments_are_named_before_anything_is_written(tmp_path, wrong, named):
    with pytest.raises(BadArgument, match=named):
        write(tmp_path, **{"n": 3, "seed": 0, "workers": 0, **wrong})
    assert list(tmp_path.iterdir()) == []
    write(tmp_path, 0, seed=0, workers=0)
    assert images(tmp_path) == {} and truths(0, 0) == []
