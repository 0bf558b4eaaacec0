"""Rounds about the same images: the replies of `generate`, and every image embedded and computed once."""

from dataclasses import replace

import pytest
import torch

from lmod_train.core.types import Message, Part
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.encoding import Images
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.image_cache import Kept
from lmod_train.models.chat.masks import unshareable
from tests.models.chat.quick import two_kin
from tests.models.chat.test_generation_families import alone, told
from tests.tiny import record

NEW = 5
NAMES = ("a.png", "b.png", "tall.png")
WORDS = (
    ("How good is the image?", "Is it sharp?", "How good is the image?"),
    ("Image quality: good. Where is the lesion?", "Image quality: bad. Where is it?", "Image quality: bad. Where?"),
    ("Location: the macula. What is it?", "Location: no answer was given. What is it?"),
    ("Findings: drusen. Name it.", "Findings: none. Name it.", "Findings: a cup. Name the disease, please."),
)


def in_rounds(names=NAMES):
    return [
        [record(f"{n}/{stage}", text, [name]) for n, (name, text) in enumerate(zip(names, texts, strict=False))]
        for stage, texts in enumerate(WORDS)
    ]


def asked(kin, eyes, rounds, kept, **options):
    found = []
    for stage, some in enumerate(rounds):
        batch = kin.dialect(some, eyes)
        batch.rounds_left = len(rounds) - 1 - stage
        found += respond(kin.network, kin.dialect, batch, Decoding(NEW, **options), "tiny", kept=kept)
    return found


@two_kin
def test_rounds_give_the_tokens_of_one_record_at_a_time(kin, eyes):
    rounds = in_rounds()
    replies = asked(kin, eyes, rounds, Kept(), likelihoods="sum")
    every = [one for some in rounds for one in some]
    assert [r.reply for r in replies] == [told(kin, alone(kin, eyes, one, NEW)[1]) for one in every]
    plain = [respond(kin.network, kin.dialect, kin.dialect([r], eyes), Decoding(NEW, "sum"), "x")[0] for r in every]
    for one, other in zip(replies, plain, strict=True):
        assert one.likelihoods == pytest.approx(other.likelihoods, abs=2e-4)


@two_kin
def test_each_image_is_computed_once_for_all_rounds(kin, eyes, monkeypatch):
    if unshareable(kin.network):
        pytest.skip("its prompts are computed one by one")
    rounds, token = in_rounds(), family_of(kin.network).image_token_id
    shown = {name: p.count(token) for name, p in zip(NAMES, kin.dialect(rounds[0], eyes).prompt_ids, strict=True)}
    counted = {"tokens": 0, "images": 0}
    forward, embed = kin.network.forward, kin.network.get_image_features

    def computing(*args, **given):
        counted["tokens"] += int((given["input_ids"] == token).sum())
        return forward(*args, **given)

    def embedding(*args, **given):
        counted["images"] += 1
        return embed(*args, **given)

    monkeypatch.setattr(kin.network, "forward", computing)
    monkeypatch.setattr(kin.network, "get_image_features", embedding)
    asked(kin, eyes, rounds, Kept())
    assert counted == {"tokens": sum(shown.values()), "images": len(NAMES)}
    asked(kin, eyes, rounds, None)
    assert counted["tokens"] > 3 * sum(shown.values()) and counted["images"] == len(NAMES) + sum(map(len, rounds))


@two_kin
def test_two_images_of_a_question_and_rounds_of_other_images(kin, eyes):
    pairs = [("a.png", "b.png"), ("tall.png", "a.png")]
    rounds = [[record(f"{n}/{s}", text, pair) for n, pair in enumerate(pairs)] for s, text in enumerate(WORDS[1][:2])]
    kept = Kept()
    for some in (rounds, in_rounds(("b.png",)), rounds[::-1]):
        replies = asked(kin, eyes, some, kept)
        every = [one for asked_together in some for one in asked_together]
        plain = [respond(kin.network, kin.dialect, kin.dialect([r], eyes), Decoding(NEW), "tiny")[0] for r in every]
        assert [r.reply for r in replies] == [r.reply for r in plain]


def test_nothing_is_kept_of_images_without_a_hash_nor_after_the_last_round(network, dialect, eyes, tiny):
    def size(kept):
        return len(kept._embedded), len(kept._prefixes)

    kept = Kept()
    for some, left, expected in (
        (in_rounds()[0], 2, (3, 3)),
        ([replace(r, image_sha256=()) for r in in_rounds()[0]], 2, (0, 0)),
        (in_rounds()[0], 1, (3, 3)),
        (in_rounds(("b.png",))[0], 1, (3, 3)),
        (in_rounds()[1], 0, (0, 0)),
        (in_rounds()[1], 0, (0, 0)),
    ):
        batch = dialect(some, eyes)
        batch.rounds_left = left
        respond(network, dialect, batch, Decoding(2), "tiny", kept=kept)
        assert size(kept) == expected


def test_text_after_images_and_an_empty_batch(network, dialect, eyes):
    kept = Kept()
    texts = [record("t", "What is a cup?", [])]
    for some in (in_rounds()[0], texts, []):
        batch = dialect(some, eyes)
        batch.rounds_left = 1
        assert len(respond(network, dialect, batch, Decoding(2), "tiny", kept=kept)) == len(some)
    plain = respond(network, dialect, dialect(texts, eyes), Decoding(4), "tiny")
    assert respond(network, dialect, dialect(texts, eyes), Decoding(4), "tiny", kept=kept)[0].reply == plain[0].reply


def test_a_system_message_before_the_image_is_a_part_of_the_prefix(network, dialect, eyes):
    def spoken(text, some):
        return [replace(r, messages=(Message("system", (Part("text", text),)), *r.messages)) for r in some]

    kept, rounds = Kept(), in_rounds()
    first = [spoken("You are a doctor.", some) for some in rounds[:2]]
    other = [spoken("You are a poet.", some) for some in rounds[:2]]
    for some, left in ((first[0], 3), (other[0], 2), (first[1], 1), (other[1], 0)):
        batch = dialect(some, eyes)
        batch.rounds_left = left
        found = respond(network, dialect, batch, Decoding(NEW), "tiny", kept=kept)
        plain = respond(network, dialect, dialect(some, eyes), Decoding(NEW), "tiny")
        assert [r.reply for r in found] == [r.reply for r in plain]


def test_a_batch_moves_with_its_rounds():
    batch = ChatBatch([], [], [], [], Images([], []))
    batch.rounds_left = 3
    assert batch.to(torch.device("cpu")).rounds_left == 3
