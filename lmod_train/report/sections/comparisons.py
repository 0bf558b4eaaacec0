"""Comparisons of runs on their common items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.errors import BadArgument
from lmod_train.core.tables import SCORE, Cell, Column, Heads, N, table
from lmod_train.report.comparisons import (
    ALL,
    BEST,
    FEW,
    LEAST_SHARE,
    ComparedRuns,
    Runs,
    comparable,
    joint,
    letter_display,
    not_ranked,
    pairs,
    pairs_by_subset,
)
from lmod_train.report.contents import Part, Remark, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Runs are compared on their common items: the records that both have a reply to. Other items: those that only
one run has a reply to. First only: items that only the first run answers correctly (an
image is correct if every region is). McNemar: p of the exact two-sided test, items taken as independent. By patient:
the same test with patients as the independent units; it is the one to read if patients have several items. Holm and
BH: p by patient, adjusted for all rows of this table, for any false finding and for the share of false findings.
Difference: of mean scores (accuracy, or F1 per image), with an interval over patients. g: Cohen's g, the share of the
items that separate the runs which the first one wins, minus 0.5 (0.05 small, 0.15 medium, 0.25 large). Detectable: the
difference of the shares of correct items that a test of these items and patients would find with 80 % probability at
p < 0.05; a difference that is not significant can be as large. If both runs ask in several ways, the tests take each
question in one of them, and the difference is over all."""
_CHOSEN = """The first run of each task is its best on these data. It is partly best by chance, so that these p values
are too small; the letters below compare all pairs."""
_SUBSETS = """The same comparisons within each modality, source and condition. Holm and BH: adjusted for all rows of
this table. A subset is one of several: a difference in it needs a test of its own on other data."""
_LETTERS = """Runs that share a letter do not differ significantly (p by patient >= 0.05, Holm-adjusted for all {} pairs
of runs), from the best score to the lowest. Scores and tests are on the records that all these runs have a reply to;
a run with too few of them is not compared, and its score is that of its own records. Not significant does not mean
equal: see what is detectable."""
_JOINT = "Cochran's Q test of the hypothesis that all runs are equally often correct, items taken as independent:"
_PAIR: Heads = [
    "task", "first", "second", N, Column("first only", "count"), Column("second only", "count"),
    Column("McNemar", "p"), Column("by patient", "p"), Column("Holm", "p"), Column("BH", "p"),
    Column("difference", "signed"), Column("95 % interval", "signed_interval"), Column("g", "signed"),
    Column("detectable", "number"),
]  # fmt: skip
_OTHERS: Heads = [Column("other items of first", "count"), Column("other items of second", "count")]
_SUBSET: Heads = [
    "task", "subset", "first", "second", N, Column("first only", "count"), Column("second only", "count"),
    Column("by patient", "p"), Column("Holm", "p"), Column("BH", "p"), Column("difference", "signed"),
    Column("95 % interval", "signed_interval"),
]  # fmt: skip


class Comparisons(Section):
    """Pairs of runs with their differences, the letters of three or more runs, and a joint test of these.

    Only tasks that are scored by accuracy or F1 are compared.

    Args:
        against: ``best`` compares the best run of each task on these data with the others, ``all`` compares all pairs,
            and the label or the folder's name of a run compares this one with the others. By default all pairs of up to
            6 runs, and the best of more.
        least_share: Share of the records of one of the ranked runs that all of them have in common, above 0, up to 1.
            Runs with too few of these records are not ranked, and are named.
    """

    title: ClassVar[str] = "Pairwise comparisons"

    def __init__(self, against: str = "", least_share: float = LEAST_SHARE) -> None:
        if not 0 < least_share <= 1:
            cure = "set it in the config of the report, e.g. `least_share: 0.5`"
            raise BadArgument("least_share", least_share, "a share above 0, up to 1", cure)
        self.against, self.least_share = against, least_share

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of pairs, letters and the joint test; nothing for runs without common tasks.

        Raises:
            BadArgument: `against` is not the name of a run.
        """
        runs = comparable(results)
        against = self._reference(results)
        compared = pairs(runs, against, self.least_share)
        if compared:
            yield Text(NOTE)
            if against == BEST and len(runs) > 2:
                yield Remark(" ".join(_CHOSEN.split()))
            yield from (Remark(line) for line in not_ranked(runs, self.least_share))
            others = any(any(pair.alone) for pair in compared)
            rows = [[*_row(pair), *(pair.alone if others else ())] for pair in compared]
            yield table("pairs", [*_PAIR, *(_OTHERS if others else ())], rows)
        if within := pairs_by_subset(runs, against, self.least_share):
            rows = [_subset_row(pair) for pair in within]
            yield table("pairs_by_subset", _SUBSET, rows, "Comparisons within subsets", _SUBSETS)
        yield from _letters(runs, self.least_share)
        tested = joint(runs, self.least_share)
        if tested:
            columns: Heads = [Column("runs", "count"), N, Column("Q", "statistic"), Column("p", "p")]
            yield Text(_JOINT)
            yield table("joint", ["task", *columns], tested)

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
        Comparisons(against, section.least_share) if isinstance(section, Comparisons) else section
        for section in sections
    ]


def _letters(runs: Runs, least: float) -> Iterator[Part]:
    places, tested = letter_display(runs, least)
    if places:
        rows: list[Sequence[Cell]] = [[p.task, p.run, p.n, p.score, p.letters] for p in places]
        yield Text(_LETTERS.format(tested))
        yield table("letters", ["task", "run", N, SCORE, "letters"], rows)


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
