"""Levels against readers: groups of known accuracy, at the bounds of the envelopes and beyond them."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from lmod_train.core.tables import Table
from lmod_train.extensions.xpcr.account import Difficulty
from lmod_train.extensions.xpcr.tasks import NAMES
from lmod_train.report.contents import Text
from lmod_train.report.results import Outcomes
from lmod_train.scoring.classification import classification_scores
from lmod_train.scoring.items import items_of
from lmod_train.tasks.run_scores import RunScores
from tests.report.chained import answered, asked, chain_run, planted, results_of

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


def labeller(name, labels):
    """A person who labelled the level of questions of the task ``chain``: id of a question -> label."""
    predictions = []
    for id, label in labels.items():
        _, _, case, stage = id.split("/")
        question = replace(asked(case, stage), id=id.replace("chain/", "chain_level/"), task="chain_level")
        question = replace(question, choices=tuple(NAMES.values()), answer="resident", tags={"stage": stage}, chain="")
        predictions.append(answered(question, label, model=name))
    items = items_of(predictions, lambda p: p.record.answer)
    scores = RunScores(
        Path(name), name, name, tuple(classification_scores("chain_level", items, tuple(NAMES.values())))
    )
    return scores, Outcomes(tuple(predictions), {"chain_level": items}, {"chain_level": ()}, None, {"reader": name})


QUESTIONS = [f"chain/phantoms/{case}/{stage}" for case in range(CASES) for stage in ("IQA", "DD")]


def drawn_labels(seed, readers=3):
    """Random labels of each reader, with some questions on which all agree."""
    chance = random.Random(seed)
    common = {id: chance.choice(list(NAMES.values())) for id in QUESTIONS}
    return [
        {id: common[id] if chance.random() < 0.6 else chance.choice(list(NAMES.values())) for id in QUESTIONS}
        for _ in range(readers)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_kappa_of_labels_by_stage_is_that_of_statsmodels(seed):
    labels = drawn_labels(seed)
    tables, _ = shown(*(labeller(f"expert_{i}", own) for i, own in enumerate(labels)))
    for stage, readers, n, agreement, _, kappa, _, verdict in tables["difficulty_kappa"]:
        ids = [id for id in QUESTIONS if stage == "all" or id.endswith(stage)]
        counts, _ = aggregate_raters(np.array([[own[id] for own in labels] for id in ids]))
        assert (readers, n) == (3, len(ids)) and kappa == pytest.approx(fleiss_kappa(counts))
        assert verdict.startswith("accepted" if kappa >= 0.7 else "below 0.70" if kappa >= 0.6 else "below 0.60")
        assert 0 <= agreement <= 1


@pytest.mark.parametrize("seed", range(8))
def test_gold_is_the_label_of_more_than_half_and_models_and_groups_are_counted_by_it(seed):
    labels = drawn_labels(seed)
    runs = [labeller(f"expert_{i}", own) for i, own in enumerate(labels)]
    chance = random.Random(100 + seed)
    right = [[chance.random() < 0.5 for _ in range(6)] for _ in range(CASES)]
    tables, _ = shown(
        *runs, chain_run("model", planted(right)), chain_run("resident", planted(right), config={"reader": "resident"})
    )
    gold = {}
    for id in QUESTIONS:
        given = [own[id] for own in labels]
        most = max(given, key=given.count)
        gold[id] = most if given.count(most) >= 2 else "none"
    assert {row[0]: row[-2] for row in tables["difficulty_gold"]} == gold
    pairs = [row[5] for row in tables["difficulty_gold"]]
    assert pairs == sorted(pairs), "the most divided first"
    held = {id: right[int(id.split("/")[2])][0 if id.endswith("IQA") else 3] for id in QUESTIONS}
    expected = {
        level: [held[id] for id in QUESTIONS if gold[id] == level] for level in NAMES.values() if level in gold.values()
    }
    assert {row[1]: (row[2], row[3]) for row in tables["difficulty_esa"]} == {
        level: (len(some), pytest.approx(sum(some) / len(some))) for level, some in expected.items()
    }
    others = {"R": ("IQA", "AL"), "A": ("LC", "DD"), "S": ("SG", "CD")}
    for group, level, _, n, *_ in tables["difficulty"]:
        own = sum(g == NAMES[level] for g in gold.values())
        stated = [f"chain/phantoms/{k}/{s}" for k in range(CASES) for s in others[level]]
        assert group == "resident" and n == own + sum(gold.get(id, "none") == "none" for id in stated)


def test_one_labeller_is_no_gold_set():
    assert shown(labeller("expert", drawn_labels(0)[0])) == ({}, [])
