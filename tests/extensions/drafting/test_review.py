"""The review of drafts: seeded samples, kappas against other programs, and what is released and never released."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from lmod_train.core.types import Prediction, Reply
from lmod_train.extensions.drafting.drafts import Drafted, drafted_of
from lmod_train.extensions.drafting.review import (
    NONE,
    REVIEWED,
    SAMPLED,
    WRONG,
    Plan,
    Reading,
    Review,
    by_stage,
    needed,
    planned,
    reviewed,
    without_faults,
)
from tests.drafted import FAULTS, drafting_records, good
from tests.tabled import tabled

Readings = dict[str, dict[str, Reading]]


@pytest.fixture(scope="module")
def drafts() -> list[Drafted]:
    """Return the drafts of 40 images, without faults."""
    return drafted_of([Prediction(r, Reply(r.id, ""), good(r).text) for r in drafting_records(40)])


def codes(drafts: list[Drafted]) -> dict[str, str]:
    return {one.id: one.draft.text for one in drafts}


def read(one: Drafted, answer: str = "") -> Reading:
    return Reading(answer or one.draft.letter, one.draft.question, one.draft.options)


def agreeing(plan: Plan, drafts: list[Drafted], names: str = "ab") -> Readings:
    """Return readings of reviewers who find every sampled draft right."""
    return {name: {one.id: read(one) for one in drafts if one.id in plan.sample} for name in names}


def review(
    plan: Plan, drafts: list[Drafted], readings: Mapping[str, Mapping[str, Reading]], least: float = 0.85
) -> Review:
    return reviewed(plan, drafts, codes(drafts), readings, least)


def test_the_sample_is_a_tenth_of_each_stage_and_follows_the_seed(drafts: list[Drafted]):
    plan = planned(drafts, codes(drafts))
    assert {stage: sum(one.id in plan.sample for one in own) for stage, own in by_stage(drafts)} == dict.fromkeys(
        ("AL", "CD", "DD", "IQA", "LC", "SG"), 4
    )
    assert planned(drafts, codes(drafts)) == plan != planned(drafts, codes(drafts), seed=1)
    assert len(planned(drafts, codes(drafts), share=1.0).sample) == 240
    assert [needed(0.1, n) for n in (1, 10, 11, 30)] == [1, 1, 2, 3]
    assert all(1 <= needed(share, n) <= n for share in (1e-300, 1e-11, 0.1, 1 / 3, 1.0) for n in range(1, 99))


def test_agreeing_reviewers_release_each_draft_once_and_each_says_how(drafts: list[Drafted]):
    plan = planned(drafts, codes(drafts), share=0.5)
    found = review(plan, drafts, agreeing(plan, drafts))
    assert [stage.why for stage in found.stages] == [""] * 6 and found.left_out == {}
    assert [r.drafted.id for r in found.released] == sorted(one.id for one in drafts)
    assert {r.drafted.id for r in found.released if r.how == REVIEWED} == {*plan.sample}
    assert {r.how for r in found.released} == {REVIEWED, SAMPLED}


@pytest.mark.parametrize("reviewers", [2, 3, 4])
def test_kappas_are_those_of_scikit_learn_and_statsmodels(drafts: list[Drafted], reviewers: int):
    rng = random.Random(reviewers)
    plan = planned(drafts, codes(drafts), share=1.0)
    names = "abcd"[:reviewers]
    readings: Readings = {
        name: {one.id: read(one, rng.choice(["", "", "", "A", "B", NONE, WRONG])) for one in drafts} for name in names
    }
    for stage in review(plan, drafts, readings).stages:
        own = [one for one in drafts if one.stage == stage.name]
        given = [[readings[name][one.id].answer for one in own] for name in names]
        scores = {s.metric: s for s in stage.scores}
        if reviewers == 2:
            expected = cohen_kappa_score(*given)
        else:
            expected = fleiss_kappa(aggregate_raters([*zip(*given, strict=True)])[0])
        among = scores["kappa" if reviewers == 2 else "kappa_fleiss"]
        assert among.value == pytest.approx(expected)
        assert among.low is not None and among.high is not None and among.low < among.value < among.high
        for name, answers in zip(names, given, strict=True):
            of_draft = cohen_kappa_score(answers, [one.draft.letter for one in own])
            assert scores[f"kappa_draft:{name}"].value == pytest.approx(of_draft)
        assert stage.why, "kappas of about 0.5 release nothing"


def test_a_stage_is_refused_below_the_least_kappa_and_the_others_are_not(drafts: list[Drafted]):
    plan = planned(drafts, codes(drafts), share=1.0)
    readings = agreeing(plan, drafts)
    for one in [d for d in drafts if d.stage == "DD"][:8]:
        readings["b"][one.id] = read(one, NONE)
    found = review(plan, drafts, readings)
    assert {s.name: bool(s.why) for s in found.stages} == {"AL": 0, "CD": 0, "DD": 1, "IQA": 0, "LC": 0, "SG": 0}
    assert "DD" not in {r.drafted.stage for r in found.released}
    (kappa,) = [s.value for stage in found.stages for s in stage.scores if stage.name == "DD" and s.metric == "kappa"]
    assert kappa is not None and 0.6 < kappa < 0.85
    loose = review(plan, drafts, readings, least=0.6)
    assert [s.why for s in loose.stages] == [""] * 6
    assert len(loose.left_out) == 8 and all(why.startswith("reviewers chose") for why in loose.left_out.values())


def test_reviewers_who_agree_that_drafts_are_wrong_release_nothing(drafts: list[Drafted]):
    plan = planned(drafts, codes(drafts), share=1.0)
    readings = agreeing(plan, drafts)
    for one in [d for d in drafts if d.stage == "SG"][:20]:
        for own in readings.values():
            own[one.id] = read(one, WRONG)
    (stage,) = [s for s in review(plan, drafts, readings).stages if s.name == "SG"]
    assert {s.metric: s.value for s in stage.scores}["kappa"] == 1.0
    assert stage.why.startswith("kappa_draft:a 0.")


@tabled(
    ("change", "why"),
    [
        (lambda r: {}, "0 reviewers, two at least"),
        (lambda r: {"a": r["a"]}, "1 reviewers, two at least"),
        (lambda r: r | {"b": dict(list(r["b"].items())[1:])}, "rows without an answer, of 4: b 1"),
        (lambda r: {name: {id: replace(one, answer="A") for id, one in own.items()} for name, own in r.items()},
         "has no value, as all answers are the same"),
    ],
)  # fmt: skip
def test_a_stage_that_is_not_reviewed_releases_nothing(drafts: list[Drafted], change, why: str):
    plan = planned(drafts, codes(drafts))
    first = plan.sample[0].rpartition("/")[2]
    found = review(plan, drafts, change(agreeing(plan, drafts)))
    (stage,) = [s for s in found.stages if s.name == first]
    assert why in stage.why
    assert first not in {r.drafted.stage for r in found.released}


def test_a_draft_that_has_changed_or_come_since_is_not_released(drafts: list[Drafted]):
    plan = planned(drafts[:-6], codes(drafts), share=0.5)  # one image came later
    readings = agreeing(plan, drafts)
    victim = next(one for one in drafts if one.id in plan.drafts and one.id not in plan.sample)
    changed = [
        replace(d, draft=replace(d.draft, question="How is it now, most likely?")) if d is victim else d for d in drafts
    ]
    found = review(plan, changed, readings)
    assert len(found.released) == 240 - 6 - 1
    assert victim.id not in {r.drafted.id for r in found.released}
    assert sum(s.changed for s in found.stages) == 7


def test_a_stage_whose_sample_has_shrunk_is_refused(drafts: list[Drafted]):
    plan = planned(drafts, codes(drafts))
    victim = next(one for one in drafts if one.id in plan.sample)
    others = [replace(d, draft=replace(d.draft, letter="D", answer="x")) if d is victim else d for d in drafts]
    (stage,) = [s for s in review(plan, others, agreeing(plan, drafts)).stages if s.name == victim.stage]
    assert stage.why == "sampled drafts have changed since: write a new sheet"


def test_corrections_are_released_if_they_are_one_and_have_no_fault(drafts: list[Drafted]):
    plan = planned(drafts, codes(drafts), share=1.0)
    readings = agreeing(plan, drafts)
    one, two, three = [d for d in drafts if d.stage == "DD"][:3]
    better = "What is the most likely diagnosis of this eye?"
    readings["a"][one.id] = replace(read(one), question=better)
    readings["a"][two.id] = replace(read(two), question=better)
    readings["b"][two.id] = replace(read(two), question="Which diagnosis fits best here?")
    readings["b"][three.id] = replace(read(three), options=(*three.draft.options[:3], "DR"))
    found = review(plan, drafts, readings)
    (corrected,) = [r for r in found.released if r.corrected]
    assert (corrected.drafted.id, corrected.drafted.draft.question, corrected.how) == (one.id, better, REVIEWED)
    assert found.left_out[two.id] == "corrected in different ways"
    assert found.left_out[three.id].startswith("the correction has a fault: ")
    assert len(found.released) == 238


def test_drafts_with_faults_are_not_reviewed(drafts: list[Drafted]):
    (stage, plant) = FAULTS["one_right"][1]
    bad = next(one for one in drafts if one.stage == stage)
    given = [replace(one, draft=plant(one.draft)) if one is bad else one for one in drafts]
    assert {one.id for one in given} - {one.id for one in without_faults(given)} == {bad.id}


@tabled("seed", range(12))
def test_nothing_is_released_of_a_stage_whose_whole_sample_was_not_read(drafts: list[Drafted], seed: int):
    """Any share, with drafts that have changed or are gone and rows that are missing, wrong or of one reviewer."""
    rng = random.Random(seed)
    plan = planned(drafts[:60], codes(drafts), rng.choice([1e-12, 0.05, 0.3, 0.5, 1.0]), seed)
    loss = rng.choice([0, 0.02, 0.2])
    today = [
        replace(d, draft=replace(d.draft, answer="other")) if rng.random() < loss else d
        for d in drafts[:60]
        if rng.random() >= loss
    ]
    readings = agreeing(plan, drafts, "abc"[: rng.randint(1, 3)])
    for own in readings.values():
        for id in rng.sample(sorted(own), k=min(len(own), rng.choice([0, 0, 1]))):
            own[id] = replace(own[id], answer=rng.choice([NONE, WRONG, "A"]))
            if rng.random() < 0.3:
                del own[id]
    found = review(plan, today, readings, rng.choice([0.2, 0.85]))
    unchanged = {d.id for d in today if codes([d]).items() <= plan.drafts.items()}
    for stage in {r.drafted.stage for r in found.released}:
        sample = {id for id in plan.sample if id.endswith(f"/{stage}")}
        assert sample and sample <= unchanged and len(readings) >= 2
        assert all(sample <= own.keys() for own in readings.values())
    assert {r.drafted.id for r in found.released} <= unchanged
    assert all(r.drafted.id in plan.sample or r.how == SAMPLED for r in found.released)


def test_a_draft_that_reviewers_found_wrong_cannot_be_taken_out_of_its_sample(drafts: list[Drafted]):
    plan = planned(drafts, codes(drafts), share=0.5)
    readings = agreeing(plan, drafts)
    sampled = [one for one in drafts if one.id in plan.sample and one.stage == "DD"][:10]
    others = [one for one in drafts if one.id not in plan.sample and one.stage == "DD"][:10]
    for one in sampled:
        readings["a"][one.id] = readings["b"][one.id] = read(one, NONE)
    assert "DD" not in {r.drafted.stage for r in review(plan, drafts, readings).released}
    gone = {one.id for one in (*sampled, *others)}
    rest = [one for one in drafts if one.id not in gone]
    assert "DD" not in {r.drafted.stage for r in review(plan, rest, readings).released}
