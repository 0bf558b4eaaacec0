"""Levels against readers: groups of known accuracy, at the bounds of the envelopes and beyond them."""

from lmod_train.report.contents import Table, Text
from lmod_train.report.sections.difficulty import Difficulty
from tests.report.chained import chain_run, planted, results_of

CASES = 10
"""Chains; of each the first two stages are for residents (R), the next for attendings (A), the last for specialists."""


def reader(name, right):
    """A person who answers the first `right[level]` chains correctly at each level."""
    rows = [[k < right["RAS"[stage // 2]] for stage in range(6)] for k in range(CASES)]
    return chain_run(name, planted(rows), model=name, config={"reader": name})


def shown(*runs):
    parts = list(Difficulty().parts(results_of(*runs)))
    tables = {part.name: part.rows for part in parts if isinstance(part, Table)}
    return tables, [part.text for part in parts if isinstance(part, Text)]


def test_each_group_at_each_level_with_what_is_expected():
    tables, _ = shown(
        reader("resident_1", {"R": 8, "A": 5, "S": 4}),
        reader("resident_2", {"R": 8, "A": 7, "S": 3}),
        reader("Attending_1", {"R": 10, "A": 7, "S": 6}),
        reader("fellow", {"R": 0, "A": 0, "S": 9}),
        chain_run("resident_model", planted([[True] * 6])),  # no person
        reader("professor", {"R": 0, "A": 0, "S": 0}),  # of no group
    )
    found = {row[:2]: (*row[2:5], *row[6:]) for row in tables["difficulty"]}
    assert found == {
        ("resident", "R"): (2, 40, 0.8, "above 70 %", "yes"),
        ("resident", "A"): (2, 40, 0.6, "40 to 60 %", "yes"),
        ("resident", "S"): (2, 40, 0.35, "below 40 %", "yes"),
        ("attending", "A"): (1, 20, 0.7, "above 70 %", "no"),
        ("attending", "S"): (1, 20, 0.6, "50 to 70 %", "yes"),
        ("fellow", "S"): (1, 20, 0.9, "above 80 %", "yes"),
    }
    assert all(low < value < high for *_, value, (low, high), _, _ in tables["difficulty"])


def test_questions_outside_are_listed_with_the_share_of_their_readers():
    tables, texts = shown(
        reader("resident_1", {"R": 10, "A": 5, "S": 0}), reader("resident_2", {"R": 9, "A": 0, "S": 0})
    )
    outside = {row[0]: row[1:] for row in tables["difficulty_outside"]}
    stages = {"R": ("IQA", "AL"), "A": ("LC", "DD")}
    expected = {f"chain/phantoms/9/{s}": ("R", "resident", 2, 0.5, "above 70 %") for s in stages["R"]}
    expected |= {
        f"chain/phantoms/{k}/{s}": ("A", "resident", 2, 0.0, "40 to 60 %") for k in range(5, 10) for s in stages["A"]
    }
    assert outside == expected  # one of two right is inside 40 to 60 %, none right below 40 %
    assert texts[1] == "12 of 60 questions are outside."


def test_without_such_people_there_is_nothing():
    assert shown(chain_run("model", planted([[True] * 6]))) == ({}, [])
