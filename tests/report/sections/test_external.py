"""One table of the sources of the training against those of the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lmod_train.core.tables import Estimate, Table
from lmod_train.core.types import Score
from lmod_train.report.figures.lines import lines
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.sections.scores import external
from lmod_train.scoring.items import Item
from lmod_train.tasks.run_scores import RunScores
from tests.report.scored import scored


def results(trained):
    """Two runs of a task with scores on the sources a and b, trained on the given ones."""
    values = {("source=a", "accuracy_strict"): 0.9, ("source=b", "accuracy_strict"): 0.6}
    made = scored(values, models=tuple(trained), sources=[("a", "CFP"), ("b", "CFP")])
    on = {m: {"provenance": {"trained_on": {"share": 1.0, "sources": own}}} for m, own in trained.items()}
    return replace(made, outcomes={m: replace(o, config=on[m]) for m, o in made.outcomes.items()})


def test_rows_are_trained_on_and_columns_tested_on():
    _, found = external(results({"one": {"b": 40}, "two": {"a": 70}}))
    assert isinstance(found, Table)
    rows = lines(found)
    assert [(row["trained on"], row["model"], row["training images"]) for row in rows] == [
        ("a", "two", 70),
        ("b", "one", 40),
    ]
    assert rows[0]["a"] == Estimate(0.9, None, None, 30) and rows[0]["b"].value == 0.6


def test_a_run_on_one_source_has_its_whole_score_and_internal_ones_have_no_table():
    assert list(external(results({"one": {"a": 4, "b": 4}}))) == []
    made = results({"one": {"a": 70}})
    one = made.outcomes["one"]
    only_b = replace(one, items={"t": [item for item in one.items["t"] if item.source == "b"]})
    _, found = external(replace(made, outcomes={"one": only_b}))
    assert isinstance(found, Table) and [column.head for column in found.columns][3:] == [
        "b",
        "seeds",
        "training images",
    ]
    assert lines(found)[0]["b"].value == 0.5, "that over all records"
    assert list(external(replace(made, outcomes={"one": replace(one, config={})}))) == []
    assert Path("one") == made.runs[0].path


HITS = {"a": (20, 10), "b": (16, 8)}
"""Source -> right answers of two seeds, of 20."""


def _item(source, i, right):
    truth, other = "xy"[i % 2], "yx"[i % 2]
    said = truth if right else other
    return Item(f"{source}{i}", "answered", said, truth, ("x", "y"), group=f"{source}/{i}", source=source)


def seeds_of_one_series(second_trained=None):
    """Two seeds of a training on a, right about 20 and 10 of 20 items of a, and 16 and 8 of 20 of b."""
    runs, outcomes = [], {}
    for seed in range(2):
        hits = {source: several[seed] for source, several in HITS.items()}
        items = [_item(source, i, i < hits[source]) for source in "ab" for i in range(20)]
        scores = [Score("t", "all", "accuracy_strict", 40, sum(hits.values()) / 40)]
        scores += [Score("t", f"source={s}", "accuracy_strict", 20, hits[s] / 20, 0.1, 1.0) for s in "ab"]
        runs.append(RunScores(Path("CNN") / f"seed_{seed}", f"CNN/seed_{seed}", "cnn", tuple(scores)))
        on = {"share": 1.0, "sources": (second_trained if seed else None) or {"a": 70}}
        config = {"provenance": {"trained_on": on}}
        outcomes[f"cnn (seed_{seed})"] = Outcomes((), {"t": items}, {"t": ("x", "y")}, None, config)
    return Results(tuple(runs), outcomes, dict.fromkeys(outcomes))


def test_the_seeds_of_a_series_are_one_row_with_their_mean_and_its_interval_over_patients():
    _, found = external(seeds_of_one_series())
    (row,) = lines(found)
    assert (row["trained on"], row["model"], row["seeds"], row["training images"]) == ("a", "CNN", 2, 70)
    for source, share in (("a", 0.75), ("b", 0.6)):
        assert (row[source].value, row[source].n) == (pytest.approx(share), 20)
        item_scores = [sum(i < n for n in HITS[source]) / 2 for i in range(20)]
        drawn = np.random.default_rng(0).choice(item_scores, (4000, 20)).mean(axis=1)
        low, high = np.quantile(drawn, (0.025, 0.975))
        assert row[source].low == pytest.approx(low, abs=0.06) and row[source].high == pytest.approx(high, abs=0.06)


def test_seeds_that_were_trained_on_other_sources_keep_their_rows():
    _, found = external(seeds_of_one_series({"b": 50}))
    assert [(row["trained on"], row["seeds"]) for row in lines(found)] == [("a", 1), ("b", 1)]
    assert lines(found)[0]["b"] == Estimate(0.8, 0.1, 1.0, 20), "as in scores.csv"


def test_seeds_that_answered_other_records_have_no_interval():
    made = seeds_of_one_series()
    name, other = list(made.outcomes.items())[1]
    fewer = replace(other, items={"t": other.items["t"][:-1]})
    _, found = external(replace(made, outcomes={**made.outcomes, name: fewer}))
    assert lines(found)[0]["a"].low is not None
    assert lines(found)[0]["b"] == Estimate(pytest.approx(0.6)), "a mean without an interval"
