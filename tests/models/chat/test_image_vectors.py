"""Vectors of images against the network's own tokens, in every family; reading leaves the network as it was."""

import numpy as np
import pytest
import torch
from PIL import Image

from lmod_train.models.chat import image_vectors as read_here
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.image_vectors import image_vectors


@pytest.fixture
def images(kin, eyes):
    """One picture."""
    return kin.dialect.images([Image.open(eyes / "a.png")])


def test_reading_leaves_the_embeddings_and_no_hook(kin, images):
    hooks = [len(m._forward_pre_hooks) for m in kin.network.modules()]
    _, encoded = image_vectors(kin.network, images)
    with torch.no_grad():
        assert torch.equal(encoded.features[0], encode(kin.network, images).features[0])
    assert [len(m._forward_pre_hooks) for m in kin.network.modules()] == hooks


def test_the_towers_vector_is_of_what_the_projector_takes(kin, images):
    """Mean and maximum are those of the patches alone; a class token in front of them would change both."""
    family, taken = family_of(kin.network), []
    hook = kin.network.get_submodule(family.projector[0]).register_forward_pre_hook(
        lambda _, positional, named: taken.append(positional[0] if positional else named["hidden_states"]),
        with_kwargs=True,
    )
    found, _ = image_vectors(kin.network, images)
    hook.remove()
    tokens = taken[0].detach()
    width = tokens.shape[-1]
    tiles = tokens.view(-1, *tokens.shape[-2:])
    whole = tiles[:, -family.on_grid(tiles[family.whole_tile], images.items[0]).shape[:2].numel() :].flatten(0, 1)
    torch.testing.assert_close(found["tower"][:width], whole.float().mean(0), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(found["tower"][width : 2 * width], whole.float().amax(0), rtol=1e-3, atol=1e-4)
    assert list(found)[-1 - sum(p.startswith("deep") for p in found)] == "projector"


def test_layers_of_the_tower_are_read_in_order_on_the_same_grid(kin, images, monkeypatch):
    monkeypatch.setattr(read_here, "TOWER_STEP", 1)
    found, _ = image_vectors(kin.network, images)
    family = family_of(kin.network)
    layers = len(kin.network.get_submodule(f"{family.tower}.{family.tower_layers}"))
    inside = [f"tower.{i}" for i in range(1, layers)]
    assert inside and list(found)[:layers] == [*inside, "tower"]
    assert all(len(found[place]) % 11 == 0 for place in inside)
    distinct = {tuple(found[place].tolist()) for place in inside}
    assert len(distinct) == len(inside), (
        "LLaVA's projector takes the tokens of an inner layer, the others' are their own"
    )


def test_cells_are_of_the_whole_picture(kin, images):
    """The first of the nine cells is the mean of the corner of the whole picture's tokens."""
    family, item = family_of(kin.network), images.items[0]
    found, encoded = image_vectors(kin.network, images)
    features = encoded.features[0].flatten(0, -2)
    whole = family.on_grid(features[family.whole_picture(item)], item)
    assert whole is not None and len(found["projector"]) == 11 * features.shape[1] and len(found["tower"]) % 11 == 0
    rows, columns, width = whole.shape
    corner = whole[: -(-rows // 3), : -(-columns // 3)].mean((0, 1))
    torch.testing.assert_close(found["projector"][2 * width : 3 * width], corner, rtol=1e-3, atol=1e-4)


def test_tokens_inside_a_tower_lie_where_the_pictures_patches_do(kin):
    """A picture whose brightness grows to the right: so do the tokens' places, in every family's own order."""
    if not kin.model_type.startswith("qwen"):
        pytest.skip("the tokens of other towers are row by row")
    ramp = np.tile(np.linspace(0, 255, 160, dtype=np.uint8), (120, 1))
    ramp[:60] //= 4
    images = kin.dialect.images([Image.fromarray(np.stack([ramp] * 3, -1))])
    family, item = family_of(kin.network), images.items[0]
    tower = kin.network.get_submodule(family.tower)
    inside = {}

    def embedded(_, __, out):
        inside["before"] = out

    def permuted(_, positional, named):
        inside["after"] = positional[0] if positional else named["hidden_states"]

    hooks = [tower.patch_embed.register_forward_hook(embedded)]
    hooks.append(tower.blocks[0].register_forward_pre_hook(permuted, with_kwargs=True))
    with torch.no_grad():
        encode(kin.network, images)
    for hook in hooks:
        hook.remove()
    high, wide = (int(n) for n in item["image_grid_thw"][0, 1:])
    brightness = item["pixel_values"].mean(1)
    match = (inside["after"][:, None] - inside["before"][None]).abs().sum(-1).argmin(1)  # which patch each token is
    if kin.model_type != "qwen2_5_vl":
        match = torch.arange(len(brightness))  # positions are added before the first block, and nothing is permuted
    grid = family.on_grid(brightness[match][:, None], item)[..., 0]
    assert grid.shape == (high, wide)
    assert (grid[:, 1:] >= grid[:, :-1] - 1e-4).all(), "brighter to the right"
    assert (grid[-1] > grid[0] - 1e-4).all() and grid[-1, -1] > grid[0, -1], "darker above"
