"""Radar charts of questions in two languages by subspecialty and modality."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from lmod_train.report.contents import Cell, Figure, Part, Text
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.languages import KINDS, OPEN, SUBSETS, verdicts
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item

SPOKES = 10
"""Maximum number of groups that a chart shows, those with the most questions."""
NOTE = f"""Accuracy by subspecialty and by modality, closed questions by their answers and open ones by the judge. Each
spoke has its number of questions; those with fewer than 20 are grey. Of more than {SPOKES} groups, those with the most
questions are drawn."""
ALT = "Accuracy of each kind of question, language and run as radar charts, a spoke per group."
_BY: dict[str, Callable[[Item], str]] = {
    "subspecialty": lambda item: item.tags.get("subspecialty", ""),
    "modality": lambda item: item.modality,
}


class LanguageGroups(Section):
    """Radar charts by subspecialty and modality, a panel per subset."""

    title: ClassVar[str] = "By subspecialty and modality"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a figure per kind of group with three groups or more; nothing without such questions."""
        figures = [figure for key in _BY for figure in _figures(results, key)]
        if figures:
            yield Text(NOTE)
            yield from figures


def _figures(results: Results, key: str) -> Iterator[Figure]:
    rows = [row for name in results.names for row in _rows(results, name, key)]
    sizes = Counter[str]()
    for row in rows:
        sizes[str(row[2])] = max(sizes[str(row[2])], int(str(row[3])))
    kept = {group for group, _ in sizes.most_common(SPOKES)}
    drawn = sorted((row for row in rows if row[2] in kept), key=lambda row: SUBSETS.index(str(row[0])))
    if len(kept) > 2:
        yield group_figure(f"languages_{key}", f"Accuracy by {key}", ALT, drawn, round=True)


def _rows(results: Results, name: str, key: str) -> Iterator[list[Cell]]:
    """Yield a row per subset and group of a run, with the columns of `figures.groups`."""
    for own in verdicts(results.outcomes[name]):
        counted = [i for i in own.items if _is_of(own.judge, own.subset[i.id])]
        model = f"{name}, judged by {own.judge}" if own.judge else name
        for subset in dict.fromkeys(own.subset[item.id] for item in counted):
            within = [item for item in counted if own.subset[item.id] == subset]
            for group in sorted({_BY[key](item) for item in within} - {""}):
                some = [item for item in within if _BY[key](item) == group]
                yield [subset, model, group, *_accuracy(some, [own.right[item.id] for item in some]), _chance(some)]


def _is_of(judge: str, subset: str) -> bool:
    """Return whether a subset is shown with these verdicts: closed questions once, open ones for each judge."""
    return subset.startswith(KINDS[OPEN]) == bool(judge)


def _accuracy(items: Sequence[Item], right: Sequence[bool]) -> list[Cell]:
    import numpy as np

    columns = {"items": np.ones(len(items)), "right": np.asarray(right, dtype=np.float64)}
    (score,) = compute_scores("", "all", columns, [item.group for item in items], [_SHARE])
    return [score.n, score.value, (score.low, score.high)]


_SHARE = Measure("accuracy", lambda s: ratio(s["right"], s["items"]), items_in)


def _chance(items: Sequence[Item]) -> float | None:
    chances = [1 / len(item.choices) for item in items if item.choices]
    return sum(chances) / len(items) if len(chances) == len(items) else None
