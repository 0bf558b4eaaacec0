"""Images encoded once against the network's own forward with pixels."""

import pytest
import torch

from lmod_train.core.errors import WeightsMismatch
from lmod_train.models.chat.encoding import Images, encode, verify_tokens
from lmod_train.models.chat.family import family_of
from tests.models.chat.quick import some_kin, two_kin
from tests.tiny import record

RECORDS = [record("1", image=["a.png"]), record("2", "Is it?", ["tall.png"]), record("3", "Name it.", ["a.png"])]


@pytest.fixture
def batch(kin, eyes):
    return kin.dialect(RECORDS, eyes)


def test_what_is_encoded_once_gives_the_logits_that_pixels_give(kin, batch):
    images = batch.images
    with torch.no_grad():
        encoded = encode(kin.network, images)
        for prompt, (row,) in zip(batch.prompt_ids, batch.images_of, strict=True):
            ids = torch.tensor([prompt])
            found = kin.network(input_ids=ids, **encoded.inputs(ids, [row])).logits
            given = {} if kin.dialect.family.token_types is None else {kin.dialect.family.token_types: _types(kin, ids)}
            expected = kin.network(input_ids=ids, **images.items[row], **given).logits
            assert torch.allclose(found, expected, atol=1e-3), (found - expected).abs().max()
            other = kin.network(input_ids=ids, **given, **{**images.items[row], "pixel_values": _blank(images, row)})
            assert (other.logits - expected).abs().max() > 0.1, "an image that changes nothing proves nothing"


def _types(kin, ids):
    return (ids == kin.network.config.image_token_id).int()


def _blank(images, row):
    return torch.full_like(images.items[row]["pixel_values"], 0.5)  # of zeros, Idefics3 would make nothing


def test_images_are_selected_in_the_order_asked(kin, batch):
    images = batch.images
    with torch.no_grad():
        encoded = encode(kin.network, images)
        turned = encode(kin.network, Images(images.items[::-1]))
    assert len(encoded) == 2 and encoded.tokens == turned.tokens[::-1] == images.tokens
    there, here = turned.select([0, 1, 0])["image"], encoded.select([1, 0, 1])["image"]
    assert torch.allclose(torch.cat(list(here.pooler_output)), torch.cat(list(there.pooler_output)), atol=1e-4)
    assert ("deepstack_features" in here) == (kin.model_type == "qwen3_vl")
    for mine, theirs in zip(
        getattr(here, "deepstack_features", []), getattr(there, "deepstack_features", []), strict=True
    ):
        assert torch.allclose(torch.cat(mine), torch.cat(theirs), atol=1e-4)
    assert encoded.select([]) == {} and len(encode(kin.network, None)) == 0


@some_kin
def test_the_projector_learns_through_it(kin, batch):
    encoded = encode(kin.network, batch.images).select([0, 1])["image"]
    total = torch.cat(list(encoded.pooler_output)).square().sum()
    total = total + sum(f.square().sum() for layer in getattr(encoded, "deepstack_features", []) for f in layer)
    learnt = [p for n, p in kin.network.named_parameters() if kin.dialect.family.part(n) == "projector"]
    made = torch.autograd.grad(total, learnt, allow_unused=True)
    assert all(g is not None and g.abs().sum() > 0 for g in made)


@two_kin
def test_a_projector_that_learns_in_float32_meets_a_tower_in_bfloat16(kin, batch):
    network = type(kin.network)(kin.network.config).to(torch.bfloat16)
    for name, parameter in network.named_parameters():
        if kin.dialect.family.part(name) == "projector":
            parameter.data = parameter.data.float()
    with torch.no_grad():
        assert encode(network, batch.images).tokens == batch.images.tokens


@some_kin
def test_places_and_embeddings_must_be_as_many(kin, batch):
    images = batch.images
    assert [family_of(kin.network).image_tokens(item) for item in images.items] == images.tokens
    verify_tokens(kin.network.config, images)
    wrong = Images(images.items, [n + 1 for n in images.tokens])
    with torch.no_grad(), pytest.raises(WeightsMismatch, match=r"image tokens \(network\)"):
        encode(kin.network, wrong)
    with pytest.raises(WeightsMismatch, match=r"image tokens \(processor\)"):
        verify_tokens(kin.network.config, wrong)


@some_kin
def test_grids_stay_whole_numbers(kin, batch):
    moved = batch.to("cpu", torch.bfloat16).images
    assert moved.tokens == batch.images.tokens
    assert {item["pixel_values"].dtype for item in moved.items} <= {torch.bfloat16}
    whole = {v.dtype for item in moved.items for k, v in item.items() if k != "pixel_values"}
    assert whole <= {torch.int64, torch.bool}
