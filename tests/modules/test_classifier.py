"""The CNN's crops, classes and replies."""

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.errors import BadArgument
from lmod_train.modules.classifier import Classifier, Crops
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.types import Box, Region
from tests.tiny import record

ANATOMY = Anatomy(options={"CFP": ["Optic Disc", "optic cup"]})
REGIONS = (Region("optic disc", Box(4, 8, 12, 16), 1), Region("optic cup", Box(20, 0, 40, 4), 2))
LINES = "Region ID: 1; Type: Optic Disc\nRegion ID: 2; Type: optic cup"


def anatomy(**fields):
    defaults = {"task": "anatomy", "choices": ANATOMY.choices, "regions": REGIONS, "scale": 0.5, "answer": LINES}
    return record("anatomy/p/1", image=["marked.png"], image_plain=("plain.png",), **defaults | fields)


@pytest.fixture
def folder(tmp_path):
    """plain.png: half the size of the original, the disc's box red and the cup's blue; marked.png: all white."""
    picture = np.zeros((10, 20, 3), dtype=np.uint8)
    picture[4:8, 2:6] = (255, 0, 0)
    picture[0:2, 10:20] = (0, 0, 255)
    Image.fromarray(picture).save(tmp_path / "plain.png")
    Image.new("RGB", (20, 10), "white").save(tmp_path / "marked.png")
    return tmp_path


def classifier(task, scores):
    """A classifier whose network says the same scores of every crop, in turn."""
    module = Classifier(task.choices, side=8)
    module.configure_model()
    module.model.forward = lambda images: torch.tensor(scores, dtype=images.dtype)
    return module


def test_regions_are_cut_from_the_plain_picture_at_its_scale(folder):
    batch = Crops(ANATOMY.choices, side=8)([anatomy()], folder)
    red, blue = batch.tensors["crops"]
    assert torch.equal(red, torch.tensor([1.0, 0, 0]).view(3, 1, 1).expand(3, 8, 8))
    assert torch.equal(blue, torch.tensor([0, 0, 1.0]).view(3, 1, 1).expand(3, 8, 8))
    assert (batch.tensors["targets"].tolist(), batch.tensors["owners"]) == ([0, 1], [0, 0])


def test_a_box_thinner_than_a_pixel_is_still_a_crop(folder):
    thin = (Region("optic cup", Box(30, 1, 31, 3), 2),)
    batch = Crops(ANATOMY.choices, side=8)([anatomy(regions=thin, answer=LINES.splitlines()[1])], folder)
    assert batch.tensors["crops"].shape == (1, 3, 8, 8)


def test_a_whole_picture_is_padded(folder):
    crop = Crops(("GLAUCOMA", "NON-GLAUCOMA"), side=20)([record(image=["marked.png"])], folder).tensors["crops"][0]
    assert crop[:, 5:15].min() == 1 and crop[:, :5].max() == crop[:, 15:].max() == 0


def test_an_empty_batch_and_a_record_without_an_image(folder):
    crops = Crops(("GLAUCOMA", "NON-GLAUCOMA"), side=8)
    module = Classifier(crops.choices, side=8)
    module.configure_model()
    assert module.respond(crops([], folder)) == []
    with pytest.raises(BadArgument, match="has none"):
        crops([record(image=[])], folder)


@pytest.mark.parametrize(
    ("scores", "said"),
    [([[0, 1], [1, 0]], {1: "optic cup", 2: "optic disc"}), ([[2, 1], [0, 1]], {1: "optic disc", 2: "optic cup"})],
)
def test_replies_about_regions_are_read_by_the_task_s_own_parser(folder, scores, said):
    module, asked = classifier(ANATOMY, scores), anatomy()
    reply = module.respond(module.collate([asked], folder))[0]
    assert {i: word.lower() for i, word in ANATOMY.parse(reply, asked).items()} == said
    assert (reply.id, reply.finish_reason) == (asked.id, "stop")


@pytest.mark.parametrize("task", [Glaucoma(), FourWay()])
def test_replies_about_pictures_are_read_by_the_task_s_own_parser(folder, task):
    words = task.choices
    asked = [record(str(i), image=["marked.png"], task=task.name, choices=words, answer=w) for i, w in enumerate(words)]
    module = classifier(task, np.eye(len(words)).tolist())
    found = module.respond(module.collate(asked, folder))
    assert [task.parse(reply, one) for reply, one in zip(found, asked, strict=True)] == list(words)
    total = sum(np.exp(list(found[0].likelihoods.values())))
    assert list(found[0].likelihoods) == list(words) and total == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("answer", ["MAYBE", "", LINES.replace("cup", "nerve")])
def test_an_answer_outside_the_choices_is_refused(folder, answer):
    regions = REGIONS if "Region" in answer else ()
    with pytest.raises(BadArgument, match="curate again"):
        Crops(ANATOMY.choices)([anatomy(answer=answer, regions=regions)], folder)


def test_the_loss_is_the_mean_over_crops(folder):
    module = classifier(ANATOMY, [[0.0, 0.0], [3.0, 1.0]])
    module.log = lambda *a, **k: None
    expected = (np.log(2) + np.log(1 + np.exp(2))) / 2  # true classes 0 and 1
    assert module.training_step(module.collate([anatomy()], folder), 0).item() == pytest.approx(expected, abs=1e-5)


def test_it_learns_to_tell_white_from_black(tmp_path):
    for name, colour in (("GLAUCOMA", "white"), ("NON-GLAUCOMA", "black")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{name}.png")
    torch.manual_seed(0)
    module = Classifier(("GLAUCOMA", "NON-GLAUCOMA"), lr=0.01, side=8)
    module.configure_model()
    module.log = lambda *a, **k: None
    records = [record(name, image=[f"{name}.png"], answer=name) for name in module.choices]
    batch, optimiser = module.collate(records, tmp_path), module.configure_optimizers()
    for _ in range(20):
        optimiser.zero_grad()
        module.training_step(batch, 0).backward()
        optimiser.step()
    assert [r.reply for r in module.respond(batch)] == ["GLAUCOMA", "NON-GLAUCOMA"]


def test_several_tasks_are_refused():
    with pytest.raises(BadArgument, match="exactly one task"):
        Classifier()
