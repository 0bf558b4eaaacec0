"""Drawn replies: each token by one random number of the record's own, as an independent loop draws them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.ways import Ways, in_every_way, is_greedy
from tests.models.chat.quick import TWO
from tests.models.chat.reference import inputs_of
from tests.models.chat.test_greedy import RECORDS, expected

NEW = 6

two_kin = pytest.mark.parametrize("kin", TWO, indirect=True)  # others may draw the token of images, see `drawn`


def replies(kin, eyes, records, decoding):
    return {r.id: r.reply for r in respond(kin.network, kin.dialect, kin.dialect(records, eyes), decoding, "tiny")}


def drawn(kin, eyes, one, decoding):
    """Tokens of a reply from forward passes of transformers over the whole text, drawn with numpy."""
    inputs = inputs_of(kin, eyes, one)
    ends = {*np.atleast_1d(kin.network.generation_config.eos_token_id), kin.dialect.tokenizer.eos_token_id}
    numbers, made = Random(decoding.seed_of(one)), []
    while len(made) < NEW and not (made and made[-1] in ends):
        with torch.no_grad():
            logits = kin.network(**_longer(inputs, made)).logits[0, -1].double().numpy() / decoding.temperature
        shares = np.cumsum(np.exp(logits - logits.max()))
        made.append(int(np.searchsorted(shares, numbers.random() * shares[-1], side="right")))
    return kin.dialect.tokenizer.decode(made, skip_special_tokens=True).strip()


def _longer(inputs, made):
    added = torch.tensor([made], dtype=torch.long)
    ids = torch.cat([inputs["input_ids"], added], 1)
    longer = {**inputs, "input_ids": ids, "attention_mask": torch.ones_like(ids)}
    for name in ("token_type_ids", "mm_token_type_ids"):
        if name in inputs:
            longer[name] = torch.cat([inputs[name], torch.zeros_like(added)], 1)
    return longer


@two_kin
def test_tokens_are_drawn_from_the_model_and_do_not_depend_on_the_batch(kin, eyes):
    decoding = Decoding(NEW, temperature=1.5, seed=3)
    together = replies(kin, eyes, RECORDS, decoding)
    assert together == {one.id: drawn(kin, eyes, one, decoding) for one in RECORDS}
    assert together == {k: v for one in RECORDS for k, v in replies(kin, eyes, [one], decoding).items()}
    assert together != replies(kin, eyes, RECORDS, replace(decoding, seed=4))


@two_kin
def test_a_small_temperature_is_greedy(kin, eyes):
    wanted = dict(zip([r.id for r in RECORDS], expected(kin, eyes, new=NEW), strict=True))
    for temperature in (1e-300, 1e-4):
        assert replies(kin, eyes, RECORDS, Decoding(NEW, temperature=temperature)) == wanted


@two_kin
def test_repeats_of_a_question_differ_and_are_the_same_again(kin, eyes):
    several = in_every_way(RECORDS[:1], {"glaucoma": Glaucoma()}, Ways(repeats=6), ())
    assert len({r.id for r in several}) == 6
    decoding = Decoding(NEW, temperature=1.0)
    once = replies(kin, eyes, several, decoding)
    assert len(set(once.values())) > 3
    assert replies(kin, eyes, several, decoding) == once


def test_settings_tell_that_replies_are_drawn_and_how():
    told = str(Decoding(temperature=0.7, seed=2))
    assert not is_greedy({"decoding": told})
    assert '"temperature": 0.7' in told and '"seed": 2' in told
    assert str(Decoding()) == '{"do_sample": false, "max_new_tokens": 512, "num_beams": 1}'


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"temperature": 101.0},
        {"seed": 1},
        {"temperature": 1.0, "method": "model"},
        {"temperature": 1.0, "constrain": "choices"},
    ],
)
def test_settings_that_contradict_each_other_are_refused(options):
    with pytest.raises(BadArgument):
        Decoding(**options)
