"""LLaVA's dialect against the tokenizer, the network and pictures whose corners are known."""

import copy
import json
import pickle
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.core.errors import ArtifactError, BadArgument, WeightsMismatch
from lmod_train.core.pixels import open_rgb
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.family import family_of
from tests.tiny import SIDE, TOKENS, record

ODD = "  Two  spaces, a brace {x}, 视盘 or CUP?\nFollow: <JUSTIFICATION>.  "


@pytest.fixture
def files(tiny, tmp_path):
    """A copy of the checkpoint's tokenizer and processor files, to be damaged."""
    for file in tiny.iterdir():
        if file.suffix != ".safetensors":
            shutil.copy(file, tmp_path)
    return tmp_path


def configured(files, **changes):
    path = files / "processor_config.json"
    config = json.loads(path.read_text())
    config["image_processor"] |= changes.pop("image_processor", {})
    path.write_text(json.dumps(config | changes))
    return Dialect(files)


def test_the_words_of_the_record_are_sent_unchanged(dialect, eyes):
    batch = dialect([record(text=ODD, image=["a.png"])], eyes)
    assert ODD in batch.rendered[0]
    assert ODD in dialect.tokenizer.decode(batch.prompt_ids[0])


@pytest.mark.parametrize(
    "answer", ["GLAUCOMA", "Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic cup", "正常"]
)
def test_the_prompt_is_a_prefix_of_what_is_learnt_and_the_end_is_learnt(dialect, eyes, answer):
    batch = dialect([record(image=["a.png"], answer=answer)], eyes)
    prompt, learnt = batch.prompt_ids[0], batch.answer_ids[0]
    asked = dialect([record(image=["a.png"], answer="another")], eyes).prompt_ids[0]
    assert prompt == asked
    assert learnt[-1] == dialect.tokenizer.eos_token_id
    assert dialect.tokenizer.decode(learnt[:-1]).strip() == answer
    assert prompt.count(dialect.tokenizer.bos_token_id) == 1


def test_places_of_an_image_are_the_embeddings_of_the_network(dialect, network, eyes):
    batch = dialect([record(image=["a.png"])], eyes)
    with torch.no_grad():
        made = encode(network, batch.images).tokens
    assert [batch.prompt_ids[0].count(network.config.image_token_id)] == made == [TOKENS]
    assert family_of(network).image_tokens(batch.images.items[0]) == TOKENS
    dialect.verify(network.config)
    other = copy.deepcopy(network.config)
    other.vision_config.patch_size = 24
    with pytest.raises(WeightsMismatch, match=rf"64 image tokens \(network\).*{TOKENS} image tokens \(processor\)"):
        dialect.verify(other)


def test_a_processor_that_forgets_the_class_token_is_repaired(files, eyes):
    dialect = configured(files, num_additional_image_tokens=0)
    prompt = dialect([record(image=["a.png"])], eyes).prompt_ids[0]
    assert prompt.count(dialect.processor.image_token_id) == TOKENS


STRETCH = {"do_pad": False}
CENTRE_CROP = STRETCH | {"do_center_crop": True, "size": {"shortest_edge": SIDE}}


@pytest.mark.parametrize("changes", [{}, STRETCH, CENTRE_CROP])
def test_a_white_corner_survives(files, tmp_path, changes):
    picture = np.zeros((144, 192, 3), dtype=np.uint8)
    picture[:19, :19] = picture[-19:, -19:] = 255
    Image.fromarray(picture).save(tmp_path / "corner.png")
    dialect = configured(files, image_processor=changes)
    images = dialect.processor.image_processor
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (images.image_mean, images.image_std))
    made = dialect.images([open_rgb(tmp_path / "corner.png")])
    pixels = made.items[0]["pixel_values"][0] * std + mean
    assert pixels.shape == (3, SIDE, SIDE)
    assert pixels[:, 26:41, 2:17].min() > 0.95 and pixels[:, 151:166, 175:190].min() > 0.95
    assert pixels[:, 64:128].max() < 0.05
    assert torch.allclose(pixels[:, :22], mean.expand(3, 22, SIDE), atol=0.01), "the padding is the mean colour"


def test_an_image_is_held_once(dialect, eyes):
    records = [record(str(i), image=[n]) for i, n in enumerate(["b.png", "a.png", "b.png"])] + [record("3", image=[])]
    batch = dialect(records, eyes)
    assert batch.images_of == [(0,), (1,), (0,), ()]
    expected = dialect.images([open_rgb(eyes / "b.png"), open_rgb(eyes / "a.png")])
    assert torch.equal(pixels_of(dialect, batch.images), pixels_of(dialect, expected)) and len(expected) == 2
    assert not dialect(records[3:], eyes).images


def pixels_of(dialect, images):
    return dialect.family.joined(images.items)["pixel_values"]


@pytest.mark.parametrize(
    "wrong",
    [
        replace(record(image=["a.png"]), image=("a.png", "b.png")),
        replace(record(image=["a.png", "b.png"]), image=("a.png",)),
        replace(record(image=["a.png"]), image=()),
    ],
)
def test_images_that_do_not_fit_their_places_are_refused(dialect, eyes, wrong):
    with pytest.raises(BadArgument, match="glaucoma/phantom/1"):
        dialect([wrong], eyes)


def test_a_missing_image_is_named(dialect, eyes):
    with pytest.raises(ArtifactError, match=r"c\.png"):
        dialect([record(image=["c.png"])], eyes)


def test_a_template_that_asks_otherwise_than_it_teaches_is_refused(files, eyes):
    template = files / "chat_template.jinja"
    asking = "{% if add_generation_prompt %} ASSISTANT: {% endif %}"
    text = template.read_text(encoding="utf-8")
    assert asking in text
    template.write_text(text.replace(asking, asking.replace("ASSISTANT", "BOT")), encoding="utf-8")
    with pytest.raises(WeightsMismatch, match="add_generation_prompt"):
        Dialect(files)([record(image=["a.png"])], eyes)
    template.unlink()
    with pytest.raises(WeightsMismatch, match="chat_template"):
        Dialect(files)


def test_it_travels_to_other_processes(dialect, eyes):
    records = [record(image=["a.png"])]
    here, there = dialect(records, eyes), pickle.loads(pickle.dumps(dialect))(records, eyes)
    assert here.prompt_ids == there.prompt_ids
    assert torch.equal(*(pixels_of(dialect, b.images) for b in (here, there)))
