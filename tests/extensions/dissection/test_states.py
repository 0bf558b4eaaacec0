"""States against transformers' own hidden states; reading them changes no reply, in every family."""

import numpy as np
import pytest
import torch

from lmod_train.extensions.dissection.scores import LAST, TOWER, UNTRAINED
from lmod_train.extensions.dissection.states import (
    LIKELIHOODS,
    alone,
    decision_of,
    decoder_layers,
    joined,
    read_layers,
    readable,
    states_of,
    untrained_tower,
)
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.decoding import Decoding, choice_likelihoods, choice_replies, respond
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.family import family_of
from tests.tiny import record

RECORDS = [
    record("0", "Which one?", ["a.png"], "Diagnosis: NORMAL", choices=("NORMAL", "CATARACT", "GLAUCOMA")),
    record("1", "Glaucoma, then?", ["b.png"], "GLAUCOMA"),
    record("2", "What is it?", ["a.png", "b.png"], "NORMAL", choices=("NORMAL", "CATARACT")),
    record("3", "What is an optic disc?", [], "Where the nerve leaves the eye.", choices=()),
]


def batch_of(kin, eyes, records) -> ChatBatch:
    return ChatBatch.of(kin.dialect(records, eyes))


def test_reading_changes_no_reply(kin, eyes):
    batch = batch_of(kin, eyes, RECORDS[:2])

    def replies():
        made = respond(kin.network, kin.dialect, batch, Decoding(6), "tiny")
        return [(r.reply, r.tokens_out) for r in made]

    before, hooks = replies(), [len(m._forward_pre_hooks) for m in kin.network.modules()]
    states_of(kin.network, kin.dialect, alone(batch, 0), untrained_tower(kin.network))
    assert replies() == before and [len(m._forward_pre_hooks) for m in kin.network.modules()] == hooks


def test_states_are_those_of_the_network_alone(kin, eyes):
    """The decision and the image's tokens equal `output_hidden_states` of one plain forward pass."""
    one = alone(batch_of(kin, eyes, RECORDS[:1]), 0)
    found = states_of(kin.network, kin.dialect, one)
    encoded = encode(kin.network, one.images)
    prompt = one.prompt_ids[0]
    reply = next(choice_replies(kin.dialect, one)).ids
    ids = torch.tensor([[*prompt, *reply]])
    with torch.no_grad():
        out = kin.network(input_ids=ids, output_hidden_states=True, use_cache=False, **encoded.inputs(ids, [0]))
    at, shown = decision_of(kin.dialect, one), torch.tensor(prompt) == family_of(kin.network).image_token_id
    layer = read_layers(kin.network)[0]
    torch.testing.assert_close(found[f"decision.{layer}"], out.hidden_states[layer][0, at], rtol=1e-3, atol=1e-4)
    own = out.hidden_states[layer][0, : len(prompt)][shown]
    if encoded.deep:  # the deep features of a layer are added behind it
        own = own + encoded.deep[0][layer - 1]
    torch.testing.assert_close(found[f"image.{layer}"][: own.shape[1]], own.mean(0), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(
        found[f"image.{layer}"][own.shape[1] : 2 * own.shape[1]], own.amax(0), rtol=1e-3, atol=1e-4
    )
    assert not torch.equal(found[LAST], found[f"decision.{layer}"]) and len(decoder_layers(kin.network)) == 2


def test_the_decision_predicts_the_first_token_that_differs(kin, eyes):
    one = alone(batch_of(kin, eyes, RECORDS[:1]), 0)
    replies = [kin.dialect.tokenizer.convert_ids_to_tokens(r.ids) for r in choice_replies(kin.dialect, one)]
    same = decision_of(kin.dialect, one) - len(one.prompt_ids[0]) + 1
    assert same > 0 and len({tuple(r[:same]) for r in replies}) == 1 and len({r[same] for r in replies}) > 1


def test_an_untrained_tower_is_read_beside_the_models_own(kin, eyes):
    one = alone(batch_of(kin, eyes, RECORDS[:1]), 0)
    plain = states_of(kin.network, kin.dialect, one)
    control = untrained_tower(kin.network)
    found = states_of(kin.network, kin.dialect, one, control)
    assert list(found) == [UNTRAINED, *plain] and all(torch.equal(found[place], plain[place]) for place in plain)
    assert len(found[UNTRAINED]) == len(found[TOWER]) and not torch.allclose(found[UNTRAINED], found[TOWER], atol=1e-2)
    again = states_of(kin.network, kin.dialect, one, untrained_tower(kin.network))
    assert torch.equal(again[UNTRAINED], found[UNTRAINED]), "the same random weights in every run"


def test_a_record_in_a_batch_has_the_states_it_has_alone(kin, eyes):
    together, single = batch_of(kin, eyes, RECORDS[:2]), batch_of(kin, eyes, RECORDS[1:2])
    first = states_of(kin.network, kin.dialect, alone(together, 1))
    second = states_of(kin.network, kin.dialect, alone(single, 0))
    assert list(first) == list(second) and all(torch.equal(first[place], second[place]) for place in first)
    (likelihoods,) = choice_likelihoods(kin.network, kin.dialect, single, encode(kin.network, single.images), "sum")
    assert first[LIKELIHOODS].tolist() == pytest.approx(list(likelihoods.values()))
    assert len(joined(first)) == sum(map(len, first.values())) and joined(first).dtype == np.float32


def test_what_cannot_be_dissected_says_why(kin, eyes):
    batch = batch_of(kin, eyes, RECORDS)
    assert [readable(batch, row) for row in (0, 1)] == ["", ""]
    assert "2 images" in readable(batch, 2) and "0 images" in readable(batch, 3)
    regions = batch_of(kin, eyes, [record("4", "Open?", ["a.png"], "Some words.", choices=())])
    assert "choices" in readable(regions, 0)
