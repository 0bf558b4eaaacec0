"""Rims as drawn are measured, and thinness goes with glaucoma without telling it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PIL import Image

from lmod_train.core.types import Fact
from lmod_train.data.curation.facts import facts_of
from lmod_train.extensions.reason.claims import Claim, is_true, number, word
from lmod_train.extensions.reason.phantom import truth
from lmod_train.phantom.eye import Eye
from lmod_train.phantom.folders import refuge
from lmod_train.phantom.fundus import cup_mask, disc_mask, render
from tests.data.curation.test_facts import BLANK, shape

SIDE = 384


def facts(eye: Eye) -> dict[str, Fact]:
    placed = tuple(Fact(f"fovea.{axis}", at * SIDE, "px") for axis, at in zip("xy", eye.fovea, strict=True))
    shapes = [shape("optic disc", disc_mask(eye, SIDE)), shape("optic cup", cup_mask(eye, SIDE))]
    return {fact.name: fact for fact in facts_of(replace(BLANK, facts=placed), shapes)}


def test_the_rule_is_kept_and_broken_in_both_classes_and_tells_neither() -> None:
    eyes = [eye for _, eye in truth(240, 0)]
    kept: dict[str, list[bool]] = {"glaucoma": [], "normal": []}
    thinnest: dict[str, list[str]] = {"glaucoma": [], "normal": []}
    for eye in eyes:
        found = facts(eye)
        true = is_true(Claim("rim", "isnt"), found)
        if true is not None:
            kept[eye.diagnosis].append(true)
        thinnest[eye.diagnosis].append(word(found, "rim.thinnest"))
    shares = {name: float(np.mean(own)) for name, own in kept.items()}
    assert 0.1 < shares["glaucoma"] < 0.5 < shares["normal"] < 0.95
    below = {name: float(np.mean([w == "inferior" for w in own])) for name, own in thinnest.items()}
    assert below["glaucoma"] > below["normal"] + 0.1 > 0.1


def test_the_ratio_stays_and_the_cup_stays_in_the_disc() -> None:
    plain = [eye for _, eye in refuge.truth(60, 3)]
    errors = []
    for own, (_, eye) in zip(plain, truth(60, 3), strict=True):
        assert eye.cup_to_disc == own.cup_to_disc
        assert not (cup_mask(eye, SIDE) & ~disc_mask(eye, SIDE)).any()
        if eye.notch is None:
            errors.append(abs((number(facts(eye), "vcdr") or 0) - eye.cup_to_disc))
    assert np.mean(errors) <= 0.01


def test_notches_and_haemorrhages_are_seen() -> None:
    eyes = [eye for _, eye in truth(120, 1)]
    notched = next(eye for eye in eyes if eye.notch)
    bleeding = next(eye for eye in eyes if eye.lesions)
    for eye, other in ((notched, replace(notched, notch=None)), (bleeding, replace(bleeding, lesions=()))):
        one, two = (np.asarray(render(e, 256), dtype=float) for e in (eye, other))
        assert 20 < (np.abs(one - two).sum(axis=2) > 30).sum() < 1500
    assert cup_mask(notched, SIDE).sum() > cup_mask(replace(notched, notch=None), SIDE).sum()
    sick, well = ([e for e in eyes if e.diagnosis == name] for name in ("glaucoma", "normal"))
    assert any(e.lesions for e in well) and any(e.notch for e in sick) and not all(e.notch for e in sick)


def test_plain_phantoms_are_what_they_were() -> None:
    """The quick start's eyes and the shipped base stay: no drawing of theirs has a notch."""
    for _, eye in refuge.truth(12, 0):
        assert eye.notch is None and not eye.lesions
    assert isinstance(render(refuge.truth(1, 0)[0][1], 64), Image.Image)
