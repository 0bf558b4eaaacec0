import pytest
from openpyxl import load_workbook

from lmod_train.phantom.folders.refuge import truth, write


def test_parts_are_thirds_with_half_of_each_ill():
    found = truth(14, seed=0)
    parts = {part: [eye.diagnosis for key, eye in found if key.startswith(part)] for part in ("train", "val", "test")}
    assert {part: len(eyes) for part, eyes in parts.items()} == {"train": 5, "val": 5, "test": 4}
    assert [eyes.count("glaucoma") for eyes in parts.values()] == [2, 2, 2]
    assert {eye.diagnosis for _, eye in found} == {"glaucoma", "normal"}


def test_stems_of_validation_and_test_do_not_depend_on_the_label():
    ill = [eye.diagnosis == "glaucoma" for key, eye in truth(60, seed=0) if key.startswith("val/V")]
    assert len(ill) == 20 and ill != sorted(ill) and ill != sorted(ill, reverse=True)
    assert all((key[6] == "g") == (e.diagnosis == "glaucoma") for key, e in truth(60, 0) if key.startswith("train"))


def test_sheets_have_the_headers_of_the_publisher(tmp_path):
    write(tmp_path, 6, seed=1, size=50, workers=0)
    places = {
        "train": ("Annotation-Training400/Annotation-Training400/Fovea_location.xlsx", None),
        "val": ("REFUGE-Validation400-GT/Fovea_locations.xlsx", "Glaucoma Label"),
        "test": ("REFUGE-Test-GT/Glaucoma_label_and_Fovea_location.xlsx", "Label(Glaucoma=1)"),
    }
    eyes = dict(truth(6, seed=1))
    for part, (place, label) in places.items():
        header, *rows = load_workbook(tmp_path / "REFUGE" / place).active.iter_rows(values_only=True)
        assert header == ("ID", "ImgName", *([label] if label else []), "Fovea_X", "Fovea_Y")
        assert len(rows) == 2
        for row in rows:
            eye = eyes[f"{part}/{row[1].removesuffix('.jpg')}"]
            assert row[-2] - 0.5 == pytest.approx(eye.fovea[0] * 50, abs=0.01)
            assert not label or row[2] == (eye.diagnosis == "glaucoma")
