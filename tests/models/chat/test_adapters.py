"""Which parts of a checkpoint learn, in every family."""

import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.adapters import Lora, trainable
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.encoding import Images, encode
from lmod_train.models.chat.family import family_of
from tests.models.chat.quick import few
from tests.models.chat.written_once import write_tiny


@pytest.fixture(scope="module", params=few())
def any_family(request, tmp_path_factory):
    return write_tiny(tmp_path_factory.mktemp(request.param), request.param)


def learning(model):
    """Return part -> names of what learns."""
    family = family_of(model)
    parts = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            parts.setdefault(family.part(name), set()).add(name)
            assert parameter.dtype == torch.float32
    return parts


def test_adapters_lie_on_the_language_model_and_nowhere_else(any_family):
    model = trainable(load(any_family, torch.bfloat16), Lora(2, 4, 0.0))
    parts = learning(model)
    assert set(parts) == {"language_model", "projector"}
    assert len(parts["language_model"]) == 28 and all("lora_" in name for name in parts["language_model"])
    assert not any("lora_" in name for name in parts["projector"])


def test_full_tuning_teaches_projector_language_model_and_head(any_family):
    model = trainable(load(any_family), None, tune_language_model=True)
    family, parts = family_of(model), learning(model)
    assert set(parts) - {"head"} == {"language_model", "projector"}  # a tied head is the embedding
    resting = {n for n, p in model.named_parameters() if not p.requires_grad}
    assert resting and all(family.part(name) == "tower" for name in resting)


@pytest.mark.parametrize("lora", [None, Lora(2, 4, 0.0)], ids=["whole", "lora"])
def test_all_of_the_projector_learns_and_nothing_of_it_rests(any_family, lora):
    """LLaVA-NeXT's has a parameter that lies in no module of it."""
    model = trainable(load(any_family), lora)
    family = family_of(model)
    owned = {n: p for n, p in model.named_parameters() if family.part(n) == "projector" and "original_module" not in n}
    assert owned and all(p.requires_grad for p in owned.values())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"rank": 0}, "lora.rank=0"),
        ({"rank": -4}, "lora.rank=-4"),
        ({"dropout": 1.5}, "lora.dropout=1.5"),
        ({"dropout": -0.1}, "lora.dropout"),
    ],
)
def test_what_is_no_rank_and_no_share_is_refused_in_our_words(values, said):
    with pytest.raises(BadArgument, match=said) as refused:
        Lora(**values)
    assert "Next: set" in str(refused.value)


def test_adapters_on_a_language_model_that_learns_are_refused(tiny):
    with pytest.raises(BadArgument, match="lora: null"):
        trainable(load(tiny), Lora(2, 4, 0.0), tune_language_model=True)


@pytest.mark.parametrize("tune_tower", [False, True])
def test_the_tower_rests_unless_it_is_to_learn(tiny, tune_tower):
    model = trainable(load(tiny), Lora(2, 4, 0.0), tune_tower)
    tower = {n: p for n, p in model.named_parameters() if "vision_tower" in n and "original_module" not in n}
    assert {p.requires_grad for n, p in tower.items() if "post_layernorm" not in n} == {tune_tower}


@pytest.mark.parametrize("lora", [None, Lora(2, 4, 0.0)], ids=["whole", "lora"])
def test_a_tower_that_learns_is_of_one_type_though_its_last_layer_does_not(tiny, lora):
    base = load(tiny, torch.bfloat16)
    base.config.vision_feature_layer = -2
    trainable(base, lora, tune_tower=True)
    tower = base.get_submodule(family_of(base).tower)
    assert {p.dtype for n, p in tower.named_parameters() if "original_module" not in n} == {torch.float32}
    side = base.config.vision_config.image_size
    made = encode(base, Images([{"pixel_values": torch.rand(1, 3, side, side)}], None))
    assert torch.isfinite(made.features[0]).all()


def test_what_lies_behind_the_layer_that_is_read_never_learns(tiny):
    base = load(tiny)
    base.config.vision_feature_layer = -2
    model = trainable(base, None, tune_tower=True)
    resting = {
        n.partition("vision_tower.")[2] for n, p in model.named_parameters() if not p.requires_grad and "tower" in n
    }
    assert resting and all("layers.1." in name or "post_layernorm" in name for name in resting)
    assert any("layers.1." in name for name in resting)
