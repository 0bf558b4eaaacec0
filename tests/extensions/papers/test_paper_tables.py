"""The papers' tables with rows of runs in the unit, metric and place of the printed ones."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import Estimate, Table
from lmod_train.extensions.papers.sections import HERE, PaperTables
from lmod_train.extensions.papers.shapes import SHAPES
from lmod_train.report.contents import Text
from lmod_train.report.results import Results
from tests.extensions.papers.make import curated, results, staged
from tests.report.make import run


def tables(results, *names):
    return {p.name: p for p in PaperTables(list(names) or None).parts(results) if isinstance(p, Table)}


def cells(table, **row):
    """The cells of the rows whose first columns have the given values, by head."""
    heads = [c.head for c in table.columns]
    found = [dict(zip(heads, line, strict=True)) for line in table.rows]
    return [r for r in found if all(r[name] == value for name, value in row.items())]


def test_all_tables_without_a_run():
    found = tables(Results((), {}, {}))
    assert {*SHAPES} - {*found} == {"lmod_plus_figure_5"}  # nothing is printed: its title and note are a text
    (row,) = cells(found["lmod_plus_table_3"], model="LLaVA-1.5-7B")
    assert row["anatomy F1"] == "0.0456" and row["state"] == "reproducible"
    assert len(found["lmod_plus_table_4"].rows) == 24 * 4


def test_a_marked_cell_has_its_reason_in_the_table_of_states():
    found = tables(Results((), {}, {}), "lmod_plus_table_4")
    (row,) = cells(found["lmod_plus_table_4"], model="InternVL-2.5-4B", line="recall")
    assert row["SS"] == "0.9986 i" and row["OCT"] == "0.0862" and row["state"] == "reproducible"
    (reason,) = cells(found["lmod_plus_table_4_states"], columns="SS recall")
    assert (reason["state"], reason["rows"]) == ("source inconsistent", "InternVL-2.5-4B")
    assert reason["why"].startswith("equals the HR cell of the same row")


def test_cells_with_the_same_reason_are_one_row_of_the_table_of_states():
    found = tables(Results((), {}, {}), "lmod_plus_table_3")["lmod_plus_table_3_states"]
    (zero,) = cells(found, columns="sex")
    assert zero["rows"] == "InternVL-2.5-4B, InternVL-2.5-4B-MPO, InternVL-2.5-8B-MPO"


def test_a_run_of_known_accuracy_in_percent_and_as_a_fraction(tmp_path):
    made = staged(tmp_path / "run", 23, model="somebody", curated=curated(tmp_path / "c"))
    found = tables(results(made))
    (row,) = cells(found["lmod_table_2"], state=HERE)
    cell = row["macular hole stage"]
    assert row["model"] == "somebody" and isinstance(cell, Estimate) and cell.n == 76
    assert cell.value == pytest.approx(100 * 23 / 76, abs=1e-4) and cell.low < cell.value < cell.high <= 100
    assert [row[p.head] for p in SHAPES["lmod_table_2"].places[:5]] == [None] * 5
    (row,) = cells(found["lmod_plus_figure_5"], state=HERE)
    assert row["OIMHS"].value == pytest.approx(23 / 76, abs=1e-6)
    for line, metric in (("precision", "precision"), ("recall", "recall"), ("F1", "f1")):
        (row,) = cells(found["lmod_plus_table_5"], state=HERE, line=line)
        ours = results(made).runs[0].find("macular_hole_stage", metric, "stage=2")
        assert row["OIMHS 2"] == Estimate(ours.value, ours.low, ours.high, ours.n) and row["ICDR 2"] is None
    assert cells(found["lmod_plus_table_4"], state=HERE) == []


def test_a_run_of_one_modality_stands_in_the_column_of_its_modality(tmp_path):
    """Phantoms are left out; these records are of another source and not marked as phantoms."""
    made = run(tmp_path / "one", 0.8, modalities=("OCT",))
    found = tables(results(made), "lmod_plus_table_4")["lmod_plus_table_4"]
    (row,) = cells(found, state=HERE, line="F1")
    ours = results(made).runs[0].find("anatomy", "f1_lmod_plus")
    assert row["OCT"].value == row["overall"].value == ours.value and row["SS"] is row["CFP"] is None


def test_no_printed_number_stands_beside_phantoms_of_its_task(tmp_path):
    """A table of all questions of a paper, such as its p values, is about each of them."""
    made = results(staged(tmp_path / "run", 23, model="somebody", curated=curated(tmp_path / "c"), phantom=True))
    shown = {name for name in tables(made) if not name.endswith("_states")}
    others = {"lmod_figure_5", "lmod_plus_table_4", "lmod_plus_table_6", "lmod_plus_figure_3", "lmod_plus_figure_6"}
    assert shown == others | {name for name in SHAPES if name.startswith(("xpcr", "ophthalwechat"))}
    (hidden, *_) = [p.text for p in PaperTables().parts(made) if isinstance(p, Text)]
    assert hidden.startswith("Not shown") and "LMOD, Table 2: overall performance; " in hidden
    (only,) = PaperTables(["lmod_table_2"]).parts(made)
    assert isinstance(only, Text) and "LMOD, Table 2" in only.text


def test_the_marks_are_explained_and_an_unknown_table_is_named():
    (text,) = [p for p in PaperTables(["lmod_table_7"]).parts(Results((), {}, {})) if isinstance(p, Text)]
    assert "i source inconsistent (" in text.text and "n not comparable (" in text.text
    with pytest.raises(BadArgument, match="lmod_table_9"):
        PaperTables(["lmod_table_9"])


def test_p_values_of_runs_name_their_task(tmp_path, monkeypatch):
    made = staged(tmp_path / "run", 23, model="somebody", curated=curated(tmp_path / "c"))
    read = results(made)
    (found,) = [p for p in PaperTables(["lmod_table_8"]).parts(read) if isinstance(p, Table)]
    assert cells(found, state=HERE) == []  # these records have no sex
    monkeypatch.setattr("lmod_train.extensions.papers.sections.subgroup_p", lambda items, task: 1e-5)
    (found,) = [p for p in PaperTables(["lmod_table_8"]).parts(read) if isinstance(p, Table)]
    ((name, p, state),) = [tuple(r.values()) for r in cells(found, state=HERE)]
    assert (name, p, state) == ("somebody, macular_hole_stage", 1e-5, HERE)
    assert [c.format for c in found.columns] == ["text", "p", "text"]
