"""Comparisons of runs on their common items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.errors import BadArgument
from lmod_train.report.comparisons import ALL, BEST, FEW, Pair, Runs, comparable, joint, letter_display, pairs
from lmod_train.report.contents import SCORE, Cell, Column, Heads, N, Part, Remark, Text, table
from lmod_train.report.results import Results
from lmod_train.report.section import Section

NOTE = """Runs are compared on their common items. First only: items that only the first run answers correctly (an
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
_LETTERS = """Runs that share a letter do not differ significantly (p by patient >= 0.05, Holm-adjusted for all {} pairs
of runs), from the best score to the lowest. Not significant does not mean equal: see what is detectable."""
_JOINT = "Cochran's Q test of the hypothesis that all runs are equally often correct:"
_PAIR: Heads = [
    "task", "first", "second", N, Column("first only", "count"), Column("second only", "count"),
    Column("McNemar", "p"), Column("by patient", "p"), Column("Holm", "p"), Column("BH", "p"),
    Column("difference", "signed"), Column("95 % interval", "signed_interval"), Column("g", "signed"),
    Column("detectable", "number"),
]  # fmt: skip


class Comparisons(Section):
    """Pairs of runs with their differences, the letters of three or more runs, and a joint test of these.

    Only tasks that are scored by accuracy or F1 are compared.

    Args:
        against: ``best`` compares the best run of each task on these data with the others, ``all`` compares all pairs,
            and the label or the folder's name of a run compares this one with the others. By default all pairs of up to
            6 runs, and the best of more.
    """

    title: ClassVar[str] = "Pairwise comparisons"

    def __init__(self, against: str = "") -> None:
        self.against = against

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables of pairs, letters and the joint test; nothing for runs without common tasks.

        Raises:
            BadArgument: `against` is not the name of a run.
        """
        runs = comparable(results)
        against = self._reference(results)
        compared = pairs(runs, against)
        if compared:
            yield Text(NOTE)
            if against == BEST and len(runs) > 2:
                yield Remark(" ".join(_CHOSEN.split()))
            yield table("pairs", _PAIR, [_row(pair) for pair in compared])
        yield from _letters(runs)
        tested = joint(runs)
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
    return [Comparisons(against) if isinstance(section, Comparisons) else section for section in sections]


def _letters(runs: Runs) -> Iterator[Part]:
    places, tested = letter_display(runs)
    if places:
        rows: list[Sequence[Cell]] = [[p.task, p.run, p.n, p.score, p.letters] for p in places]
        yield Text(_LETTERS.format(tested))
        yield table("letters", ["task", "run", N, SCORE, "letters"], rows)


def _row(pair: Pair) -> list[Cell]:
    gap, test = pair.difference, pair.test
    ps = [test.p, pair.p, pair.adjusted, pair.discovery]
    counts = [test.n, test.only_first, test.only_second]
    size = [gap.value, (gap.low, gap.high), pair.g, pair.detectable]
    return [pair.task, pair.first, pair.second, *counts, *ps, *size]
