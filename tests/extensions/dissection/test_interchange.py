"""Exchanged image tokens: at the input the answer is the partner's, by itself nothing changes."""

from dataclasses import replace

from lmod_train.extensions.dissection import states as interchange
from lmod_train.extensions.dissection.states import alone, exchange_layers, exchanged
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.decoding import choice_likelihoods
from lmod_train.models.chat.encoding import encode
from lmod_train.models.chat.family import family_of
from tests.tiny import record

CHOICES = ("NORMAL", "CATARACT", "GLAUCOMA", "DRUSEN", "MYOPIA")
NONE = (0.0,) * len(CHOICES)
"""No biases."""


def pair(eyes, kin, images=("a.png", "b.png")) -> ChatBatch:
    records = [record(str(i), "Which one?", [name], "NORMAL", choices=CHOICES) for i, name in enumerate(images)]
    return ChatBatch.of(kin.dialect(records, eyes))


def likelihoods(kin, one):
    return choice_likelihoods(kin.network, kin.dialect, one, encode(kin.network, one.images), "sum")[0]


def test_at_the_input_the_likelihoods_are_those_of_the_partner(kin, eyes):
    one, other = (alone(pair(eyes, kin), row) for row in (0, 1))
    states = {}
    with interchange._recorded(kin.network, other, states):
        theirs = likelihoods(kin, other)
    assert list(states) == exchange_layers(kin.network) == [0, 1]
    with interchange._replaced(kin.network, one, 0, states[0]):
        made = likelihoods(kin, one)
    own = likelihoods(kin, one)
    deep = kin.model_type == "qwen3_vl"  # its deep features are added in later layers, and are still the image's own
    assert deep or all(abs(made[c] - theirs[c]) < 2e-3 for c in CHOICES)
    assert any(abs(own[c] - theirs[c]) > 1e-2 for c in CHOICES), "the two images differ"


def test_a_records_own_states_change_nothing(kin, eyes):
    one = alone(pair(eyes, kin), 0)
    own, states = likelihoods(kin, one), {}
    with interchange._recorded(kin.network, one, states):
        likelihoods(kin, one)
    for layer, state in states.items():
        with interchange._replaced(kin.network, one, layer, state):
            made = likelihoods(kin, one)
        assert all(abs(made[c] - own[c]) < 1e-4 for c in CHOICES), layer


def test_a_row_a_layer_and_partner_and_none_of_another_size(kin, eyes):
    rows = exchanged(kin.network, kin.dialect, pair(eyes, kin), NONE)
    assert [(r.id, r.partner, r.layer) for r in rows] == [("0", "1", layer) for layer in exchange_layers(kin.network)]
    assert kin.model_type == "qwen3_vl" or rows[0].followed
    assert not any(len(m._forward_pre_hooks) for m in kin.network.modules() if "Decoder" in type(m).__name__)
    tall = pair(eyes, kin, ("a.png", "tall.png"))
    if tall.images.tokens[0] != tall.images.tokens[1]:
        assert exchanged(kin.network, kin.dialect, tall, NONE) == []


def test_the_tower_runs_once_an_image(kin, eyes):
    """However many layers and partners there are, and whether the image is a record's own or a partner's."""
    calls, tower = [], kin.network.get_submodule(family_of(kin.network).tower)
    first, again = pair(eyes, kin, ("a.png", "b.png", "a.png")), pair(eyes, kin, ("b.png", "a.png", "b.png"))
    for i, record_ in enumerate(first.records):
        again.records[i] = replace(record_, id=("1", "0", "3")[i])
    handle = tower.register_forward_pre_hook(lambda *_: calls.append(1))
    try:
        encoded = {}
        rows = exchanged(kin.network, kin.dialect, first, NONE, encoded)
        a_image = len(calls) // 3
        assert len(calls) == 3 * a_image and a_image in (1, 2) and set(encoded) == {"0", "1", "2"}
        exchanged(kin.network, kin.dialect, again, NONE, encoded)
        assert len(calls) == 4 * a_image and len(rows) == 2 * len(exchange_layers(kin.network))
    finally:
        handle.remove()


def test_preferences_are_judged_without_the_prior(kin, eyes):
    """With biases that make a choice the preferred one of both images, all pairs are alike and followed."""
    biases = (0.0, 0.0, 99.0, 0.0, 0.0)
    rows = exchanged(kin.network, kin.dialect, pair(eyes, kin), biases)
    assert rows and all(row.alike and row.followed for row in rows)
    ours, theirs = (likelihoods(kin, alone(pair(eyes, kin), row)) for row in (0, 1))
    gap = {c: ours[c] - theirs[c] for c in CHOICES}  # between the two gaps the images prefer different choices
    one, other = max(gap, key=gap.get), min(gap, key=gap.get)
    level = (ours[other] - ours[one] + theirs[other] - theirs[one]) / 2
    biases = [level if c == one else 0.0 if c == other else -99.0 for c in CHOICES]
    rows = exchanged(kin.network, kin.dialect, pair(eyes, kin), biases)
    assert not any(row.alike for row in rows) and (kin.model_type == "qwen3_vl" or rows[0].followed)
