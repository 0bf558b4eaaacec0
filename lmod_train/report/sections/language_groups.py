"""Questions in two languages by subspecialty and modality: tables of all groups, and radar charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from lmod_train.core.tables import INTERVAL, Cell, Column, Heads, N, score_cells, table
from lmod_train.core.types import Score
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.languages import KINDS, OPEN, SUBSETS, verdicts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item

SPOKES = 10
"""Maximum number of groups that a chart shows, those with the most questions."""
FEW = 20
"""Number of questions below which the accuracy of a group is marked."""
NOTE = f"""Accuracy by subspecialty and by modality, closed questions by their answers and open ones by the judge. The
tables have all groups, those with fewer than {FEW} questions marked "few". In the charts each spoke has its number of
questions, and those with fewer than {FEW} are grey; of more than {SPOKES} groups, those with the most questions are
drawn."""
_COLUMNS: Heads = [
    "run", "subset", "judged by", "group", N, Column("accuracy", "number"), INTERVAL, Column("chance", "number"),
    "note",
]  # fmt: skip
ALT = "Accuracy of each kind of question, language and run as radar charts, a spoke per group."
_BY: dict[str, Callable[[Item], str]] = {
    "subspecialty": lambda item: item.tags.get("subspecialty", ""),
    "modality": lambda item: item.modality,
}


class LanguageGroups(Section):
    """Tables of all subspecialties and modalities, and radar charts of those with the most questions."""

    title: ClassVar[str] = "By subspecialty and modality"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table per kind of group, and a figure of three groups or more; nothing without such questions."""
        found = {key: [row for name in results.names for row in _rows(results, name, key)] for key in _BY}
        if any(found.values()):
            yield Text(NOTE)
        for key, rows in found.items():
            if rows:
                yield table(f"languages_by_{key}", _COLUMNS, [row.cells() for row in rows], f"Accuracy by {key}")
                yield from _figures(key, rows)


@dataclass(frozen=True, slots=True)
class _Row:
    """The accuracy of one group of questions of a subset."""

    run: str
    subset: str
    judge: str
    group: str
    score: Score
    chance: float | None

    def cells(self) -> list[Cell]:
        """Return the cells of `_COLUMNS`."""
        note = "few" if self.score.n < FEW else None
        return [self.run, self.subset, self.judge, self.group, *score_cells(self.score), self.chance, note]

    def drawn(self) -> list[Cell]:
        """Return the cells of `figures.groups`."""
        model = f"{self.run}, judged by {self.judge}" if self.judge else self.run
        return [self.subset, model, self.group, *score_cells(self.score), self.chance]


def _figures(key: str, rows: Sequence[_Row]) -> Iterator[Figure]:
    sizes = Counter[str]()
    for row in rows:
        sizes[row.group] = max(sizes[row.group], row.score.n)
    kept = {group for group, _ in sizes.most_common(SPOKES)}
    drawn = sorted((row for row in rows if row.group in kept), key=lambda row: SUBSETS.index(row.subset))
    if len(kept) > 2:
        cells = [row.drawn() for row in drawn]
        yield group_figure(f"languages_{key}", f"Accuracy by {key}", ALT, cells, round=True)


def _rows(results: Results, name: str, key: str) -> Iterator[_Row]:
    """Yield a row per subset and group of a run, those with the most questions of each subset first."""
    for own in verdicts(results.outcomes[name]):
        counted = [i for i in own.items if _is_of(own.judge, own.subset[i.id])]
        for subset in dict.fromkeys(own.subset[item.id] for item in counted):
            within = [item for item in counted if own.subset[item.id] == subset]
            sizes = Counter(group for item in within if (group := _BY[key](item)))
            for group in sorted(sizes, key=lambda group: (-sizes[group], group)):
                some = [item for item in within if _BY[key](item) == group]
                score = _accuracy(some, [own.right[item.id] for item in some])
                yield _Row(name, subset, own.judge, group, score, _chance(some))


def _is_of(judge: str, subset: str) -> bool:
    """Return whether a subset is shown with these verdicts: closed questions once, open ones for each judge."""
    return subset.startswith(KINDS[OPEN]) == bool(judge)


def _accuracy(items: Sequence[Item], right: Sequence[bool]) -> Score:
    import numpy as np

    columns = {"items": np.ones(len(items)), "right": np.asarray(right, dtype=np.float64)}
    (score,) = compute_scores("", "all", columns, [item.group for item in items], [_SHARE])
    return score


_SHARE = Measure("accuracy", lambda s: ratio(s["right"], s["items"]), items_in)


def _chance(items: Sequence[Item]) -> float | None:
    chances = [1 / len(item.choices) for item in items if item.choices]
    return sum(chances) / len(items) if len(chances) == len(items) else None
