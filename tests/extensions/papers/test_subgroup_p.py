"""p values of age groups and sexes against scipy, on items of known groups."""

import pytest
from scipy.stats import chi2_contingency, fisher_exact

from lmod_train.core.types import Patient
from lmod_train.extensions.papers.ledger import subgroup_p
from lmod_train.scoring.items import Item


def items(*groups):
    """Items of groups (patient, right, n)."""
    return [
        Item(f"{g}-{i}", "answered", "yes" if i < right else "no", "yes", ("yes", "no"), patient=patient)
        for g, (patient, right, n) in enumerate(groups)
        for i in range(n)
    ]


def test_age_groups_by_chi_square():
    ages = (Patient(age=18), 20, 40), (Patient(age=40), 30, 40), (Patient(age=60), 35, 40)
    made = items(*ages, (Patient(age=9), 0, 40), (Patient(), 0, 40))
    expected = chi2_contingency([[20, 30, 35], [20, 10, 5]], correction=False).pvalue
    assert subgroup_p(made, "subgroup_age_p") == pytest.approx(expected)


def test_few_items_of_a_sex_by_fisher():
    made = items((Patient(sex="male"), 7, 10), (Patient(sex="female"), 1, 10), (Patient(), 10, 10))
    assert subgroup_p(made, "subgroup_sex_p") == pytest.approx(fisher_exact([[7, 1], [3, 9]]).pvalue)


def test_one_group_has_no_p():
    assert subgroup_p(items((Patient(sex="male"), 7, 10)), "subgroup_sex_p") is None
    assert subgroup_p([], "subgroup_age_p") is None


@pytest.mark.parametrize("sizes", [(3, 9), (40, 40), (1, 1)])
@pytest.mark.parametrize("right", [False, True])
def test_where_all_are_right_or_none_is_nothing_is_tested(sizes, right):
    """The paper prints N/A for the two models without a right answer."""
    people = [Patient(age=30, sex="male"), Patient(age=50, sex="female")]
    made = items(*((p, n if right else 0, n) for p, n in zip(people, sizes, strict=True)))
    assert subgroup_p(made, "subgroup_sex_p") is None and subgroup_p(made, "subgroup_age_p") is None
