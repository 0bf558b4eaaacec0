from collections import Counter

import numpy as np
from PIL import Image

from lmod_train.phantom.folders.eye_diseases import truth, write
from lmod_train.phantom.folders.refuge import truth as refuge_truth
from lmod_train.phantom.fundus import render


def test_classes_alternate_and_keys_name_class_and_side():
    found = truth(10, seed=3)
    assert Counter(eye.diagnosis for _, eye in found) == {
        "cataract": 3,
        "diabetic retinopathy": 3,
        "glaucoma": 2,
        "normal": 2,
    }
    for key, eye in found:
        folder, stem = key.split("/")
        assert folder.replace("_", " ") == eye.diagnosis and stem.endswith(f"_{eye.laterality}")
    assert len({key.split("/")[1].split("_")[0] for key, _ in found}) == 10  # one patient each


def test_numbers_do_not_follow_the_classes():
    numbers = [int(key.split("/")[1].split("_")[0]) for key, _ in truth(40, seed=0)]
    assert sorted(numbers) == list(range(1, 41))
    assert len({(number - 1 - i) % 4 for i, number in enumerate(numbers)}) == 4


def test_the_same_seed_gives_the_same_truth_and_eyes_are_apart_from_other_seeds_and_sources():
    assert truth(6, seed=1) == truth(6, seed=1)
    seeds = [{eye.seed for _, eye in eyes} for eyes in (truth(6, seed=1), truth(6, seed=2), refuge_truth(6, seed=1))]
    assert len(set.union(*seeds)) == 18


def test_files_are_the_photographs_of_the_truth(tmp_path):
    write(tmp_path, 4, seed=5, size=80, workers=0)
    for key, eye in truth(4, seed=5):
        image = Image.open(tmp_path / "eye_diseases_classification" / "dataset" / f"{key}.jpg")
        assert (image.size, image.format) == ((80, 80), "JPEG")
        error = np.abs(np.asarray(image).astype(float) - np.asarray(render(eye, 80)).astype(float))
        assert error.mean() < 5  # what JPEG takes
