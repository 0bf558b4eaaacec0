"""Records as requests."""

import json
from dataclasses import replace

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Message, Part
from lmod_train.models.backends.endpoint.request import Decoding, messages_of, rendered
from tests.tiny import record

URLS = {"a.png": "data:image/png;base64,AAAA", "b.png": "data:image/png;base64,BBBB"}


def test_parts_keep_their_order_and_words_are_unchanged():
    turns = (
        Message("system", (Part("text", " You see\neyes. "),)),
        Message("user", (Part("text", "First:"), Part("image"), Part("text", "second: 眼"), Part("image"))),
        Message("assistant", (Part("text", "Both are CFP."),)),
        Message("user", (Part("text", "Which has glaucoma?"),)),
    )
    asked = replace(record(image=("b.png", "a.png")), messages=turns)
    assert messages_of(asked, URLS, Decoding("m")) == [
        {"role": "system", "content": " You see\neyes. "},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "First:"},
                {"type": "image_url", "image_url": {"url": URLS["b.png"]}},
                {"type": "text", "text": "second: 眼"},
                {"type": "image_url", "image_url": {"url": URLS["a.png"]}},
            ],
        },
        {"role": "assistant", "content": "Both are CFP."},
        {"role": "user", "content": "Which has glaucoma?"},
    ]


def test_a_system_prompt_and_a_detail_where_they_are_set():
    system, user = messages_of(record(image=["a.png"]), URLS, Decoding("m", system_prompt="Be brief."), "high")
    assert system == {"role": "system", "content": "Be brief."}
    assert user["content"][0]["image_url"] == {"url": URLS["a.png"], "detail": "high"}


def test_an_image_without_a_place_is_refused():
    with pytest.raises(BadArgument, match="glaucoma/phantom/1"):
        messages_of(replace(record(image=["a.png"]), image=("a.png", "b.png")), URLS, Decoding("m"))


@pytest.mark.parametrize(
    ("name", "reasoning"),
    [
        ("gpt-5", True), ("gpt-5-nano", True), ("gpt-5.1-2026-01-01", True), ("openai/gpt-5", True), ("o3-mini", True),
        ("gpt-6", True), ("gpt-6-luna", True), ("gpt-6.1-sol", True), ("openai/gpt-6.2-astra-2026-11-01", True),
        ("gpt-7", True), ("gpt-oss-120b", False), ("gpt-4.1", False),
        ("o1", True), ("gpt-4o", False), ("Qwen/Qwen3-VL-8B-Instruct", False), ("gpt-50", False), ("o1x", False),
        ("olmo-7b", False),
    ],
)  # fmt: skip
def test_gpt_5_and_later_have_rules_of_their_own(name, reasoning):
    fields = Decoding(name, 64).fields()
    classic = {"model": name, "max_tokens": 64, "temperature": 0.0}
    assert fields == ({"model": name, "max_completion_tokens": 64} if reasoning else classic)
    assert Decoding(name, 64, rules="classic").fields() == classic
    assert Decoding(name, 64, rules="no_temperature").fields() == {"model": name, "max_tokens": 64}
    assert "max_completion_tokens" in Decoding(name, 64, rules="reasoning").fields()


def test_further_fields_are_sent_and_are_part_of_the_settings():
    decoding = Decoding("m", temperature=None, extra={"seed": 3, "reasoning_effort": "low"})
    assert decoding.fields() == {"model": "m", "max_tokens": 512, "seed": 3, "reasoning_effort": "low"}
    assert decoding.settings() == {**decoding.fields(), "system_prompt": ""}


@pytest.mark.parametrize("extra", [{"temperature": 1}, {"messages": []}, {"stream": True}, {"n": 2}, {"model": "x"}])
def test_a_field_that_an_option_sets_is_refused(extra):
    with pytest.raises(BadArgument, match=r"backend\.extra"):
        Decoding("m", extra=extra)


@pytest.mark.parametrize("options", [{"model": ""}, {"model": "m", "max_new_tokens": 0}])
def test_a_model_and_a_token_are_needed(options):
    with pytest.raises(BadArgument, match=r"backend\."):
        Decoding(**options)


def test_what_is_rendered_is_all_but_the_images_data():
    sent = messages_of(record(image=["a.png"]), URLS, Decoding("m"))
    text = rendered(sent)
    assert "AAAA" not in text and "Does this eye have glaucoma?" in text
    assert json.loads(text)[0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,<3 bytes, sha256 ")
    assert sent[0]["content"][0]["image_url"]["url"] == URLS["a.png"]
