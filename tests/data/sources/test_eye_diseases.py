import shutil

import pytest

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.sources.eye_diseases import EyeDiseases


@pytest.fixture
def copy(drawn, tmp_path):
    return shutil.copytree(drawn / "eyes" / "eye_diseases_classification", tmp_path / "any name")


def samples(root):
    return [s for s in EyeDiseases(root).samples() if isinstance(s, Sample)]


def drops(root):
    return [(d.file, d.reason) for d in EyeDiseases(root).samples() if isinstance(d, Dropped)]


def test_layouts_without_dataset_or_doubled_give_the_same_keys(copy, tmp_path):
    keys = [s.key for s in samples(copy)]
    flat = shutil.move(copy / "dataset", tmp_path / "flat")
    doubled = shutil.copytree(flat, tmp_path / "x" / "x" / "dataset")
    inner = shutil.copytree(flat, tmp_path / "inner")
    for name in ("cataract", "normal"):
        shutil.copytree(inner / name, tmp_path / "c" / name)
        shutil.rmtree(inner / name)
        shutil.move(tmp_path / "c" / name, inner / name / name)
    for root in (flat, doubled.parent, doubled.parent.parent, inner):
        assert EyeDiseases.found_in(root), root
        assert [s.key for s in samples(root)] == keys, root


def test_both_eyes_of_a_patient_and_copies_of_a_photograph_are_one_group(copy):
    data = copy / "dataset"
    some = next((data / "normal").iterdir())
    for name in ("cataract/900_left.jpg", "normal/900_right.jpeg", "glaucoma/901_left.png", "normal/_7_5555.jpg"):
        shutil.copy(some, data / name)
    for name in ("cataract/_7_5555.jpg", "cataract/_7_6666.jpg", "cataract/cataract_041.png"):
        shutil.copy(some, data / name)
    group = {s.key: s.group for s in samples(copy)}
    assert group["cataract/900_left"] == group["normal/900_right"] != group["glaucoma/901_left"]
    assert group["cataract/_7_5555"] == group["cataract/_7_6666"] != group["normal/_7_5555"]
    assert len(set(group.values())) == 8 + 5


def test_what_is_no_photograph_of_a_class_is_listed_and_clutter_is_not(copy):
    data = copy / "dataset"
    taken = next((data / "normal").iterdir())
    shutil.copy(taken, taken.with_suffix(".png"))
    for name in ("normal/notes.txt", "normal/more/1_left.jpg", "README.md", "AMD/3_left.jpg", "../Uveitis/4_left.jpg"):
        (data / name).parent.mkdir(exist_ok=True, parents=True)
        (data / name).write_bytes(b"")
    for name in ("normal/._1_left.jpg", "Thumbs.db", "__MACOSX/1.jpg", "normal/1_left.jpg:Zone.Identifier"):
        (data / name).parent.mkdir(exist_ok=True, parents=True)
        (data / name).write_bytes(b"")
    assert sorted(drops(copy)) == sorted(
        [
            ("dataset/AMD", "unknown class folder"),
            ("Uveitis", "unknown class folder"),
            ("dataset/README.md", "stray file"),
            ("dataset/normal/more/1_left.jpg", "stray file"),
            ("dataset/normal/notes.txt", "stray file"),
            (f"dataset/normal/{taken.stem}.png", "same key twice"),
        ]
    )
    assert len(samples(copy)) == 8


def test_a_missing_or_empty_class_is_listed_and_the_others_are_read(copy):
    for file in (copy / "dataset" / "glaucoma").iterdir():
        file.unlink()
    for _ in ("empty", "missing"):
        assert EyeDiseases.found_in(copy)
        assert [s.labels["diagnosis"] for s in samples(copy)] == ["cataract"] * 2 + ["diabetic retinopathy"] * 2 + [
            "normal"
        ] * 2
        (dropped,) = [d for d in EyeDiseases(copy).samples() if isinstance(d, Dropped)]
        assert (dropped.key, dropped.file, dropped.reason) == ("glaucoma", "dataset", "missing class")
        shutil.rmtree(copy / "dataset" / "glaucoma", ignore_errors=True)
    shutil.rmtree(copy / "dataset" / "cataract")
    assert not EyeDiseases.found_in(copy), "two folders of such names are of many sets"
    assert len(samples(copy)) == 4, "and are read where the folder is named"
    shutil.rmtree(copy / "dataset")
    with pytest.raises(SourceNotFound, match="every class folder"):
        EyeDiseases(copy).verify()


@pytest.mark.parametrize(
    "name", ["Diabetic_Retinopathy", "diabetic retinopathy ", "DIABETIC-RETINOPATHY", "diabetic%20retinopathy"]
)
def test_other_spellings_of_a_class_give_the_same_samples(copy, name):
    before = [(s.key, s.group, s.labels) for s in samples(copy)]
    (copy / "dataset" / "diabetic_retinopathy").rename(copy / "dataset" / name)
    assert [(s.key, s.group, s.labels) for s in samples(copy)] == before and drops(copy) == []
