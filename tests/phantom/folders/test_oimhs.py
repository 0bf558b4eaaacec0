from collections import Counter

import numpy as np
from openpyxl import load_workbook
from PIL import Image

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
    write(tmp_path, 13, seed=1, size=48, workers=0)
    root = tmp_path / "OIMHS_dataset"
    assert sorted(p.name for p in root.iterdir() if p.name != "phantom.json") == [
        "Demographics of the participants.xlsx",
        "Images",
        "Quality Assessment.xlsx",
    ]
    names = [f"{eye}/{scan}.png" for eye in (1, 2, 3) for scan in range(4)]
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


def test_nothing_about_the_person_or_the_exposure_follows_the_stage():
    found = truths(3200, seed=0, size=16)[::4]
    for of in (
        lambda t: t.patient.age,
        lambda t: t.patient.sex == "male",
        lambda t: t.patient.laterality == "left",
        lambda t: t.patient.quality == "no defect noted",
    ):
        values = np.array([float(of(t)) for t in found])
        means = [values[[t.labels["macular_hole_stage"] == s for t in found]].mean() for s in "1234"]
        assert max(means) - min(means) < 0.3 * values.std()
