"""The interface of a section of a report, and the sections that a config names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from lmod_train.core.extension import loaded, merged, named, say
from lmod_train.core.raw import read_yaml
from lmod_train.core.shipped import config_files
from lmod_train.report.contents import Chapter, Contents, Part

if TYPE_CHECKING:
    from lmod_train.report.results import Results


class Section(ABC):
    """One section of a report. Its options are arguments of its constructor.

    A config lists sections by ``class_path``, so that a section of one's own is one file in any package.

    Attributes:
        title: Heading of the section.
        name: Its name in files, links and options; empty for that of its module.
    """

    title: ClassVar[str]
    name: ClassVar[str] = ""

    @abstractmethod
    def parts(self, results: Results) -> Iterator[Part]:
        """Yield texts, tables and figures in their order; none if the section has nothing to show for the runs."""


def contents(sections: Iterable[Section], results: Results, title: str = "Scores") -> Contents:
    """Return the contents of a report, without empty sections."""
    from lmod_train.report.asked_alike import remarks_on  # they load scipy: not for `--help`
    from lmod_train.report.incomplete import incomplete
    from lmod_train.report.origin import remarks

    chapters = [Chapter(_name(s), s.title, tuple(s.parts(results))) for s in sections]
    noted = (*remarks(results.outcomes), *remarks_on(results), *incomplete(results))
    return Contents(title, noted, tuple(chapter for chapter in chapters if chapter.parts))


def _name(section: Section) -> str:
    return section.name or type(section).__module__.rpartition(".")[2]


def shipped_sections(name: str = "default") -> list[Section]:
    """Return the sections of a shipped config, ``configs/report/NAME.yaml``; of the default those of extensions too.

    Example:
        >>> type(shipped_sections()[0]).__name__
        'Scores'
    """
    return completed([named(_colon(entry["class_path"]))(**entry.get("init_args", {})) for entry in _listed(name)])


def completed(sections: Sequence[Section]) -> list[Section]:
    """Return sections with those that extensions add, each after the one that it names (`Extension.sections`).

    Extensions add to the default report alone, and to one that continues it: others are returned as they are.
    """
    found, default = list(sections), [named(_colon(entry["class_path"])) for entry in _listed("default")]
    if [type(section) for section in found[: len(default)]] != default:
        return found
    stated = {next(loaded([_colon(path)]), None): after.split() for path, after in _sections().items() if after}
    due = {kind: after for kind, after in stated.items() if kind is not None and kind not in map(type, found)}
    while due:
        shown = [type(section).__name__ for section in found]
        coming = {kind.__name__ for kind in due}
        places = {kind: next((n for n in after if n in shown or n in coming), "") for kind, after in due.items()}
        kind = next((kind for kind, place in places.items() if place not in coming), next(iter(due)))
        section = kind()
        del due[kind]
        if _name(section) in map(_name, found):  # it is the name of files and links
            say(
                f"section {kind.__module__}.{kind.__name__} is left out, as one of the name {_name(section)!r} is shown"
            )
            continue
        found.insert(shown.index(places[kind]) + 1 if places[kind] in shown else len(found), section)
    return found


class Added(Section):
    """A section of an extension by the name of its class; without parts where the extension is not here.

    Args:
        name: Name of the class.
        options: Arguments of its constructor.
    """

    def __init__(self, name: str, options: dict[str, Any] | None = None) -> None:
        kind = added(name)
        self._section = kind(**options or {}) if kind else None
        self.title = self._section.title if self._section else name  # type: ignore[misc]
        self.name = _name(self._section) if self._section else name  # type: ignore[misc]

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the parts of the section."""
        yield from self._section.parts(results) if self._section else ()


def added(name: str) -> Callable[..., Section] | None:
    """Return the section of an extension by the name of its class; None where no extension has it."""
    return next(loaded(_colon(path) for path in _sections() if path.rpartition(".")[2] == name), None)


def _sections() -> dict[str, str]:
    """Return class path -> place in the default report of the sections of extensions, each of another class name."""
    default = [entry["class_path"].rpartition(".")[2] for entry in _listed("default")]
    return merged("sections", taken=default, key=lambda path: path.rpartition(".")[2])


def _colon(path: str) -> str:
    """Return a class path as `lmod_train.core.extension.named` takes it."""
    module, _, name = path.rpartition(".")
    return f"{module}:{name}"


@cache
def _listed(name: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = read_yaml(config_files("report")[name])["sections"]
    return listed
