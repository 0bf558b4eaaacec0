"""Rendering of records: template, system text and thinking as the options state them."""

from dataclasses import replace

import pytest
from transformers import AutoProcessor

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.core.types import Message, Part
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.rendering import Rendering
from tests.models.chat.written_once import write_other, write_tiny
from tests.tiny import base, record

ONE = record("1", "Is it ill?", ["a.png"])
OWN = replace(ONE, messages=(Message("system", (Part("text", "You are a doctor."),)), *ONE.messages))


def rendered(folder, one=ONE, **options):
    return Rendering(AutoProcessor.from_pretrained(folder), Prompting(**options), folder).prompt(one)


def test_a_named_template_takes_the_place_of_the_checkpoint_s():
    assert rendered(base(), template="mistral_instruct") == "<s>[INST] <image>\nIs it ill? [/INST]"
    vicuna = rendered(base(), template="vicuna_v1")
    assert vicuna.startswith("<s>A chat between a curious user") and vicuna.endswith(
        "USER: <image>\nIs it ill? ASSISTANT:"
    )
    dialect = Dialect(base(), Prompting(template="mistral_instruct"))
    assert dialect.render(ONE) == ("<s>[INST] <image>\nIs it ill? [/INST]", " GLAUCOMA </s>")


def test_the_words_alone_for_models_without_turns():
    assert rendered(base(), template="words") == "<image>Is it ill?"
    assert rendered(base(), OWN, template="words") == "You are a doctor.\n<image>Is it ill?"


def test_the_system_text_replaces_the_template_s_and_stands_before_the_record_s(tmp_path):
    folder = write_tiny(tmp_path, "qwen2_5_vl")
    assert "You are a helpful assistant." in rendered(folder)
    mine = rendered(folder, system_prompt="Reply in one word.")
    assert mine == rendered(folder).replace("You are a helpful assistant.", "Reply in one word.")
    both = rendered(folder, OWN, system_prompt="Reply in one word.")
    assert "system\nReply in one word.\n\nYou are a doctor.<|im_end|>" in both and both.count("<|im_start|>system") == 1


def test_a_template_without_a_place_for_it_refuses_a_system_text(tmp_path):
    (tmp_path / "turns.jinja").write_text("{% for m in messages if m.role != 'system' %}{{ m.role }}{% endfor %}")
    with pytest.raises(BadArgument, match=r"does not write 'Reply in one word\.' of the system message"):
        rendered(base(), template=str(tmp_path / "turns.jinja"), system_prompt="Reply in one word.")


def test_thinking_is_off_unless_it_is_turned_on(tmp_path):
    folder = write_other(tmp_path, "glm4v_moe")
    assert rendered(folder).endswith("/nothink<|assistant|>\n<think></think>\n")
    assert rendered(folder, thinking=True).endswith("Is it ill?<|assistant|>\n")


def test_thinking_without_a_switch_is_refused():
    with pytest.raises(BadArgument, match=r"prompt.thinking=True: expected false.*no switch enable_thinking"):
        rendered(base(), thinking=True)


def test_no_template_is_refused_with_the_name_of_the_one_for_words(tmp_path):
    folder = write_other(tmp_path, "paligemma")
    with pytest.raises(WeightsMismatch, match=r"prompt\.template: words"):
        rendered(folder)
    assert rendered(folder, template="words") == "<image>Is it ill?"


def test_markers_are_counted():
    rendering = Rendering(AutoProcessor.from_pretrained(base()), Prompting(), base())
    rendering.check_markers(ONE, rendering.prompt(ONE))
    with pytest.raises(BadArgument, match=r"expected <image> 1 time\(s\)"):
        rendering.check_markers(ONE, "USER: Is it ill?")


def test_control_tokens_in_words_or_answer_are_refused_and_other_signs_are_not():
    rendering = Rendering(AutoProcessor.from_pretrained(base()), Prompting(), base())
    tokens = {str(t) for t in rendering.tokenizer.added_tokens_decoder.values() if t.special}
    assert {"<s>", "</s>", "<pad>", "<image>"} <= tokens
    for token in tokens:
        asked = replace(ONE, messages=(Message("user", (Part("image"), Part("text", f"Is {token} ill?"))),))
        assert token in rendering.refusal(asked) and token in rendering.refused_answer(f"GLAUCOMA{token}")
    for words in ("IOP < 21 and > 9", "</S>", "s>", "<|x|>"):
        asked = replace(ONE, messages=(Message("user", (Part("image"), Part("text", words))),))
        assert rendering.refusal(asked) == rendering.refused_answer(words) == ""


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize("text", ["{{ 'A' * 10**10 }}", ENDLESS, "{{ 1 / 0 }}", "{{ 1 + 'a' }}"])
def test_a_template_that_does_too_much_is_an_error_of_the_checkpoint_and_its_cure_works(text, tmp_path):
    (tmp_path / "endless.jinja").write_text(text)
    mine = Rendering(AutoProcessor.from_pretrained(base()), Prompting(template=str(tmp_path / "endless.jinja")), base())
    for asked in (mine.prompt, lambda one: mine.render(one, "</s>"), lambda _: mine.ending()):
        with pytest.raises(WeightsMismatch, match=r"or name one by `prompt\.template`"):
            asked(ONE)
    with pytest.raises(BadArgument, match="it raises"):
        mine.prompt(OWN)
    assert rendered(base(), template="words")
