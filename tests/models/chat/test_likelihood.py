"""Log-likelihoods of the choices: equal to transformers' own loss, choice by choice, for every family."""

from dataclasses import replace

import pytest
import torch

from lmod_train.core.types import Box, Region
from lmod_train.models.chat.decoding import choice_likelihoods
from lmod_train.models.chat.encoding import encode
from tests.models.chat.quick import two_kin
from tests.models.chat.reference import loss_of_transformers
from tests.tiny import record

LEVELS = tuple(str(level) for level in range(11))
RECORDS = [
    record("0", "Which stage?", ["a.png"], "Stage: 3", choices=LEVELS),
    record("1", "Glaucoma, then?", ["a.png"], "GLAUCOMA"),
    record("2", "What is it?", ["a.png", "tall.png"], "Diagnosis: NORMAL", choices=("NORMAL", "CATARACT")),
    record("3", "What is an optic disc?", [], "Where the nerve leaves the eye.", choices=()),
    record("4", "Is it one?", [], "NO", choices=("YES", "NO")),
]


def expected(kin, eyes, one, text, kind):
    """The log-likelihood of a reply by transformers' own loss, which is a mean over tokens."""
    answered = replace(one, answer=text)
    (ids,) = kin.dialect([answered], eyes).answer_ids
    with torch.no_grad():
        loss = loss_of_transformers(kin, eyes, answered).item()
    return -loss * (len(ids) if kind == "sum" else 1)


def found_by(kin, eyes, records, kind="sum"):
    batch = kin.dialect(records, eyes)
    return choice_likelihoods(kin.network, kin.dialect, batch, encode(kin.network, batch.images), kind)


def written(one, choice):
    label, colon, _ = one.answer.rpartition(": ")
    return f"{label}{colon}{choice}"


@two_kin
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_they_are_those_of_transformers_own_loss(kin, eyes, kind):
    found = found_by(kin, eyes, RECORDS, kind)
    assert [list(one) for one in found] == [list(r.choices) for r in RECORDS]
    for one, row in zip(RECORDS, found, strict=True):
        for choice in row if kind == "sum" else list(row)[:2]:
            assert row[choice] == pytest.approx(expected(kin, eyes, one, written(one, choice), kind), abs=2e-4)


@two_kin
@pytest.mark.parametrize("longest", [1, 30, 100_000])
def test_how_many_share_a_sequence_changes_nothing(kin, eyes, monkeypatch, longest):
    together = found_by(kin, eyes, RECORDS[:3])
    monkeypatch.setattr("lmod_train.models.chat.decoding.LONGEST", longest)
    for row, other in zip(found_by(kin, eyes, RECORDS[:3]), together, strict=True):
        assert row == pytest.approx(other, abs=2e-4)


@two_kin
def test_the_end_token_tells_one_from_ten(kin, eyes):
    """Without the end token "10" could never beat "1", whose token begins it."""
    (found,) = found_by(kin, eyes, RECORDS[:1])
    _, one = kin.dialect.encode(*kin.dialect.render(replace(RECORDS[0], answer="Stage: 1")))
    assert one[-1] == kin.dialect.end_id and len(set(found.values())) == len(LEVELS)


@two_kin
def test_the_reference_s_own_choice_is_not_used(kin, eyes):
    other = replace(RECORDS[0], answer="Stage: 9")
    assert found_by(kin, eyes, RECORDS[:1]) == found_by(kin, eyes, [other])


@two_kin
def test_regions_open_answers_and_nothing_asked_have_none(kin, eyes):
    regions = record("r", "Name it.", ["a.png"], "Region ID: 1; Type: cup", choices=("cup", "disc"))
    asked = [
        replace(regions, regions=(Region("optic cup", Box(0, 0, 4, 4), 1),)),
        record("o", "Describe it.", ["a.png"], "A disc.\nA cup.", choices=("A disc.", "A cup.")),
        record("n", "Glaucoma?", ["a.png"], ""),
    ]
    assert found_by(kin, eyes, asked) == [{}, {}, {}]
    assert found_by(kin, eyes, RECORDS[:1], "none") == [{}]
    assert found_by(kin, eyes, []) == []
