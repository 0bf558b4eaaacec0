"""The text of a prompt, joined over messages and parts."""

from dataclasses import replace

from lmod_train.core.types import Message, Part
from lmod_train.training.doctor.reply_checks import prompt_text
from tests.tiny import record


def test_the_texts_of_all_messages_are_joined_and_images_add_no_words():
    messages = (
        Message("system", (Part("text", "You are an ophthalmologist."),)),
        Message("user", (Part("image"), Part("text", "Is this eye normal?"))),
    )
    words = " ".join(prompt_text(replace(record(), messages=messages)).split())
    assert words == "You are an ophthalmologist. Is this eye normal?"
