"""When a claim is true: on both sides of each bound, and where nothing is decided."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Fact
from lmod_train.extensions.reason.claims import SECTORS, Claim, Facts, is_true


def facts(ratio: float | None = None, error: float = 0.07, **words: str | float) -> Facts:
    found = {name: Fact(name, value) for name, value in ((n.replace("__", "."), v) for n, v in words.items())}
    return found if ratio is None else {**found, "vcdr": Fact("vcdr", ratio, "ratio", error)}


def rims(*widths: float, thinnest: str = "") -> Facts:
    named = {f"rim.{s}": Fact(f"rim.{s}", w) for s, w in zip(SECTORS, widths, strict=False)}
    return {**named, **({"rim.thinnest": Fact("rim.thinnest", thinnest)} if thinnest else {})}


LARGE, SMALL = Claim("cup", "large"), Claim("cup", "small")
CASES = [
    (LARGE, facts(0.60), True),
    (LARGE, facts(0.59), None),
    (LARGE, facts(0.51), None),
    (LARGE, facts(0.50), False),
    (SMALL, facts(0.50), True),
    (SMALL, facts(0.60), False),
    (LARGE, facts(cup__large="yes"), True),
    (LARGE, facts(), None),
    (Claim("vcdr", "=", 0.8, 0.8), facts(0.70), True),
    (Claim("vcdr", "=", 0.8, 0.8), facts(0.69), False),
    (Claim("vcdr", "=", 0.6, 0.7), facts(0.80), True),
    (Claim("vcdr", "=", 0.6, 0.7), facts(0.81), False),
    (Claim("vcdr", ">", 0.6, 0.6), facts(0.68), True),
    (Claim("vcdr", ">", 0.6, 0.6), facts(0.66), None),
    (Claim("vcdr", ">", 0.6, 0.6), facts(0.52), False),
    (Claim("vcdr", "<", 0.6, 0.6), facts(0.52), True),
    (Claim("rim", "thin", place="inferior"), rims(0.09), True),
    (Claim("rim", "thin", place="inferior"), rims(0.15, thinnest="inferior"), True),
    (Claim("rim", "thin", place="inferior"), rims(0.15, thinnest="nasal"), False),
    (Claim("rim", "thin", place="inferior"), rims(0.15), None),
    (Claim("rim", "thin", place="inferior"), rims(0.20), False),
    (Claim("rim", "thin", place="inferotemporal"), rims(0.05, 0.05, 0.05, 0.05), None),
    (Claim("rim", "thin"), rims(0.3, 0.09, 0.3, 0.3), True),
    (Claim("rim", "thin"), rims(0.3, 0.2, 0.3, 0.2), False),
    (Claim("rim", "thin"), rims(0.3, 0.2), None),
    (Claim("rim", "intact"), rims(0.3, 0.2, 0.3, 0.2), True),
    (Claim("rim", "intact"), rims(0.3, 0.2), None),
    (Claim("rim", "intact"), rims(0.3, 0.09), False),
    (Claim("rim", "isnt"), rims(0.30, 0.27, 0.24, 0.21), True),
    (Claim("rim", "isnt"), rims(0.30, 0.33, 0.24, 0.21), False),
    (Claim("rim", "isnt"), rims(0.30, 0.29, 0.24, 0.21), None),
    (Claim("lesion.drusen", "present"), facts(lesion__drusen="yes"), True),
    (Claim("lesion.drusen", "present"), facts(), None),
    (Claim("lesion.hard exudates", "near"), {"lesion.hard exudates.fovea": Fact("", 0.99)}, True),
    (Claim("lesion.hard exudates", "near"), {"lesion.hard exudates.fovea": Fact("", 1.05)}, None),
    (Claim("lesion.hard exudates", "near"), {"lesion.hard exudates.fovea": Fact("", 1.11)}, False),
    (Claim("lesion.hard exudates", "near"), {"lesion.hard exudates": Fact("", "no")}, False),
    (Claim("hole", "full"), facts(hole__full="yes"), True),
    (Claim("hole", "full"), facts(hole="no"), False),
    (Claim("notch", "present"), facts(0.7), None),
    (Claim("intraocular pressure", "unseen"), facts(0.7), None),
]


@pytest.mark.parametrize(("claim", "known", "true"), CASES)
def test_a_claim_and_its_denial(claim: Claim, known: Facts, true: bool | None) -> None:
    from dataclasses import replace

    assert is_true(claim, known) is true
    assert is_true(replace(claim, denied=True), known) is (None if true is None else not true)
