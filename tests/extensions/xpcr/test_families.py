"""Further families of questions: normal or abnormal, differential, ranking, co-occurrence, risk."""

import pytest

from lmod_train.extensions.xpcr.stages import DIAGNOSES, pose_families
from lmod_train.extensions.xpcr.tasks import Chain
from tests.extensions.xpcr.samples import cupped, flagged, lens, sample


@pytest.mark.parametrize("diagnosis", DIAGNOSES)
def test_one_diagnosis_gives_its_truth_to_three_families(diagnosis):
    for key in map(str, range(12)):
        found = pose_families(sample(key=key, labels={"diagnosis": diagnosis}))
        assert set(found) == {("DD", "normality"), ("DD", "differential"), ("DD", "ranking")}
        assert found["DD", "normality"].truth == ("normal" if diagnosis == "normal" else "abnormal")
        assert found["DD", "differential"].truth == DIAGNOSES[diagnosis]
        ranking = found["DD", "ranking"]
        first = [option.split(", then ")[0] for option in ranking.options]
        assert sorted(first) == sorted(DIAGNOSES.values()) and ranking.truth.startswith(DIAGNOSES[diagnosis])
        assert len({len(option) for option in ranking.options}) == 1
        for place in zip(*(option.split(", then ") for option in ranking.options), strict=True):
            assert sorted(place) == sorted(first), "each candidate stands once at each place"


def test_who_stands_second_or_last_says_nothing_of_who_is_first():
    asked = [pose_families(sample(key=str(n), labels={"diagnosis": "glaucoma"})) for n in range(200)]
    orders = [one["DD", "ranking"].truth.split(", then ")[1:] for one in asked]
    for place in zip(*orders, strict=True):
        assert min(place.count(name) for name in DIAGNOSES.values() if name != DIAGNOSES["glaucoma"]) > 40


def test_the_place_of_a_candidate_says_nothing():
    asked = [pose_families(sample(key=str(n), labels={"diagnosis": "glaucoma"})) for n in range(60)]
    place = [one["DD", "differential"].options.index(one["DD", "differential"].truth) for one in asked]
    assert 10 < sum(place) < 50


def test_two_diseases_at_a_time_are_a_co_occurrence_and_no_ranking():
    ill = flagged("2", vascular_occlusion="yes")
    found = pose_families(ill)
    assert set(found) == {("DD", "co-occurrence")}
    posed = found["DD", "co-occurrence"]
    assert posed.truth == "diabetic retinopathy and vascular occlusion" and posed.level == "S"
    for option in set(posed.options) - {posed.truth}:
        assert [name for name in option.split(" and ") if ill.labels[name] == "no"], option
    assert len(set(posed.options)) == 4


def test_a_finding_is_no_diagnosis_and_what_is_not_labelled_is_not_asked():
    named = " ".join(" ".join(p.options) for p in pose_families(flagged("2", hemorrhage="yes", drusen="yes")).values())
    assert "diabetic retinopathy" in named and "hemorrhage" not in named and "drusen" not in named
    assert pose_families(lens()) == {} and pose_families(cupped(0.5, glaucoma="yes")) == {}
    assert pose_families(flagged("0")) == {} and pose_families(sample()) == {}


@pytest.mark.parametrize("level", "012")
def test_the_risk_of_edema_is_the_grade(level):
    found = pose_families(sample(labels={"icdr": "2", "macular_edema_risk": level}))
    posed = found["SG", "risk"]
    assert posed.options.index(posed.truth) == int(level)


def test_families_are_variants_of_their_stage_and_asked_on_request_alone():
    one = flagged("2", key="a", abnormal_macula="yes")
    without = list(Chain(perturbed=0).ask(one))
    asked = list(Chain(perturbed=0, families=True).ask(one))
    assert [q for q in asked if not q.variant] == without
    further = {(q.chain_step, q.variant, q.tags["family"]) for q in asked if q.variant}
    assert further == {("DD", "differential", "differential"), ("DD", "ranking", "ranking")}
    needs = {q.variant: [need.chain_step for need in q.needs] for q in asked if q.chain_step == "DD"}
    assert needs["ranking"] == needs["differential"] == needs[""] == ["AL", "LC"]
    task = Chain(families=True)
    assert Chain(**{k: v for k, v in task.settings().items() if k in ("families", "perturbed")}).families
