"""The comparisons of a report: pairs, letters and the joint test."""

from dataclasses import replace

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Table, markdown
from lmod_train.report.contents import Remark
from lmod_train.report.results import read_results
from lmod_train.report.sections.comparisons import Comparisons
from lmod_train.report.writers.csv import write_csv
from tests.report.make import LURE, run


def parts(results, kind, against=""):
    return [part for part in Comparisons(against).parts(results) if isinstance(part, kind)]


def tables(results, against=""):
    return {t.name: [dict(zip([c.head for c in t.columns], row, strict=True)) for row in t.rows]
            for t in parts(results, Table, against)}  # fmt: skip


@pytest.fixture(scope="module")
def seven(tmp_path_factory):
    out = tmp_path_factory.mktemp("seven")
    return read_results([run(out / f"r{k}", k / 7, model=f"m{k}", seed=k) for k in range(7)])


def some(results, count):
    return replace(results, runs=results.runs[:count], outcomes=dict(list(results.outcomes.items())[:count]))


def test_the_comparisons_stand_there(three):
    text = (three[1] / "tables.md").read_text()
    assert text.count("| base (untuned) | base (tuned) |") == 3
    assert "Cochran's Q" in text


def test_up_to_6_runs_are_all_compared_and_more_with_the_best(seven):
    assert len(tables(some(seven, 6))["pairs"]) == 15 * 3
    assert parts(some(seven, 6), Remark) == []
    rows = tables(seven)["pairs"]
    assert len(rows) == 6 * 3 and all(row["difference"] >= 0 for row in rows)
    assert "best on these data" in parts(seven, Remark)[0].text
    assert len(tables(seven, "all")["pairs"]) == 21 * 3


def test_a_reference_is_named_by_its_label_or_its_folder(seven):
    for name in ("m2", "r2"):
        assert {row["first"] for row in tables(seven, name)["pairs"]} == {"m2"}
    with pytest.raises(BadArgument, match=r"against='m9'.*'m0', 'm1'"):
        tables(seven, "m9")


def test_letters_compare_all_pairs_whatever_the_reference(seven):
    rows = tables(seven, "m2")["letters"]
    assert len(rows) == 7 * 3 and rows == tables(seven, "all")["letters"]
    assert all(row["letters"].startswith("a") for row in rows[::7]), "the best run of each task"
    for family, over in (("task", "the pairs of a task"), ("report", "all pairs of the table")):
        said = " ".join(p.text for p in Comparisons(family=family).parts(seven) if hasattr(p, "text"))
        assert f"Holm-adjusted for {over}, 63 pairs in all" in " ".join(said.split())
        assert f"adjusted for {over}, for any false finding" in " ".join(said.split())


def test_one_run_has_no_comparison_and_two_have_no_letters(seven):
    assert list(Comparisons().parts(some(seven, 1))) == []
    assert list(Comparisons("m0").parts(some(seven, 1))) == []
    assert set(tables(some(seven, 2))) == {"pairs"}


def test_hostile_names_of_models_are_cells(tmp_path):
    results = read_results([run(tmp_path / f"r{k}", 0.5, model=f"=1+{k}{LURE}|", seed=k) for k in range(3)])
    found = parts(results, Table)
    assert all("<script>" not in markdown(t) for t in found)
    for t in found:
        assert "\n=" not in write_csv(t, tmp_path).read_text() and ",=" not in write_csv(t, tmp_path).read_text()
