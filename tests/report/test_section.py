"""Sections come from configs by their class paths, with those of extensions, and empty ones are left out."""

from collections.abc import Iterator

from lmod_train.core.tables import table
from lmod_train.report import section
from lmod_train.report.contents import Text
from lmod_train.report.report import write_report
from lmod_train.report.results import read_results
from lmod_train.report.section import Section, _name, added, completed, contents, shipped_sections


class Empty(Section):
    title = "Empty"
    name = "empty"

    def parts(self, results) -> Iterator:
        yield from ()


class One(Section):
    title = "One"

    def parts(self, results) -> Iterator:
        yield Text(", ".join(results.tasks))


def test_a_section_without_parts_is_absent_and_a_chapter_has_the_name_of_its_module(three):
    (chapter,) = contents([Empty(), One()], read_results(three[0])).chapters
    assert (chapter.name, chapter.title) == ("test_section", "One")
    assert chapter.parts == (Text("four_way, glaucoma, anatomy"),)


def test_the_chapters_of_the_shipped_sections_have_different_names():
    names = [_name(section) for section in shipped_sections()]
    assert len(set(names)) == len(names) > 10


def names(sections):
    return [type(one).__name__ for one in sections]


def test_extensions_add_to_the_default_report_alone_each_after_the_first_section_named_that_is_there(monkeypatch):
    here = f"{__name__}."
    due = {
        f"{here}One": "Missing Empty Scores",
        f"{here}Empty": "Provenance",
        "lmod_train.report.sections.scores.Seeds": "",
    }
    with monkeypatch.context() as alone:
        alone.setattr(section, "merged", lambda part, **_: {})
        main = shipped_sections()
    monkeypatch.setattr(section, "merged", lambda part, **_: due)
    found = names(shipped_sections())
    assert [name for name in found if name not in ("One", "Empty")] == names(main)
    assert found[:4] == ["Scores", "Provenance", "Empty", "One"]
    assert names(completed(main)) == found
    assert names(completed([*main, One()])) == [*(name for name in found if name != "One"), "One"]  # where it is listed
    assert names(completed(main[1:])) == names(main[1:])
    assert added("Empty") is Empty and added("Nothing") is None


class Twice(Section):
    """A table of a name, and one of another; the name is given again by the second section of a report."""

    title = "Twice"

    def __init__(self, name, *tables):
        self.name, self.tables = name, tables

    def parts(self, results):
        yield from (table(name, ["value"], [[self.name]], name) for name in self.tables)


def test_tables_of_one_name_are_told_and_those_of_different_names_not(tmp_path):
    lines = []
    write_report([], tmp_path / "out", sections=[Twice("a", "x", "y"), Twice("b", "z", "y")], log=lines.append)
    assert lines == ["2 tables have the name y: tables/y.csv holds the last of them"]
    assert "b" in (tmp_path / "out" / "tables" / "y.csv").read_text()
    write_report([], tmp_path / "out", sections=[Twice("a", "x"), Twice("b", "y")], log=lines.append)
    assert len(lines) == 1
