"""A merged folder stops where the tuned model did; what else merging does is tried under every strategy elsewhere."""

import torch
from transformers import GenerationConfig

from lmod_train.chat.adapters import Lora
from lmod_train.chat.generation import end_tokens
from lmod_train.modules.conversation import Conversation
from lmod_train.modules.merging import merge
from tests.families import write_tiny


def test_a_merged_model_stops_on_the_templates_end_though_the_base_named_none(tmp_path):
    (tmp_path / "base").mkdir()
    base = write_tiny(tmp_path / "base", "gemma3")
    (base / "generation_config.json").unlink()
    tuned = Conversation(str(base), Lora(2, 4, 0.0))
    tuned.configure_model()
    checkpoint = {"state_dict": tuned.state_dict(), "global_step": 1}
    tuned.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "last.ckpt")
    merge(tmp_path / "last.ckpt", tmp_path / "merged")
    stops = set(GenerationConfig.from_pretrained(tmp_path / "merged").eos_token_id)
    assert tuned.dialect.end_id in stops and stops == end_tokens(tuned.network, tuned.dialect)
