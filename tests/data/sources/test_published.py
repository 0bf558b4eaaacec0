"""A layout alone asserts no licence: the files must show to be the published ones, or the user says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lmod_train.core.vocabulary.phantoms import NOTE
from lmod_train.data.curation.inputs import licence_of, read_sources
from lmod_train.data.sources.base import UNSTATED
from lmod_train.data.sources.cau001 import Cau001
from lmod_train.data.sources.eye_diseases import EyeDiseases
from lmod_train.phantom.folders import eye_diseases
from tests.drawn import cau001

PUBLISHED = {"cataract": (1038, 640), "diabetic_retinopathy": (1098, 0), "glaucoma": (1007, 600), "normal": (1074, 0)}


def folders(root: Path, counts: dict[str, tuple[int, int]]) -> Path:
    """Write class folders of empty files: so many, of which so many are numbered copies."""
    for name, (number, copies) in counts.items():
        (root / name).mkdir(parents=True)
        for n in range(number):
            (root / name / (f"_{n}_{n}.jpg" if n < copies else f"{n}.jpg")).touch()
    return root


def test_four_class_folders_are_published_only_with_the_published_numbers(tmp_path: Path):
    source = EyeDiseases(folders(tmp_path / "all", PUBLISHED))
    assert source.is_published() and licence_of(source) == EyeDiseases.licence
    (tmp_path / "all" / "normal" / "0.jpg").unlink()
    assert not source.is_published() and licence_of(source) == UNSTATED
    assert EyeDiseases(tmp_path / "all", published=True).is_published()
    few = dict.fromkeys(PUBLISHED, (20, 0))
    assert not EyeDiseases(folders(tmp_path / "few", few)).is_published()


@pytest.mark.parametrize("said", [False, True])
def test_records_of_a_private_folder_state_no_licence(tmp_path: Path, said: bool):
    eye_diseases.write(tmp_path, 8, seed=1, size=48, workers=0)
    root = tmp_path / "eye_diseases_classification"
    (root / NOTE).unlink()  # as if they were photographs
    inputs = read_sources([EyeDiseases(root, published=said)])
    assert {s.licence for s in inputs.samples} == {EyeDiseases.licence if said else UNSTATED}


def test_an_export_names_its_project(tmp_path: Path):
    cau001.write(tmp_path, 6, seed=1, size=64, workers=0)
    (root,) = {file.parent for file in tmp_path.rglob("data.yaml")} | {f.parent for f in tmp_path.rglob("README*")}
    source = Cau001(root)
    assert source.is_published()
    for file in root.glob("*.txt"):
        file.unlink()
    for file in root.glob("data.yaml"):
        file.write_text(file.read_text().partition("roboflow:")[0])
    assert Cau001.found_in(root) and not source.is_published() and Cau001(root, published=True).is_published()
    shutil.rmtree(root)
