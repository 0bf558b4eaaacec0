"""The CNN's dialect: which area is cut, from which image, and its class."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.models.vision.crops import Crops
from lmod_train.tasks.anatomy import Anatomy
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


def test_regions_are_cut_from_the_plain_picture_at_its_scale(folder):
    batch = Crops(ANATOMY.choices, side=8)([anatomy()], folder)
    red, blue = batch.crops
    assert torch.equal(red, torch.tensor([255, 0, 0]).view(3, 1, 1).expand(3, 8, 8))
    assert torch.equal(blue, torch.tensor([0, 0, 255]).view(3, 1, 1).expand(3, 8, 8))
    assert (batch.targets.tolist(), batch.owners) == ([0, 1], [0, 0])


def test_a_box_thinner_than_a_pixel_is_still_a_crop(folder):
    thin = (Region("optic cup", Box(30, 1, 31, 3), 2),)
    batch = Crops(ANATOMY.choices, side=8)([anatomy(regions=thin, answer=LINES.splitlines()[1])], folder)
    assert batch.crops.shape == (1, 3, 8, 8)


def test_a_whole_picture_is_padded(folder):
    crop = Crops(("GLAUCOMA", "NON-GLAUCOMA"), side=20)([record(image=["marked.png"])], folder).crops[0]
    assert crop[:, 5:15].min() == 255 and crop[:, :5].max() == crop[:, 15:].max() == 0


@pytest.mark.parametrize("answer", ["MAYBE", "", LINES.replace("cup", "nerve")])
def test_an_answer_outside_the_choices_is_refused(folder, answer):
    regions = REGIONS if "Region" in answer else ()
    with pytest.raises(BadArgument, match="curate again"):
        Crops(ANATOMY.choices)([anatomy(answer=answer, regions=regions)], folder)


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_a_prepared_dialect_gives_the_same_batch_and_opens_no_picture_again(folder, place):
    asked, plain = [anatomy(), record("glaucoma/p/2", image=["marked.png"])], Crops((*ANATOMY.choices, "GLAUCOMA"), 8)
    prepared = plain.prepared(asked, folder, place)
    expected = plain(asked, folder)
    for file in folder.glob("*.png"):
        file.unlink()
    found = prepared(asked, folder)
    assert torch.equal(found.crops, expected.crops)
    assert found.crops.is_contiguous(memory_format=torch.channels_last)
    assert (found.targets.tolist(), found.owners) == ([0, 1, 2], [0, 0, 1])


def test_a_crop_that_was_not_prepared_is_cut_when_it_is_asked_for(folder):
    prepared = Crops(ANATOMY.choices, 8).prepared([anatomy()], folder, "memory")
    thin = anatomy(regions=REGIONS[:1], scale=0.25, answer=LINES.splitlines()[0])
    assert torch.equal(prepared([thin], folder).crops, Crops(ANATOMY.choices, 8)([thin], folder).crops)


def test_an_empty_batch_and_a_record_without_an_image(folder):
    crops = Crops(ANATOMY.choices, side=8)
    assert crops([], folder).crops.shape == (0, 3, 8, 8)
    assert len(crops.prepared([], folder, "disk").table) == 0
    assert not Path(folder, "cache").exists()
    for use in (crops, lambda records, root: crops.prepared(records, root, "memory")):
        for images, counted in ([], "none"), (["a.png", "b.png"], "2"):
            with pytest.raises(BadArgument, match=rf"one image per record \(glaucoma/p/7 has {counted}\)"):
                use([record("glaucoma/p/7", image=images)], folder)


def test_an_answer_with_fewer_lines_than_regions_is_refused(folder):
    with pytest.raises(BadArgument, match=r"2 line\(s\)"):
        Crops(ANATOMY.choices)([anatomy(answer=LINES.splitlines()[0])], folder)
