"""One table of the sources of the training against those of the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lmod_train.report.contents import Estimate, Table
from lmod_train.report.figures.lines import lines
from lmod_train.report.sections.external import External
from tests.report.scored import scored


def results(trained):
    """Two runs of a task with scores on the sources a and b, trained on the given ones."""
    values = {("source=a", "accuracy_strict"): 0.9, ("source=b", "accuracy_strict"): 0.6}
    made = scored(values, models=tuple(trained), sources=[("a", "CFP"), ("b", "CFP")])
    on = {m: {"provenance": {"trained_on": {"share": 1.0, "sources": own}}} for m, own in trained.items()}
    return replace(made, outcomes={m: replace(o, config=on[m]) for m, o in made.outcomes.items()})


def test_rows_are_trained_on_and_columns_tested_on():
    _, found = External().parts(results({"one": {"b": 40}, "two": {"a": 70}}))
    assert isinstance(found, Table)
    rows = lines(found)
    assert [(row["trained on"], row["model"], row["training images"]) for row in rows] == [
        ("a", "two", 70),
        ("b", "one", 40),
    ]
    assert rows[0]["a"] == Estimate(0.9, None, None, 30) and rows[0]["b"].value == 0.6


def test_a_run_on_one_source_has_its_whole_score_and_internal_ones_have_no_table():
    assert list(External().parts(results({"one": {"a": 4, "b": 4}}))) == []
    made = results({"one": {"a": 70}})
    one = made.outcomes["one"]
    only_b = replace(one, items={"t": [item for item in one.items["t"] if item.source == "b"]})
    _, found = External().parts(replace(made, outcomes={"one": only_b}))
    assert isinstance(found, Table) and [column.head for column in found.columns][3:] == ["b", "training images"]
    assert lines(found)[0]["b"].value == 0.5, "that over all records"
    assert list(External().parts(replace(made, outcomes={"one": replace(one, config={})}))) == []
    assert Path("one") == made.runs[0].path
