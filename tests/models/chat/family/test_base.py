"""What every family states, held against its network, its processor and transformers' own list of model types."""

import re
from types import SimpleNamespace

import pytest
import torch
from PIL import Image
from transformers import CONFIG_MAPPING

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.family import MODEL_TYPES, family_class, family_of
from lmod_train.models.chat.family.base import Family

SIZES = [(120, 90), (60, 120), (40, 40), (200, 50), (33, 97), (90, 91)]
WRAPPED = "base_model.model."


class Plain(Family):
    """A family that states nothing but its tensors."""

    tensors = ("pixel_values",)

    def image_tokens(self, item):
        return 1


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_the_file_of_a_model_type_holds_its_family(model_type):
    stated = family_class(model_type)
    assert issubclass(stated, Family) and stated.__module__ == f"lmod_train.models.chat.family.{model_type}"
    assert model_type in CONFIG_MAPPING


def test_embeddings_are_as_many_as_places_whatever_the_shape(kin):
    images = kin.dialect.images([Image.effect_noise(size, 50).convert("RGB") for size in SIZES])
    assert [family_of(kin.network).image_tokens(item) for item in images.items] == images.tokens


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_parts_are_found_whatever_wraps_the_network(model_type):
    family = family_class(model_type)(SimpleNamespace(model_type=model_type))
    assert family.part(f"{WRAPPED}{family.tower}.encoder.layers.0.mlp.fc1.weight") == "tower"
    assert family.part(f"{WRAPPED}{family.projector[0]}.linear_1.weight") == "projector"
    assert family.part(f"{WRAPPED}{family.language_model}.layers.0.self_attn.q_proj.lora_A.weight") == "language_model"
    assert family.part(f"{WRAPPED}lm_head.weight") == "head"
    assert not family.is_loose(f"{WRAPPED}{family.language_model}.embed_tokens.weight")
    assert all(family.is_loose(f"{WRAPPED}{name}") for name in family.projector_parameters)


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_adapters_are_anchored_at_the_language_model(model_type):
    family = family_class(model_type)(SimpleNamespace(model_type=model_type))
    inside = ("layers.1.self_attn.q_proj", "layers.0.mlp.down_proj")
    assert all(re.fullmatch(family.adapted, f"{family.language_model}.{name}") for name in inside)
    assert not any(re.fullmatch(family.adapted, f"{family.tower}.encoder.{name}") for name in inside)
    assert not re.fullmatch(family.adapted, f"{family.language_model.replace('.', '_')}.layers.1.self_attn.q_proj")


def test_images_of_two_shapes_are_refused_where_the_family_does_not_join_them():
    family = Plain(SimpleNamespace(model_type="plain"))
    items = [{"pixel_values": torch.zeros(1, 3, 8, width)} for width in (8, 8, 12)]
    assert family.joined(items[:2])["pixel_values"].shape == (2, 3, 8, 8)
    with pytest.raises(BadArgument, match=r"(?s)pixel_values of images in one batch=\[\(8, 8\), \(8, 12\)\].*`joined`"):
        family.joined(items)


def test_what_a_processor_sets_for_its_images_may_state_that_tensors_are_wanted():
    asked = []
    processor = SimpleNamespace(
        images_kwargs={"return_tensors": "pt", "do_pad": True},
        image_processor=lambda _, **options: asked.append(options),
    )
    Plain(SimpleNamespace(model_type="plain")).processed(Image.new("RGB", (8, 8)), processor, beside=False)
    assert asked == [{"return_tensors": "pt", "do_pad": True}]
