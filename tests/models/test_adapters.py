"""Which parts of a checkpoint learn."""

import pytest

from lmod_train.models.adapters import Lora, trainable
from lmod_train.models.checkpoint import load


@pytest.mark.parametrize("tune_tower", [False, True])
def test_the_tower_rests_unless_it_is_to_learn(tiny, tune_tower):
    model = trainable(load(tiny), Lora(2, 4, 0.0), tune_tower)
    tower = [p.requires_grad for n, p in model.named_parameters() if "vision_tower" in n and "original_module" not in n]
    assert set(tower) == {tune_tower}
