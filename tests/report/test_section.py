"""Sections come from configs by their class paths, and empty ones are left out."""

from collections.abc import Iterator

from lmod_train.report.contents import Text
from lmod_train.report.results import read_results
from lmod_train.report.section import Section, contents, shipped_sections


class Empty(Section):
    title = "Empty"

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


def test_the_shipped_sections_are_of_different_modules_so_that_their_chapters_have_different_names():
    modules = [type(section).__module__ for section in shipped_sections()]
    assert len(set(modules)) == len(modules) > 10
