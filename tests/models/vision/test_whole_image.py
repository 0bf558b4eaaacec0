"""Pixels and classes of whole pictures: once each in evaluation, augmented by record in training."""

import pickle

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.models.vision.augmentation import FAITHFUL, Augmentation, eval_transform
from lmod_train.models.vision.whole_image import WholeImages
from tests.tiny import record

DIALECT = WholeImages(("GLAUCOMA", "NON-GLAUCOMA"), 32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, noise = tmp_path_factory.mktemp("curated"), np.random.default_rng(0)
    for name in ("a", "b", "marked"):
        Image.fromarray(noise.integers(0, 255, (40, 50, 3), dtype=np.uint8)).save(folder / f"{name}.png")
    return folder


def asked(number, picture, answer="GLAUCOMA"):
    return record(f"glaucoma/p/{number}", image=["marked.png"], image_plain=(f"{picture}.png",), answer=answer)


ASKED = [asked(0, "a"), asked(1, "b", "NON-GLAUCOMA"), asked(2, "a")]


def test_evaluation_holds_a_plain_picture_once_however_often_it_is_asked_about(folder):
    batch = DIALECT(ASKED, folder)
    pictures = [eval_transform(FAITHFUL, 32)(Image.open(folder / f"{name}.png")) for name in "ab"]
    assert torch.equal(batch.images, torch.stack(pictures))
    assert (batch.image_of, batch.targets.tolist()) == ([0, 1, 0], [0, 1, 0])


def test_training_augments_every_record_by_itself_whatever_travels_with_it(folder):
    training = DIALECT.training(seed=3, epoch=1)
    together = training(ASKED, folder)
    assert together.image_of == [0, 1, 2] and together.images.shape == (3, 3, 32, 32)
    worker = pickle.loads(pickle.dumps(training))
    for row in (2, 0, 1):
        assert torch.equal(worker([ASKED[row]], folder).images[0], together.images[row])
    first = together.images[0]
    for other in (
        together.images[2],  # of another record about the same picture
        DIALECT.training(3, 2)(ASKED, folder).images[0],
        DIALECT.training(4, 1)(ASKED, folder).images[0],
        DIALECT(ASKED, folder).images[0],
    ):
        assert not torch.equal(other, first)


def test_the_settings_reach_both_transforms(folder):
    plain = Augmentation(crop_area=(1, 1), crop_ratio=(1, 1), flip=0, policy="", erasing=0, square="pad")
    dialect = WholeImages(DIALECT.choices, 50, plain)
    seen, learnt = dialect(ASKED[:1], folder).images, dialect.training(0, 0)(ASKED[:1], folder)
    assert (seen - learnt.images).abs().max() < 1e-6
    assert torch.equal(seen, dialect(ASKED[:1], folder).images)


def test_no_records_are_no_pictures(folder):
    batch = DIALECT([], folder)
    assert batch.images.shape == (0, 3, 32, 32)
    assert (batch.targets.dtype, batch.image_of) == (torch.long, [])


def test_a_record_that_is_not_about_one_picture_with_one_answer_is_refused(folder):
    for images, counted in ([], "none"), (["a.png", "b.png"], "2"):
        with pytest.raises(BadArgument, match=rf"one image per record \(glaucoma/p/7 has {counted}\)"):
            DIALECT([record("glaucoma/p/7", image=images)], folder)
    with pytest.raises(BadArgument, match="curate again"):
        DIALECT([asked(0, "a", "MAYBE")], folder)
    with pytest.raises(BadArgument, match="one answer per image"):
        DIALECT([asked(0, "a", "GLAUCOMA\nGLAUCOMA")], folder)


def test_a_missing_picture_is_named(folder):
    with pytest.raises(ArtifactError, match="gone"):
        DIALECT([asked(0, "gone")], folder)
