"""The section of subgroups: sizes first, both p values, one figure per task and key."""

from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Table, markdown
from lmod_train.core.types import Patient
from lmod_train.extensions.clinical.fairness import SubgroupFairness
from lmod_train.report.contents import Figure
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.writers.csv import write_csv
from lmod_train.report.writers.picture_files import write_picture
from lmod_train.scoring.classification import classification_scores
from lmod_train.tasks.run_scores import RunScores
from tests.extensions.clinical.test_fairness_report import CHOICES, some
from tests.report.make import LURE
from tests.scoring.make import item


def results(runs):
    scores = [RunScores(Path(k), k, k, tuple(classification_scores("g", i, CHOICES["g"]))) for k, i in runs.items()]
    return Results(tuple(scores), {k: Outcomes((), {"g": i}, CHOICES, None) for k, i in runs.items()}, {})


def tables(found, **options):
    return {p.name: p for p in SubgroupFairness(**{"least_patients": 3} | options).parts(found) if isinstance(p, Table)}


def rows(part):
    return [dict(zip([c.head for c in part.columns], row, strict=True)) for row in part.rows]


@pytest.fixture(scope="module")
def two():
    return results({"m": some(0), "n": some(1)})


def test_sizes_come_first_and_unknown_groups_are_counted(two):
    found = tables(two)
    assert list(found) == ["subgroup_sizes", "subgroups", "subgroup_tests", "subgroup_gaps"]
    sex = [tuple(row.values())[2:] for row in rows(found["subgroup_sizes"]) if row["key"] == "sex"]
    assert sex == [("female", 30, 15, "all"), ("male", 60, 30, "all"), ("unknown", 30, None, "all")]
    assert sum(row["key"] == "sex" for row in rows(found["subgroups"])) == 2 * 2


def test_runs_of_other_items_have_sizes_of_their_own(two):
    found = tables(results({"m": some(0), "n": some(1, n=60)}))
    sizes = [(r["group"], r["n"], r["models"]) for r in rows(found["subgroup_sizes"]) if r["key"] == "sex"]
    assert sizes[:2] == [("female", 30, "m"), ("female", 16, "n")]


def test_both_p_values_are_given_and_the_chosen_one_is_marked(two):
    test = next(row for row in rows(tables(two)["subgroup_tests"]) if row["key"] == "sex")
    assert test["by rule"] == "chi-square" and test["chi-square"] != test["Fisher"]
    assert (test["groups"], test["permutations"]) == (2, "999 drawn") and test["Holm"] >= test["by patient"]
    assert "without naming the test" in tables(two)["subgroup_tests"].note


def test_gaps_name_their_groups_and_class(two):
    gap = next(row for row in rows(tables(two)["subgroup_gaps"]) if (row["key"], row["model"]) == ("sex", "m"))
    assert (gap["best"], gap["worst"], gap["class"]) == ("male", "female", "yes") and gap["gap"] > 0
    assert gap["worst group"] < 1


def test_a_figure_per_key_with_its_numbers(two, tmp_path):
    figures = [p for p in SubgroupFairness(keys=["sex", "age"]).parts(two) if isinstance(p, Figure)]
    assert [f.name for f in figures] == ["subgroups-g-sex", "subgroups-g-age"]
    write_picture(figures[0], tmp_path)
    assert sorted(f.name for f in tmp_path.iterdir()) == [f"subgroups-g-sex.{kind}" for kind in ("csv", "png", "svg")]
    assert (tmp_path / "subgroups-g-sex.csv").read_text().count("\n") == 1 + 2 * 2
    assert "female, male" in figures[0].alt


def test_nothing_known_no_section_and_wrong_keys_are_named():
    assert list(SubgroupFairness().parts(results({"m": some(0, patient=Patient())}))) == []
    with pytest.raises(BadArgument, match=r"keys=\['race'\].*age, sex"):
        SubgroupFairness(keys=["race"])


def test_hostile_groups_and_models_are_cells(tmp_path):
    cameras = [LURE, "=1+1", "a|b\nc"]
    items = [item(i, "yes", "yes", patient=Patient(camera=cameras[i % 3])) for i in range(30)]
    found = tables(results({f"=2{LURE}": items}))
    for part in found.values():
        assert "<script>" not in markdown(part) and ",=" not in write_csv(part, tmp_path).read_text()
