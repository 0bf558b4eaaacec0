"""A merged folder of every family answers and stops as the tuned model did; strategies are tried elsewhere."""

import pytest
import torch
from transformers import GenerationConfig

from lmod_train.extensions.weights.merging import merge
from lmod_train.models.chat.adapters import Lora
from lmod_train.models.chat.checkpoint import load
from lmod_train.models.chat.decoding import Decoding, end_tokens, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.modules.conversation import VisionLanguageModel
from tests.families import MODEL_TYPES
from tests.models.chat.written_once import write_tiny
from tests.tiny import record, write_curated


def test_a_merged_model_stops_on_the_templates_end_though_the_base_named_none(tmp_path):
    (tmp_path / "base").mkdir()
    base = write_tiny(tmp_path / "base", "gemma3")
    (base / "generation_config.json").unlink()
    tuned = VisionLanguageModel(str(base), Lora(2, 4, 0.0))
    tuned.configure_model()
    checkpoint = {"state_dict": tuned.state_dict(), "global_step": 1}
    tuned.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "last.ckpt")
    merge(tmp_path / "last.ckpt", tmp_path / "merged")
    stops = set(GenerationConfig.from_pretrained(tmp_path / "merged").eos_token_id)
    assert tuned.dialect.end_id in stops and stops == end_tokens(tuned.network, tuned.dialect)


ASKED = [
    record("1", "Does this eye have glaucoma?", ["a.png"]),
    record("2", "What is an optic disc?", []),
    record("3", "Which of these eyes has glaucoma?", ["a.png", "b.png"]),
]


@pytest.mark.parametrize(
    ("model_type", "names"),
    [
        *((model_type, "server") for model_type in MODEL_TYPES),
        ("gemma3", "transformers"),
        *(
            pytest.param(model_type, "transformers", marks=pytest.mark.slow)
            for model_type in MODEL_TYPES
            if model_type != "gemma3"
        ),
    ],
)
def test_a_merged_model_of_every_family_answers_as_the_tuned_one(tmp_path, model_type, names):
    (tmp_path / "base").mkdir()
    tuned = VisionLanguageModel(str(write_tiny(tmp_path / "base", model_type)), Lora(2, 4, 0.0), max_new_tokens=6)
    tuned.configure_model()
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in tuned.parameters():
            if parameter.requires_grad:
                parameter += 0.1 * torch.randn_like(parameter)
    checkpoint = {"state_dict": tuned.state_dict(), "global_step": 1}
    tuned.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "last.ckpt")
    merge(tmp_path / "last.ckpt", tmp_path / "merged", names=names)
    curated = write_curated(tmp_path / "curated", ASKED, side=90)
    batch = tuned.collate(ASKED, curated)
    tuned.eval()
    before = [r.reply for r in respond(load(tmp_path / "base").eval(), tuned.dialect, batch, Decoding(6), "base")]
    expected = [r.reply for r in tuned.respond(batch)]
    merged = Dialect(tmp_path / "merged")
    again = merged(ASKED, curated)
    found = [r.reply for r in respond(load(tmp_path / "merged").eval(), merged, again, Decoding(6), "merged")]
    assert found == expected != before
