import pytest

from lmod_train.core.tables import Column, markdown, table
from lmod_train.core.types import Patient
from lmod_train.report.contents import Chapter, Contents, Figure, Remark, Text
from lmod_train.report.results import read_results
from lmod_train.report.section import contents, shipped_sections
from lmod_train.report.writers.markdown import MOST_LINES, write_markdown
from tests.report.make import many


def test_a_file_has_remarks_chapters_texts_and_tables_and_no_figures(tmp_path):
    rows = table("t", ["a"], [["<b>x</b>\n|"]], title="Title", note="Note")
    figure = Figure("f", "Figure", "alt", rows, lambda *_: None)
    chapters = Chapter("c", "First", (Text("text"), Remark("mind"), rows, figure)), Chapter("d", "Drawn", (figure,))
    write_markdown(Contents("Scores", ("phantoms",), chapters), tmp_path / "tables.md")
    text = (tmp_path / "tables.md").read_text()
    assert [line for line in text.splitlines() if line] == [
        "# Scores", "**phantoms**", "## First", "text", "**mind**", "### Title", "Note", *markdown(rows).splitlines(),
    ]  # fmt: skip
    assert "&lt;b&gt;x" in text


def test_numbers_are_aligned_to_the_right_and_a_table_of_no_rows_is_its_head():
    lines = markdown(table("t", ["a", Column("n", "count")], [["x", 1], ["y", 100]])).splitlines()
    assert lines[1:] == ["| -- | --: |", "| x  |   1 |", "| y  | 100 |"]
    assert markdown(table("t", ["a"], [])).splitlines() == ["| a  |", "| -- |"]


def lines_of(found, tmp_path):
    write_markdown(found, tmp_path / "tables.md")
    return (tmp_path / "tables.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("more", [0, 1])
def test_the_last_line_that_fits_is_used_and_a_table_of_one_more_is_named(tmp_path, more):
    small, large = table("small", ["a"], [["x"]] * 3), table("a b", ["a"], [["y"]] * (MOST_LINES - 15 + more))
    lines = lines_of(Contents("Scores", (), (Chapter("c", "First", (small, large)),)), tmp_path)
    named = [line for line in lines if line.startswith("In files")]
    assert named == ([f"In files: `tables/a%20b.csv` ({len(large.rows)} rows)"] if more else [])
    assert len(lines) == (11 if more else MOST_LINES - 3), "the line that names files has its place in any case"


def test_eight_models_of_nine_tasks_have_at_most_600_lines_and_every_table_stands_there_or_is_named(tmp_path):
    runs, _ = many(
        tmp_path, n=16, patient=lambda i: Patient(30 + i, ("male", "female")[i % 2], ("left", "right")[i % 2])
    )
    found = contents(shipped_sections(), read_results(runs))
    lines = lines_of(found, tmp_path)
    every = {one.name: one for one in found.tables()}
    assert sum(len(one.rows) for one in every.values()) > 1500
    assert len(lines) <= MOST_LINES == 600
    named = {name for name in every if any(f"`tables/{name}.csv`" in line for line in lines)}
    shown = {name for name, one in every.items() if set(markdown(one).splitlines()) <= set(lines)}
    assert named | shown == every.keys()
    assert "scores" in shown and len(every["scores"].rows) == 72
    assert not named & shown and min(len(every[name].rows) for name in named) >= max(
        len(every[name].rows) for name in shown - {"scores"}
    )
