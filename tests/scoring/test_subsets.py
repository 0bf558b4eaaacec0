from lmod_train.core.types import Patient
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import age_group, subsets_of
from tests.scoring.make import item
from tests.tabled import tabled


@tabled(
    ("age", "group"),
    [(0, "0-18"), (17.9, "0-18"), (18, "18-40"), (40, "40-60"), (59.9, "40-60"), (60, "60+"), (101, "60+"), (None, "")],
)
def test_age_groups_include_their_lower_end(age, group):
    assert age_group(age) == group


def test_a_key_with_one_value_and_unknown_values_give_no_subset():
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


def test_own_keys_give_subsets_even_with_one_value():
    items = [item(1, "yes", "yes"), item(2, "no", "yes")]
    own = {"kind": lambda i: "a" if i.id == "1" else ""}
    assert {name: [i.id for i in members] for name, members in subsets_of(items, own).items()} == {
        "all": ["1", "2"],
        "kind=a": ["1"],
    }
    assert subsets_of([], own) == {}


def test_every_value_of_a_tag_is_a_subset_and_a_combined_modality_is_a_value_of_its_own() -> None:
    tags = [{"level": "R", "impact": "2"}, {"level": "A"}, {"level": "R", "modality": "x"}, {}, {"level": "a=b;c"}]
    kinds = ["CFP", "CFP+OCT", "CFP+OCT", "OCT", "CFP"]
    items = [
        Item(str(n), "answered", "x", "x", modality=kind, tags=own)
        for n, (kind, own) in enumerate(zip(kinds, tags, strict=True))
    ]
    assert {name: [i.id for i in members] for name, members in subsets_of(items).items()} == {
        "all": ["0", "1", "2", "3", "4"],
        "impact=2": ["0"],
        "level=A": ["1"],
        "level=R": ["0", "2"],
        "level=a%3Db%3Bc": ["4"],
        "modality=CFP": ["0", "4"],
        "modality=CFP+OCT": ["1", "2"],
        "modality=OCT": ["3"],
    }


def test_planted_words_are_no_subset():
    items = [Item("a", "answered", "x", "x", tags={"planted": "drusen", "regime": "planted"})]
    assert list(subsets_of(items)) == ["all", "regime=planted"]
