"""Scores, tests and gaps of groups, against the functions of scoring on items made by hand."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import chi2_contingency, fisher_exact
from statsmodels.stats.multitest import multipletests

from lmod_train.core.types import Patient, Unparsed
from lmod_train.extensions.clinical.fairness import fairness as of_groups
from lmod_train.report.paired_runs import paired
from tests.scoring.make import item

CHOICES = {"g": ("yes", "no")}
fairness = partial(of_groups, least=3)


def some(seed, n=120, each=2, skill=0.6, **facts):
    """Items of patients with two eyes each; every fourth patient has no known sex."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        k = i // each
        who = Patient(age=20 + 15 * (k % 5), sex=("male", "female", "male", None)[k % 4], laterality="LR"[i % 2])
        truth = "yes" if rng.random() < 0.5 else "no"
        right = rng.random() < skill + 0.3 * (who.sex == "male")
        answer = truth if right else {"yes": "no", "no": "yes"}[truth]
        found.append(item(i, answer, truth, group=f"s/p{k}", source="s", patient=facts.get("patient", who)))
    return found


def by_key(found):
    return {one.key: one for one in found}


def test_keys_with_two_known_groups_are_compared_and_the_others_are_absent():
    found = by_key(fairness(paired({"m": {"g": some(0)}}), CHOICES))
    assert set(found) == {"age", "sex", "laterality"}
    sex = found["sex"]
    assert [(g.name, g.score.n, g.patients) for g in sex.groups] == [("female", 30, 15), ("male", 60, 30)]
    assert sex.unknown == 30 and found["age"].unknown == 0
    assert [g.name for g in found["age"].groups] == ["18-40", "40-60", "60+"]
    assert fairness(paired({"m": {"g": some(0)}}), CHOICES, ["camera"]) == []
    assert (
        fairness(paired({"m": {"g": []}}), CHOICES)
        == fairness(paired({}), CHOICES)
        == fairness(paired({"m": {}}), {})
        == []
    )


def test_the_tests_are_those_of_scipy_and_holm_is_over_the_keys_of_a_run():
    runs = {"m": {"g": some(1)}, "n": {"g": some(2)}}
    found = fairness(paired(runs), CHOICES)
    for run, items in runs.items():
        own = by_key(one for one in found if one.run == run)
        right = [[sum(i.answer == i.truth for i in items["g"] if i.patient.sex == sex) for sex in ("female", "male")]][
            0
        ]
        table = [right, [30 - right[0], 60 - right[1]]]
        assert own["sex"].test.p_fisher == pytest.approx(fisher_exact(table).pvalue)
        assert own["sex"].test.p_chi_square == pytest.approx(chi2_contingency(table, correction=False).pvalue)
        adjusted = multipletests([one.p for one in own.values()], method="holm")[1]
        assert [one.adjusted for one in own.values()] == pytest.approx(adjusted)
        assert own["sex"].gap.difference.value == pytest.approx(abs(right[1] / 60 - right[0] / 30))
        assert (own["sex"].opportunity[0], own["sex"].worst.value) == ("yes", min(right[0] / 30, right[1] / 60))


def test_the_same_items_in_several_ways_are_no_more_evidence():
    once = some(3)
    again = [
        item(f"{i.id}/order-1", i.answer, i.truth, group=i.group, patient=i.patient, tags={"order": "1"}) for i in once
    ]
    first = [item(i.id, i.answer, i.truth, group=i.group, patient=i.patient, tags={"order": "0"}) for i in once]
    alone, both = (by_key(fairness(paired({"m": {"g": items}}), CHOICES))["sex"] for items in (once, first + again))
    assert both.test == alone.test and both.p == pytest.approx(alone.p)
    assert both.gap.difference.value == pytest.approx(alone.gap.difference.value)
    assert both.gap.difference.low == pytest.approx(alone.gap.difference.low, abs=0.02)


def test_one_group_one_patient_and_no_patients_at_all():
    assert fairness(paired({"m": {"g": some(0, patient=Patient(sex="male"))}}), CHOICES) == []
    assert fairness(paired({"m": {"g": some(0, patient=Patient())}}), CHOICES) == []
    one = fairness(paired({"m": {"g": some(0, n=12, each=12)}}), CHOICES)
    assert [o.key for o in one] == ["laterality"], "one patient, both eyes"
    assert one[0].gap is None and one[0].worst is None and one[0].opportunity is None and one[0].p is not None
    alone = by_key(fairness(paired({"m": {"g": some(0, each=1)}}), CHOICES))
    assert {g.patients == g.score.n for o in alone.values() for g in o.groups} == {True}


@pytest.mark.parametrize("answer", ["yes", Unparsed("empty")])
def test_a_constant_answer_and_none_at_all(answer):
    items = [item(i.id, answer, "yes", group=i.group, patient=i.patient) for i in some(0)]
    for one in fairness(paired({"m": {"g": items}}), CHOICES):
        assert (one.p, one.test.p, one.gap.difference.value, one.adjusted) == (1.0, 1.0, 0.0, 1.0)
        assert one.gap.difference.low < 0 < one.gap.difference.high


def test_regions_have_gaps_of_their_f1_and_no_equal_opportunity():
    items = [
        item(i, {1: "a", 2: "b" if i % 4 else "a"}, {1: "a", 2: "b"}, patient=Patient(sex=("male", "female")[i % 2]))
        for i in range(40)
    ]
    one = fairness(paired({"m": {"g": items}}), {"g": ()})[0]
    assert (one.gap.best, one.gap.difference.value, one.opportunity) == ("female", 0.25, None)
    assert one.test.p_fisher < 0.01, "an image is right if every region is"


def test_gaps_are_between_groups_of_enough_patients_and_smaller_ones_are_listed():
    """Of 21 patients of each sex, 19 of whom are of the third group, all right: it is the best one by chance."""
    people = [("male", 21, 0.6), ("female", 20, 0.5), ("other", 19, 1.0)]
    items = [
        item(f"{sex}-{k}", "yes" if k < share * n else "no", "yes", group=f"{sex}-{k}", patient=Patient(camera=sex))
        for sex, n, share in people
        for k in range(n)
    ]
    (found,) = of_groups(paired({"m": {"g": items}}), CHOICES, ["camera"])
    assert (found.gap.best, found.gap.worst) == ("male", "female") and found.worst.value == 0.5
    assert [(g.name, g.patients) for g in found.left_out] == [("other", 19)] and len(found.groups) == 3
    assert found.opportunity[1].best == "male"
    (lower,) = of_groups(paired({"m": {"g": items}}), CHOICES, ["camera"], least=19)
    assert lower.gap.best == "other" and lower.left_out == ()
    (none,) = of_groups(paired({"m": {"g": items}}), CHOICES, ["camera"], least=21)
    assert none.gap is None and none.opportunity is None and len(none.left_out) == 2 and none.p is not None
