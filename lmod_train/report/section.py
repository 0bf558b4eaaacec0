"""The interface of a section of a report, and the sections that a config names."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

import yaml

from lmod_train.core.shipped import configs_folder
from lmod_train.report.contents import Chapter, Contents, Part

if TYPE_CHECKING:
    from lmod_train.report.results import Results


class Section(ABC):
    """One section of a report. Its options are arguments of its constructor.

    A config lists sections by ``class_path``, so that a section of one's own is one file in any package.

    Attributes:
        title: Heading of the section.
    """

    title: ClassVar[str]

    @abstractmethod
    def parts(self, results: Results) -> Iterator[Part]:
        """Yield texts, tables and figures in their order; none if the section has nothing to show for the runs."""


def contents(sections: Iterable[Section], results: Results, title: str = "Scores") -> Contents:
    """Return the contents of a report, without empty sections."""
    from lmod_train.report.incomplete import incomplete  # they load scipy: not for `--help`
    from lmod_train.report.origin import remarks

    chapters = [Chapter(_name(s), s.title, tuple(s.parts(results))) for s in sections]
    noted = (*remarks(results.outcomes), *incomplete(results))
    return Contents(title, noted, tuple(chapter for chapter in chapters if chapter.parts))


def _name(section: Section) -> str:
    return type(section).__module__.rpartition(".")[2]


def shipped_sections(name: str = "default") -> list[Section]:
    """Return the sections of a shipped config, ``configs/report/NAME.yaml``."""
    file = configs_folder() / "report" / f"{name}.yaml"
    return [_section(**entry) for entry in yaml.safe_load(file.read_text(encoding="utf-8"))["sections"]]


def _section(class_path: str, init_args: dict[str, object] | None = None) -> Section:
    module, _, name = class_path.rpartition(".")
    section: Section = getattr(importlib.import_module(module), name)(**init_args or {})
    return section
