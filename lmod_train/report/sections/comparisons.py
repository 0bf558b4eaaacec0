"""Comparisons of runs on their common items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import SCORE, Cell, N, table
from lmod_train.report.contents import Part, Remark, Text, heads, noted, texts
from lmod_train.report.paired_runs import (
    ALL,
    BEST,
    FEW,
    LEAST_SHARE,
    ComparedRuns,
    Family,
    comparable,
    joint,
    letter_display,
    not_ranked,
    pairs,
    pairs_by_subset,
)
from lmod_train.report.results import Results
from lmod_train.report.section import Section

_TEXTS, _HEADS = texts(__file__), heads(__file__)


class Comparisons(Section):
    """Pairs of runs with their differences, the letters of three or more runs, and a joint test of these.

    Only tasks that are scored by accuracy or F1 are compared.

    Args:
        against: ``best`` compares the best run of each task on these data with the others, ``all`` compares all pairs,
            and the label or the folder's name of a run compares this one with the others. By default all pairs of up to
            6 runs, and the best of more.
        least_share: Share of the records of one of the ranked runs that all of them have in common, above 0, up to 1.
            Runs with too few of these records are not ranked, and are named.
        family: P values are adjusted over the pairs of a ``task``, or of all tasks of the ``report``.
    """

    title: ClassVar[str] = "Pairwise comparisons"

    def __init__(self, against: str = "", least_share: float = LEAST_SHARE, family: Family = "task") -> None:
        if not 0 < least_share <= 1:
            cure = "set it in the config of the report, e.g. `least_share: 0.5`"
            raise BadArgument("least_share", least_share, "a share above 0, up to 1", cure)
        self.against, self.least_share, self.family = against, least_share, family

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of pairs, letters and the joint test; nothing for runs without common tasks.

        Raises:
            BadArgument: `against` is not the name of a run.
        """
        runs, against = comparable(results), self._reference(results)
        compared = pairs(runs, against, self.least_share, self.family)
        if compared:
            yield Text(_TEXTS["note"].format(_TEXTS[self.family]))
            if against == BEST and len(results.names) > 2:
                yield Remark(_TEXTS["chosen"])
            yield from (Remark(line) for line in not_ranked(runs, self.least_share))
            others = any(any(pair.alone) for pair in compared)
            rows = [[*_row(pair), *(pair.alone if others else ())] for pair in compared]
            yield table("pairs", [*_HEADS["pair"], *(_HEADS["others"] if others else ())], rows)
        if within := [_subset_row(pair) for pair in pairs_by_subset(runs, against, self.least_share, self.family)]:
            yield table(
                "pairs_by_subset",
                _HEADS["subset"],
                within,
                "Comparisons within subsets",
                _TEXTS["subsets"].format(_TEXTS[self.family]),
            )
        places, tested = letter_display(runs, self.least_share, family=self.family)
        rows = [[p.task, p.run, p.n, p.score, p.letters] for p in places]
        letters = table("letters", ["task", "run", N, SCORE, "letters"], rows)
        yield from noted(_TEXTS["letters"].format(tested, _TEXTS[self.family]), letters)
        yield from noted(_TEXTS["joint"], table("joint", _HEADS["joint"], joint(runs, self.least_share)))

    def _reference(self, results: Results) -> str:
        """Return ``all``, ``best``, or the label of the run that `against` names."""
        if not self.against:
            return ALL if len(results.names) <= FEW else BEST
        named = [label for label, run in zip(results.names, results.runs, strict=True) if run.run == self.against]
        return named[0] if len(named) == 1 and self.against not in (ALL, BEST, *results.names) else self.against


def compare_against(sections: Sequence[Section], against: str) -> list[Section]:
    """Return the sections with `against` as the option of their comparisons.

    Raises:
        BadArgument: They contain no comparisons.
    """
    if not any(isinstance(section, Comparisons) for section in sections):
        named = f"{Comparisons.__module__}.{Comparisons.__name__}"
        expected = "sections with comparisons, to which this option applies"
        raise BadArgument("--against", against, expected, f"add `class_path: {named}` to the sections of the config")
    return [
        Comparisons(against, section.least_share, section.family) if isinstance(section, Comparisons) else section
        for section in sections
    ]


def _row(pair: ComparedRuns) -> list[Cell]:
    gap, test = pair.difference, pair.test
    ps = [test.p, pair.p, pair.adjusted, pair.discovery]
    counts = [test.n, test.only_first, test.only_second]
    size = [gap.value, (gap.low, gap.high), pair.g, pair.detectable]
    return [pair.task, pair.first, pair.second, *counts, *ps, *size]


def _subset_row(pair: ComparedRuns) -> list[Cell]:
    gap, test = pair.difference, pair.test
    counts = [test.n, test.only_first, test.only_second]
    names = [pair.task, pair.subset, pair.first, pair.second]
    return [*names, *counts, pair.p, pair.adjusted, pair.discovery, gap.value, (gap.low, gap.high)]
