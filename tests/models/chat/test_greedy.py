"""Greedy decoding of questions together: what takes part in each step, and where the network's own masks are used."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from transformers import GenerationConfig

from lmod_train.core.types import Message, Part
from lmod_train.data.datamodules.order import ImageBatches, by_image
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.prefixes import Asked
from lmod_train.models.chat.token_loop import KeyValues, decoded
from tests.models.chat.quick import two_kin
from tests.models.chat.reference import generated, inputs_of
from tests.tiny import record

NEW = 8


def instructed(one):
    """A record with a system text."""
    return replace(one, messages=(Message("system", (Part("text", "Answer in one word."),)), *one.messages))


QUESTIONS = ["Which eye is ill?", "Name the cup.", "Is it one of cataract, glaucoma and normal?", "What is seen here?"]
RECORDS = [record(str(i), words, ["a.png"]) for i, words in enumerate(QUESTIONS)]
RECORDS += [record(f"b{i}", words, ["b.png"]) for i, words in enumerate(QUESTIONS[:2])]
RECORDS += [record("text", "What is an optic disc?", []), record("both", "Which one?", ["a.png", "tall.png"])]
RECORDS += [instructed(record("system", QUESTIONS[0], ["a.png"]))]


def replies(kin, eyes, records=RECORDS, new=NEW):
    made = respond(kin.network, kin.dialect, kin.dialect(records, eyes), Decoding(new), "tiny")
    return [r.reply for r in made]


def expected(kin, eyes, records=RECORDS, new=NEW):
    tokens = [generated(kin, eyes, one, new)[1] for one in records]
    return [kin.dialect.tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in tokens]


@pytest.fixture
def llava(network, dialect):
    return SimpleNamespace(network=network, dialect=dialect)


@pytest.fixture
def steps(network):
    """The token ids of every call of the network."""
    seen = []
    hook = network.register_forward_pre_hook(
        lambda _, args, given: seen.append(given["input_ids"].clone()), with_kwargs=True
    )
    yield seen
    hook.remove()


def batched(kin, eyes, size, rank=0, ranks=1):
    """Replies by id in batches of the datamodule, of one of several processes."""
    order = ImageBatches(by_image(RECORDS, size), size, rank=rank, ranks=ranks)
    chosen = [[RECORDS[i] for i in batch] for batch in order]
    return {one.id: reply for batch in chosen for one, reply in zip(batch, replies(kin, eyes, batch), strict=True)}


@two_kin
def test_batches_of_one_and_of_eight_and_two_processes_give_the_same_tokens(kin, eyes):
    wanted = dict(zip([one.id for one in RECORDS], expected(kin, eyes), strict=True))
    assert len(set(wanted.values())) >= len(RECORDS) - 1, "replies that depend on nothing prove nothing"
    assert batched(kin, eyes, 1) == batched(kin, eyes, 8) == wanted
    first, second = (batched(kin, eyes, 3, rank, ranks=2) for rank in (0, 1))
    assert first and second and first | second == wanted


@two_kin
def test_a_text_model_of_unknown_masks_is_asked_one_prompt_at_a_time(kin, eyes, monkeypatch):
    wanted = expected(kin, eyes)
    monkeypatch.setattr(type(kin.dialect.family), "masks", {})
    assert replies(kin, eyes) == wanted


@two_kin
def test_eager_attention_takes_the_masks_too(kin, eyes):
    wanted = expected(kin, eyes)
    kin.network.set_attn_implementation("eager")
    try:
        assert replies(kin, eyes) == wanted
    finally:
        kin.network.set_attn_implementation("sdpa")


def test_a_penalty_of_the_model_is_applied_as_generate_does(llava, eyes, monkeypatch):
    plain = expected(llava, eyes)
    ends = llava.network.generation_config.eos_token_id
    config = GenerationConfig(eos_token_id=ends, pad_token_id=0, repetition_penalty=3.0, min_new_tokens=3)
    monkeypatch.setattr(llava.network, "generation_config", config)
    wanted = expected(llava, eyes)
    assert wanted != plain
    assert replies(llava, eyes) == wanted


def test_a_question_that_has_ended_takes_no_further_part(llava, eyes, steps):
    made = [generated(llava, eyes, one, NEW)[1] for one in RECORDS[:4]]
    end = made[0][1]
    lasting = [ids.index(end) + 1 if end in ids else NEW for ids in made]
    assert min(lasting) < max(lasting) == NEW
    steps.clear()
    batch = llava.dialect(RECORDS[:4], eyes)
    found = decoded(asked(llava, batch, {end}), NEW)
    assert [len(tokens) for tokens in found] == lasting
    assert [ids.numel() for ids in steps[2:]] == [sum(n > step for n in lasting) for step in range(1, NEW)]


def test_a_sequence_without_questions_leaves_the_batch(llava, eyes, steps):
    chosen = [RECORDS[0], RECORDS[4]]  # the same question about two images
    made = [generated(llava, eyes, one, NEW)[1] for one in chosen]
    end = next(token for token in made[0] if token not in made[1])
    steps.clear()
    found = decoded(asked(llava, llava.dialect(chosen, eyes), {end}), NEW)
    assert found == [made[0][: made[0].index(end) + 1], made[1]]
    assert [len(ids) for ids in steps[2:]] == [2] * made[0].index(end) + [1] * (NEW - 1 - made[0].index(end))


def asked(llava, batch, ends):
    with torch.no_grad():
        images = encode(llava.network, batch.images)
    return Asked(llava.network, images, batch.prompt_ids, batch.images_of, ends, 0)


def test_memory_is_allocated_once_and_again_where_replies_are_long(llava, eyes, monkeypatch):
    wanted, calls = expected(llava, eyes), []
    rearrange = KeyValues.rearrange
    monkeypatch.setattr(KeyValues, "rearrange", lambda self, *a: (calls.append(a[2]), rearrange(self, *a)))
    assert replies(llava, eyes) == wanted
    assert not calls
    monkeypatch.setattr("lmod_train.models.chat.token_loop.STEPS", 2)
    assert replies(llava, eyes) == wanted
    assert len(calls) == 3


def test_keys_and_values_are_those_of_transformers_cache(llava, eyes):
    prefixes = []
    for one in RECORDS[:5:4]:
        given = inputs_of(llava, eyes, one)
        with torch.no_grad():
            prefixes.append(llava.network(**given, use_cache=True).past_key_values)
    whole = [[layer.keys.clone() for layer in prefix.layers] for prefix in prefixes]
    made = KeyValues(prefixes, room=200)
    assert prefixes[0].layers[0].keys is None
    assert (made.full, made.get_seq_length()) == (200, whole[0][0].shape[2])
    new = torch.randn_like(whole[0][0][:, :, :3]).repeat(2, 1, 1, 1)
    keys, _ = made.update(new, new, 0)
    assert torch.equal(keys, torch.cat([torch.cat([w[0] for w in whole]), new], 2))
    made.rearrange(torch.tensor([1]), torch.tensor([0, 1, 5]), 10)
    assert torch.equal(made.layers[1].keys, whole[1][1][:, :, [0, 1, 5]])
    assert made.full == 10
