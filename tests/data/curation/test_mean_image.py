"""The mean of curated images."""

import numpy as np
from PIL import Image

from lmod_train.core.curated import Curated
from lmod_train.core.files import sha256_of
from lmod_train.data.curation import question_records as mean_image
from lmod_train.data.curation.image_files import write_image
from lmod_train.data.curation.question_records import mean_path, write_mean_image
from lmod_train.data.curation.sample_keys import key_problem


def test_the_mean_of_flat_images_in_the_commonest_size(tmp_path):
    names = []
    for number, (grey, size) in enumerate([(40, (60, 40)), (100, (60, 40)), (160, (30, 30))]):
        names.append(f"images/s/{number}.jpg")
        write_image(tmp_path / names[-1], Image.new("RGB", size, (grey, grey, 0)))
    path = mean_path("s", "CFP")
    sha256 = write_mean_image(tmp_path, path, names)
    mean = Curated(tmp_path).rgb(path)
    assert mean.size == (60, 40) and sha256 == sha256_of(tmp_path / path)
    assert np.abs(np.asarray(mean, dtype=int) - [100, 100, 0]).max() <= 2
    assert write_mean_image(tmp_path, path, names[::-1]) == sha256, "whatever the order"


def test_many_images_are_drawn_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(mean_image, "MOST", 3)
    names = [f"images/s/{n}.jpg" for n in range(9)]
    for n, name in enumerate(names):
        write_image(tmp_path / name, Image.new("RGB", (16, 16), (20 * n,) * 3))
    first = write_mean_image(tmp_path, mean_path("s", ""), names)
    assert write_mean_image(tmp_path, mean_path("s", ""), names[::-1]) == first


def test_no_key_of_a_source_is_the_name_of_a_mean_or_removed_image():
    for key in ("CFP.mean", "a.counterfactual", "a.evidence-mean-optic_disc", "x/a.elsewhere-biharmonic-annotated"):
        assert key_problem(key)[0] == "key_unusable"
    assert key_problem("train/meaning") is None
