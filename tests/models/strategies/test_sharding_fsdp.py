"""The units of FSDP2; training and reading back are tested in `test_sharding`."""

from pathlib import Path

import pytest

from lmod_train.models.chat.checkpoint import load
from lmod_train.models.strategies.sharding_fsdp import decoder_layers
from tests.families import MODEL_TYPES
from tests.models.chat.written_once import write_tiny


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_every_decoder_layer_and_no_layer_of_the_tower_is_a_unit(model_type: str, tmp_path: Path):
    network = load(write_tiny(tmp_path, model_type))
    found = decoder_layers(network)
    assert len(found) == network.config.get_text_config().num_hidden_layers
    assert all("Decoder" in type(layer).__name__ for layer in found)
