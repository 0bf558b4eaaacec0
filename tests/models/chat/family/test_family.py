"""The facts of each family against its network's own modules."""

import re
from types import SimpleNamespace

import pytest
from torch import nn

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.family import MODEL_TYPES, family_of
from tests import families


def test_the_tests_know_every_family():
    assert families.MODEL_TYPES == MODEL_TYPES == tuple(sorted(MODEL_TYPES))
    assert "llava" in MODEL_TYPES and "base" not in MODEL_TYPES


def test_every_parameter_belongs_to_the_part_that_holds_it(kin):
    family, network = family_of(kin.network), kin.network
    parts = {n: family.part(f"base_model.model.{n}") for n, _ in network.named_parameters()}
    assert set(parts.values()) == {"tower", "projector", "language_model", "head"}
    assert [n for n, part in parts.items() if part == "head"] == ["lm_head.weight"]
    for path in (family.tower, *family.projector, family.language_model):
        assert next(network.get_submodule(path).parameters()) is not None
    inside = {
        f"{family.language_model}.{n}" for n, _ in network.get_submodule(family.language_model).named_parameters()
    }
    assert inside == {n for n, part in parts.items() if part == "language_model"}
    named = [n for n, part in parts.items() if part == "projector"]
    between = "projector|merger|newline|connector"
    assert all(re.search(between, n) for n in named)
    assert not [n for n, part in parts.items() if part == "tower" and re.search(between, n)]


def test_adapters_go_on_seven_maps_a_layer_of_the_language_model(kin):
    linear = [n for n, m in kin.network.named_modules() if isinstance(m, nn.Linear)]
    hit = [n for n in linear if re.fullmatch(kin.dialect.family.adapted, n)]
    assert len(hit) == 14 and all(n.startswith(kin.dialect.family.language_model) for n in hit)


def test_windows_are_found_where_layers_have_them(kin):
    assert (kin.dialect.family.sliding_window is not None) == (kin.model_type == "gemma3")
    config = kin.dialect.config
    if kin.model_type == "llava_next":
        text = SimpleNamespace(model_type="mistral", sliding_window=4096)
        mistral = SimpleNamespace(model_type="llava_next", image_token_id=3, get_text_config=lambda: text)
        assert family_of(mistral).sliding_window == 4096
    assert type(family_of(config)) is type(family_of(kin.network)) is type(kin.dialect.family)


def test_another_family_is_refused_with_the_list():
    other = SimpleNamespace(model_type="fuyu", get_text_config=lambda: SimpleNamespace(model_type="llama"))
    with pytest.raises(BadArgument, match=r"'fuyu': expected one of gemma3, .*llava, llava_next"):
        family_of(other)
