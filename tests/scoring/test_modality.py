"""The contribution of a modality on planted answers."""

from lmod_train.scoring.modality import contributions, mcs_scores, without_variant
from tests.scoring.make import item


def question(case, right, modality="", variant="", wording=""):
    part = without_variant(variant, modality) if modality else variant
    id = f"cross/s/{case}" + (f"/{part}" if part else "") + (f"/wording-{wording}" if wording else "")
    tags = ({"without": modality} if modality else {}) | ({"wording": wording} if wording else {})
    return item(id, "yes" if right else "no", "yes", group=f"p{case}", tags=tags)


def planted(cases=12):
    """With all modalities 9 of 12 are right, without FFA 3 of them, without CFP all 9."""
    items = [question(c, c < 9) for c in range(cases)]
    items += [question(c, c < 3, "FFA") for c in range(cases)]
    return items + [question(c, c < 9, "CFP") for c in range(cases)]


def test_planted_contributions_are_recovered():
    cfp, ffa = contributions("cross", planted())
    assert (cfp.modality, cfp.score.value, cfp.p) == ("CFP", 0.0, 1.0)
    assert (ffa.whole, ffa.rest, ffa.score.value, ffa.score.n) == (0.75, 0.25, 0.5, 12)
    assert 0 < ffa.score.low < 0.5 < ffa.score.high and 0.005 < ffa.p < 0.05
    assert [(s.subset, s.metric) for s in mcs_scores("cross", planted())] == [
        ("without=CFP", "mcs"),
        ("without=FFA", "mcs"),
    ]


def test_only_questions_that_were_asked_both_ways_count():
    items = [question(1, True), question(1, False, "FFA"), question(2, True), question(3, True, "FFA")]
    (found,) = contributions("cross", items)
    assert (found.score.n, found.score.value, found.score.low, found.p) == (1, 1.0, None, None)


def test_variants_and_ways_are_paired_with_their_own():
    items = [question(1, True, variant="kind"), question(1, False, "OCT", "kind")]
    items += [question(1, True, wording="2"), question(1, True, "OCT", wording="2")]
    (found,) = contributions("cross", items)
    assert (found.score.n, found.score.value) == (2, 0.5)


def test_without_such_questions_there_is_no_contribution():
    assert list(contributions("cross", [question(1, True)])) == [] == mcs_scores("cross", [])
