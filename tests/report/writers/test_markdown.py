from lmod_train.core.tables import Column, markdown, table
from lmod_train.report.contents import Chapter, Contents, Figure, Remark, Text
from lmod_train.report.writers.markdown import write_markdown


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
