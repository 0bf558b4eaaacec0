import pytest

from lmod_train.scoring.subsets import age_group, subsets_of
from lmod_train.types import Patient
from tests.scoring.make import item


@pytest.mark.parametrize(
    ("age", "group"),
    [(0, "0-18"), (17.9, "0-18"), (18, "18-40"), (40, "40-60"), (59.9, "40-60"), (60, "60+"), (101, "60+"), (None, "")],
)
def test_age_groups_hold_their_lower_end(age, group):
    assert age_group(age) == group


def test_a_key_with_one_value_gives_no_subset_and_unknown_values_fall_in_none():
    people = [Patient(age=30, sex="female"), Patient(age=50, sex="male"), Patient()]
    items = [
        item(i, "yes", "yes", patient=p, modality="CFP", source=s)
        for i, (p, s) in enumerate(zip(people, "aab", strict=True))
    ]
    subsets = {name: [i.id for i in members] for name, members in subsets_of(items).items()}
    assert subsets == {
        "all": ["0", "1", "2"],
        "source=a": ["0", "1"],
        "source=b": ["2"],
        "sex=female": ["0"],
        "sex=male": ["1"],
        "age=18-40": ["0"],
        "age=40-60": ["1"],
    }


def test_an_empty_group_is_absent():
    assert subsets_of([]) == {}
