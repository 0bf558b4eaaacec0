"""Log-likelihoods of the choices for any class: equal to transformers' own loss, choice by choice."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional
from transformers import AutoModelForImageTextToText, AutoProcessor

from lmod_train.core.types import Box, Region
from lmod_train.models.chat.plain_dialect import PlainDialect
from lmod_train.models.chat.plain_generation import choice_likelihoods
from lmod_train.models.chat.prompting import Prompting
from tests.models.chat.plain_reference import of_type, plain_inputs
from tests.models.chat.written_once import write_other
from tests.other_classes import OTHERS
from tests.tiny import record

RECORDS = [
    record("0", "Which stage?", ["a.png"], "Stage: 3", choices=("0", "1", "3", "10")),
    record("1", "What is it?", ["a.png", "tall.png"], "Diagnosis: NORMAL", choices=("NORMAL", "CATARACT")),
]


@pytest.fixture(scope="module", params=OTHERS)
def other(request, tmp_path_factory):
    folder = write_other(tmp_path_factory.mktemp(request.param), request.param)
    prompt = Prompting(template="words" if request.param == "paligemma" else "")
    return SimpleNamespace(
        model_type=request.param,
        network=AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval(),
        processor=AutoProcessor.from_pretrained(folder),
        dialect=PlainDialect(folder, prompt),
    )


def loss_of_transformers(other, eyes, one, answer, closing):
    """transformers' own mean loss of a reply and its closing token over its tokens, and their number."""
    if other.model_type == "paligemma":  # its processor makes the labels; its text model needs its own mask in training
        inputs = plain_inputs(other.processor, eyes, one, suffix=[answer])
        labels = inputs.pop("labels")
        assert other.processor.tokenizer.decode(labels[labels >= 0]) == answer + closing
    else:
        inputs = plain_inputs(other.processor, eyes, one)
        answered = other.processor.tokenizer(answer + closing, add_special_tokens=False, return_tensors="pt").input_ids
        inputs, labels = continued(dict(inputs), answered)
    with torch.no_grad():
        loss = other.network(**of_type(other.network, inputs), labels=labels).loss.item()
    return loss, int((labels >= 0).sum())


def continued(inputs, answer):
    ids = torch.cat([inputs["input_ids"], answer], 1)
    more = answer.shape[1]
    for name in ("token_type_ids", "mm_token_type_ids"):
        if name in inputs:
            inputs[name] = functional.pad(inputs[name], (0, more))
    if "cross_attention_mask" in inputs:  # as of the last token
        mask = inputs["cross_attention_mask"]
        inputs["cross_attention_mask"] = torch.cat([mask, mask[:, -1:].expand(-1, more, -1, -1)], 1)
    labels = ids.clone()
    labels[:, :-more] = -100
    return inputs | {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, labels


CLOSING = {
    "gemma4": "<end_of_turn>",
    "gemma4_unified": "<end_of_turn>",
    "mllama": "<|eot_id|>",
    "qwen3_vl_moe": "<|im_end|>",
    "glm4v_moe": "<|endoftext|>",
    "glm46v": "<|endoftext|>",
    "llama4": "<|eot_id|>",
    "minicpmv4_6": "<|im_end|>",
    "qwen3_5": "<|im_end|>",
}


@pytest.mark.parametrize(("row", "kind"), [(0, "mean"), (1, "sum")])
def test_they_are_those_of_transformers_own_loss(other, eyes, row, kind):
    one = RECORDS[row]
    lead = " " if other.model_type in ("deepseek_vl", "janus") else ""  # their template ends prompts before the space
    found = choice_likelihoods(other.network, other.dialect, other.dialect(RECORDS, eyes), row, kind)
    assert list(found) == list(one.choices)
    label = one.answer.partition(" ")[0]
    for choice in one.choices:
        closing = CLOSING.get(other.model_type, "</s>")
        loss, tokens = loss_of_transformers(other, eyes, one, f"{lead}{label} {choice}", closing)
        value = found[choice] / (tokens if kind == "sum" else 1)
        assert value == pytest.approx(-loss, abs=1e-5), choice


def test_regions_open_answers_and_nothing_asked_have_none(other, eyes):
    regions = record("r", "Name it.", ["a.png"], "Region ID: 1; Type: cup", choices=("cup", "disc"),
                     regions=(Region("optic cup", Box(0, 0, 4, 4), 1),))  # fmt: skip
    records = [regions, record("o", "Describe it.", ["a.png"], "A disc.\nA cup.", choices=("A disc.", "A cup."))]
    batch = other.dialect([*records, RECORDS[0]], eyes)
    assert [choice_likelihoods(other.network, other.dialect, batch, row, "sum") for row in (0, 1)] == [{}, {}]
    assert choice_likelihoods(other.network, other.dialect, batch, 2, "none") == {}
