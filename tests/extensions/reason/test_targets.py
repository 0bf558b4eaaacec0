"""Targets: the answer first, true facts behind it that the reader of claims reads, and a gate that lets none invent."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from lmod_train.core.types import Fact, Record, Reply
from lmod_train.extensions.reason.claims import SECTORS, is_true
from lmod_train.extensions.reason.reading import claims_of
from lmod_train.extensions.reason.targets import ReadFact, _sentences, explained, gated
from lmod_train.tasks.glaucoma import Glaucoma
from tests.extensions.reason.explainers import TRUTHS, eye

KINDS = {"vcdr", "cup", "rim.thinnest", "hole.full", "cysts"}


def asked(i: int, language: str = "en") -> Record:
    rng = np.random.default_rng(i)
    truth = TRUTHS[i % 2]
    facts = tuple(eye(rng, truth).values())
    facts += (Fact("cysts", ("yes", "no")[i // 2 % 2]), Fact("hole.full", ("yes", "no")[i // 3 % 2]))
    record = replace(Glaucoma().example(), id=str(i), answer=truth, choices=TRUTHS, facts=facts, language=language)
    return replace(record, source="phantoms", group=str(i), image=(f"{i}.jpg",), image_sha256=(str(i),))


def test_every_wording_is_read_as_the_claim_that_it_teaches() -> None:
    """A sentence that our own reader misreads would be rewarded, or punished, for something else."""
    for kind, kinds in _sentences().items():
        if kind == "sectors":
            continue
        for value, language in product(kinds, ("en", "zh")):
            assert len(set(kinds[value][language])) >= 8, (kind, value, language)
            for wording in kinds[value][language]:
                words = (
                    {s: _sentences()["sectors"][s][language] for s in SECTORS} if value == "sector" else {"": "0.75"}
                )
                for place, word in words.items():
                    text = wording.replace("{value}", word)
                    contents = [c.content for c in claims_of(f"GLAUCOMA. {text}.")]
                    expected = {
                        ("vcdr", "number"): [("vcdr", "=", 0.75, 0.75, "", False)],
                        ("cup", "large"): [("cup", "large", None, None, "", False)],
                        ("cup", "small"): [
                            ("cup", "small", None, None, "", False),
                            ("cup", "large", None, None, "", True),
                        ],
                        ("rim.thinnest", "sector"): [("rim", "thin", None, None, place, False)],
                        ("hole.full", "yes"): [("hole", "full", None, None, "", False)],
                        ("hole.full", "no"): [("hole", "full", None, None, "", True)],
                        ("cysts", "yes"): [("cysts", "present", None, None, "", False)],
                        ("cysts", "no"): [("cysts", "present", None, None, "", True)],
                    }[kind, value]
                    assert [c for c in contents if c in expected], (text, contents)
                    same = [c for c in contents if c[:2] in [e[:2] for e in expected]]
                    assert all(c in expected for c in same), (text, contents)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_targets_begin_with_the_answer_and_hold_only_true_claims(language: str) -> None:
    task, said = Glaucoma(), set()
    for i in range(60):
        record = asked(i, language)
        target = explained(record, KINDS)
        assert target.startswith(record.answer)
        assert task.parse(Reply(record.id, target), record) == record.answer
        facts = {fact.name: fact for fact in record.facts}
        claims = claims_of(target)
        assert claims
        assert all(is_true(claim, facts) is not False for claim in claims), (target, claims)
        said.add(target)
        assert explained(record, KINDS) == target
    assert len(said) > 50


def test_only_taught_facts_and_none_between_the_bounds() -> None:
    record = replace(asked(0), facts=(Fact("vcdr", 0.55, "ratio", 0.07),))
    assert explained(record, {"cup"}) == ""
    assert "0.55" in explained(record, {"vcdr", "cup"})
    assert explained(asked(0), set()) == ""
    assert explained(replace(asked(0), facts=()), KINDS) == ""


def test_the_gate_passes_what_the_tower_shows_and_nothing_else() -> None:
    """The ratio is in the vector; the sector is not, and neither is what only the answer tells."""
    rng = np.random.default_rng(0)
    records = [asked(i) for i in range(160)]
    vectors = {}
    for record in records:
        facts = {fact.name: fact.value for fact in record.facts}
        shown = np.array([float(facts["vcdr"]), record.answer == TRUTHS[0], facts["cysts"] == "yes"])
        vectors[record.image[0]] = np.concatenate([shown * 3, rng.normal(size=30)])
    passed = {one.kind: one.passes for one in gated(records, vectors)}
    assert passed["vcdr"] and passed["cysts"]
    assert not passed["rim.thinnest"] and not passed["cup"] and not passed["hole.full"]


def test_a_gate_without_enough_images_passes_nothing_and_says_so() -> None:
    few = [asked(i) for i in range(8)]
    read = gated(few, {r.image[0]: np.zeros(3) for r in few})
    assert read and not any(one.passes for one in read)
    assert all("not taught, 8 images tell too little" in one.line() for one in read)
    assert ReadFact("vcdr", 3).line().startswith("vcdr: not taught")


def test_noise_passes_in_at_most_one_draw_in_twenty() -> None:
    passes = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        records = [asked(1000 * seed + i) for i in range(80)]
        passes += [one.passes for one in gated(records, {r.image[0]: rng.normal(size=20) for r in records})]
    assert np.mean(passes) <= 0.08
