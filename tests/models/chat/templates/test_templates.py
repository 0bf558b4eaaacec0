"""Chat templates write, character by character, what the code that the weights were published with writes."""

import re

import pytest
from transformers import PreTrainedTokenizerFast

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.rendering import check_system_message
from lmod_train.models.chat.templates import names, template_of
from tests.tiny import base

VICUNA = (
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions."
)
HUMAN = VICUNA.replace("curious user", "curious human").replace("the user's", "the human's")
SEES = (
    "You are a helpful language and vision assistant. You are able to understand the visual content that the user "
    "provides, and assist the user with a variety of tasks using natural language."
)
SHANGHAI = (
    "你是由上海人工智能实验室联合商汤科技开发的书生多模态大模型，英文名叫InternVL, 是一个有用无害的人工智能助手。"
)
SHUSHENG = "你是书生·万象，英文名是InternVL，是由上海人工智能实验室、清华大学及多家合作单位联合开发的多模态大语言模型。"
ASKED = {
    "vicuna_v1": f"<s>{VICUNA} USER: <image>\nQ1 ASSISTANT: A1</s>USER: Q2 ASSISTANT:",
    "llava_v0": f"<s>{HUMAN}###Human: <image>\nQ1###Assistant: A1###Human: Q2###Assistant:",
    "mistral_instruct": "<s>[INST] <image>\nQ1 [/INST] A1 </s>[INST] Q2 [/INST]",
    "llava_llama_2": f"<s>[INST] <<SYS>>\n{SEES}\n<</SYS>>\n\n<image>\nQ1 [/INST] A1 </s><s>[INST] Q2 [/INST]",
    "chatml_direct": "<s><|im_start|>system\nAnswer the questions.<|im_end|><|im_start|>user\n<image>\nQ1<|im_end|>"
    "<|im_start|>assistant\nA1<|im_end|><|im_start|>user\nQ2<|im_end|><|im_start|>assistant\n",
    "internlm2-chat": f"<s><|im_start|>system\n{SHANGHAI}<|im_end|><|im_start|>user\n<IMG_CONTEXT>\nQ1<|im_end|>"
    "<|im_start|>assistant\nA1<|im_end|><|im_start|>user\nQ2<|im_end|><|im_start|>assistant\n",
    "internvl2_5": f"<s><|im_start|>system\n{SHUSHENG}<|im_end|>\n<|im_start|>user\n<IMG_CONTEXT>\nQ1<|im_end|>\n"
    "<|im_start|>assistant\nA1<|im_end|>\n<|im_start|>user\nQ2<|im_end|>\n<|im_start|>assistant\n",
    "huatuogpt_vision": "<|user|>\n<image>\nQ1\n<|assistant|>\nA1<|endoftext|><|user|>\nQ2\n<|assistant|>\n",
    "words": "<image>Q1A1\nQ2",
}
"""What the conversations of LLaVA's and InternVL's code say, with the first token that their tokenizers add."""


def turn(role, text, *, image=False):
    return {"role": role, "content": [*([{"type": "image"}] if image else []), {"type": "text", "text": text}]}


TURNS = [turn("user", "Q1", image=True), turn("assistant", "A1"), turn("user", "Q2")]


@pytest.fixture(scope="module")
def tokenizer():
    return PreTrainedTokenizerFast.from_pretrained(base())


@pytest.mark.parametrize("name", names())
def test_a_conversation_is_written_as_the_original_code_writes_it(name, tokenizer):
    def apply(turns, *, add_generation_prompt=False):
        return tokenizer.apply_chat_template(
            turns, chat_template=template_of(name), add_generation_prompt=add_generation_prompt, tokenize=False
        )

    assert apply(TURNS, add_generation_prompt=True) == ASKED[name]
    plain = [{"role": t["role"], "content": t["content"][-1]["text"]} for t in TURNS]
    assert apply(plain, add_generation_prompt=True) == re.sub("<(image|IMG_CONTEXT)>\n?", "", ASKED[name])
    asked, answered = apply(TURNS[:1], add_generation_prompt=True), apply(TURNS[:2])
    assert answered.startswith(asked), "what is asked is a prefix of what is learnt"
    own = [turn("system", "Look twice."), *TURNS[:1]]
    check_system_message(apply, own, name)
    for text in (VICUNA, HUMAN, SEES, SHANGHAI, SHUSHENG, "Answer the questions."):
        assert text not in apply(own)


def test_an_unknown_name_is_refused():
    with pytest.raises(BadArgument, match=r"--template='v7': expected one of .*vicuna_v1"):
        template_of("v7")
