"""Sections about questions in two languages: subsets, groups, models, and what the words alone give away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Table, score_cells, table
from lmod_train.core.types import Score
from lmod_train.extensions.ophthalwechat.results import (
    KINDS,
    OPEN,
    SUBSETS,
    judges_of,
    kinds_of,
    language_tables,
    subset_name,
    verdicts,
)
from lmod_train.report.contents import Figure, Part, Text, heads, texts
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.probes import items_in as items_in_probes
from lmod_train.report.probes import own_ids
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import (
    Paired,
    benjamini_hochberg,
    holm,
    mcnemar,
    mcnemar_by_patient,
    paired_difference,
)
from lmod_train.scoring.intervals import Measure, compute_scores, items_in, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.languages import CELLS, LANGUAGES, Consistency, consistency
from lmod_train.scoring.share import share_score
from lmod_train.scoring.text import BLIND
from lmod_train.tasks.verdicts import Judge

_TEXTS = texts(__file__)
_HEADS = heads(__file__)


PAIRED = _TEXTS["paired"]

ALONE = _TEXTS["alone"]


class Languages(Section):
    """Accuracy of the six subsets, by language and overall; open answers by rules; Chinese against English."""

    title: ClassVar[str] = "Questions in two languages"
    name: ClassVar[str] = "languages"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing without such questions."""
        found = [_of_run(results, name) for name in results.names]
        for name in dict.fromkeys(one.name for own in found for one in own):
            if name == "languages":
                yield Text(_TEXTS["note"].format(blind=BLIND))
            yield _joined(
                [(run, t) for run, own in zip(results.names, found, strict=True) for t in own if t.name == name]
            )
        rows = [row for name, outcomes in results.outcomes.items() for row in _compared(name, outcomes)]
        if rows:
            yield Text(PAIRED if any(row[3] for row in rows) else ALONE)
            yield table("chinese_english", _HEADS["columns"], rows, "Chinese against English")


def _of_run(results: Results, name: str) -> list[Table]:
    run = results.runs[results.names.index(name)]
    return list(language_tables(run, results.outcomes[name]))


def _joined(tables: Sequence[tuple[str, Table]]) -> Table:
    """Return the tables of several runs as one, with the run as the first column."""
    widest = max((own for _, own in tables), key=lambda own: len(own.columns))
    rows = tuple((run, *row) for run, own in tables for row in _widened(own, widest))
    return replace(widest, columns=(Column("run"), *widest.columns), rows=rows)


def _widened(own: Table, widest: Table) -> Iterator[list[Cell]]:
    """Yield the rows of a table with empty cells for the columns that another one has."""
    place = {column.head: k for k, column in enumerate(own.columns)}
    for row in own.rows:
        yield [row[place[column.head]] if column.head in place else None for column in widest.columns]


def _compared(name: str, outcomes: Outcomes) -> Iterator[list[Cell]]:
    """Yield Chinese against English for each kind of question, and for all kinds together."""
    for task in kinds_of(outcomes.items):
        items = outcomes.items[task]
        if task != OPEN:
            yield from _row(name, KINDS[task], "", items, consistency(task, items))
        for judge in judges_of(outcomes) if task == OPEN else []:
            right = {item.id: judge.right().get(item.id, False) for item in items}
            yield from _row(name, KINDS[task], judge.judge, items, consistency(task, items, right))
    for own in verdicts(outcomes):
        plain = [replace(item, choices=()) for item in own.items]  # kappa of right and wrong: choices differ by kind
        kind = "all kinds" if own.judge else "close-ended"
        yield from _row(name, kind, own.judge, plain, consistency("all", plain, own.right))


def _row(run: str, kind: str, judge: str, items: Sequence[Item], c: Consistency) -> Iterator[list[Cell]]:
    if len({item.language for item in items}) < 2:
        return
    shares = [c.cells[cell].value for cell in CELLS]
    accuracy = [cell for right, n in zip(c.right, c.sizes, strict=True) for cell in (n, right / n if n else None)]
    unpaired: list[Cell] = [c.unpaired.chosen, c.unpaired.p] if c.unpaired else [None, None]
    ps: list[Cell] = [c.paired.p, c.p_by_patient]
    gap = (c.difference.low, c.difference.high)
    yield [run, kind, judge, c.paired.n, *shares, c.kappa.value, c.difference.value, gap, *ps, *accuracy, *unpaired]


# Questions in two languages by subspecialty and modality: tables of all groups, and radar charts.
SPOKES = 10
"""Maximum number of groups that a chart shows, those with the most questions."""

FEW = 20
"""Number of questions below which the accuracy of a group is marked."""

ALT = "Accuracy of each kind of question, language and run as radar charts, a spoke per group."

_BY: dict[str, Callable[[Item], str]] = {
    "subspecialty": lambda item: item.tags.get("subspecialty", ""),
    "modality": lambda item: item.modality,
}


class LanguageGroups(Section):
    """Tables of all subspecialties and modalities, and radar charts of those with the most questions."""

    title: ClassVar[str] = "By subspecialty and modality"
    name: ClassVar[str] = "language_groups"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table per kind of group, and a figure of three groups or more; nothing without such questions."""
        found = {key: [row for name in results.names for row in _rows(results, name, key)] for key in _BY}
        if any(found.values()):
            yield Text(_TEXTS["note_language_groups"].format(few=FEW, spokes=SPOKES))
        for key, rows in found.items():
            if rows:
                yield table(
                    f"languages_by_{key}",
                    _HEADS["columns_language_groups"],
                    [row.cells() for row in rows],
                    f"Accuracy by {key}",
                )
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
        """Return the cells of `_COLUMNS_LANGUAGE_GROUPS`."""
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


# Models compared on each subset of the questions in two languages, on the same questions.
@dataclass(frozen=True, slots=True)
class _Outcomes:
    """Whether the replies of a run to the questions of a subset are right, and their patients, by record id."""

    right: Mapping[str, bool]
    groups: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Pair:
    place: tuple[str, str]
    first: str
    second: str
    test: Paired
    difference: Score
    p_by_patient: float | None


class LanguageModels(Section):
    """McNemar's exact test of every two runs on each subset."""

    title: ClassVar[str] = "Models on one subset"
    name: ClassVar[str] = "language_models"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing with fewer than two runs of the same questions."""
        pairs = list(_pairs(results))
        if pairs:
            yield Text(_TEXTS["note_language_models"])
            yield table("language_models", _HEADS["columns_language_models"], list(_rows_language_models(pairs)))


def _pairs(results: Results) -> Iterator[_Pair]:
    by_run = {name: _by_place(results, name) for name in results.names}
    for place in sorted({place for own in by_run.values() for place in own}, key=lambda p: (SUBSETS.index(p[0]), p[1])):
        having = [name for name in results.names if place in by_run[name]]
        for first, second in combinations(having, 2):
            one, two = by_run[first][place], by_run[second][place]
            ids = sorted(one.right.keys() & two.right.keys())
            a, b = [one.right[id] for id in ids], [two.right[id] for id in ids]
            groups = [one.groups[id] for id in ids]
            if ids:
                gap, p = paired_difference(place[0], a, b, groups), mcnemar_by_patient(a, b, groups)
                yield _Pair(place, first, second, mcnemar(a, b), gap, p)


def _by_place(results: Results, name: str) -> dict[tuple[str, str], _Outcomes]:
    """Return (subset, judge) -> outcomes of a run."""
    found: dict[tuple[str, str], _Outcomes] = {}
    for own in verdicts(results.outcomes[name]):
        for subset in dict.fromkeys(own.subset[item.id] for item in own.items):
            if subset.startswith(KINDS[OPEN]) == bool(own.judge):
                items = [item for item in own.items if own.subset[item.id] == subset]
                right = {item.id: own.right[item.id] for item in items}
                found[subset, own.judge] = _Outcomes(right, {item.id: item.group for item in items})
    return found


def _rows_language_models(pairs: list[_Pair]) -> Iterator[list[Cell]]:
    ps = [pair.test.p for pair in pairs]
    for pair, family, discovery in zip(pairs, holm(ps), benjamini_hochberg(ps), strict=True):
        test, gap = pair.test, pair.difference
        counts: list[Cell] = [test.n, test.only_first, test.only_second]
        numbers: list[Cell] = [gap.value, (gap.low, gap.high), test.p, pair.p_by_patient, family, discovery]
        yield [*pair.place, pair.first, pair.second, *counts, *numbers]


# Questions in two languages without their image: what the words alone give away.
WITHOUT = "none"
"""Kind of the probes that ask a question without its image (`lmod_train.tasks.probe`)."""


class LanguagePrior(Section):
    """Accuracy of each subset with and without the image, if the questions were asked without it too."""

    title: ClassVar[str] = "Questions in two languages, without the image"
    name: ClassVar[str] = "language_prior"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing without such questions."""
        rows = [row for name, outcomes in results.outcomes.items() for row in _rows_language_prior(name, outcomes)]
        if rows:
            yield Text(_TEXTS["note_language_prior"])
            yield table("language_prior", _HEADS["columns_language_prior"], rows)


def _rows_language_prior(name: str, outcomes: Outcomes) -> Iterator[list[Cell]]:
    for task in KINDS:
        pairs = list(_pairs_language_prior(outcomes, task))
        for language in LANGUAGES:
            own = [pair for pair in pairs if pair[0].language == language]
            for judge, right in _rights(task, own, outcomes.judged) if own else ():
                yield [name, subset_name(task, language), judge, *_cells(own, right)]


def _pairs_language_prior(outcomes: Outcomes, task: str) -> Iterator[tuple[Item, Item]]:
    """Yield each question with its image and without, asked in the same way."""
    seen = {item.id: item for item in outcomes.items.get(task, ())}
    ids = own_ids(outcomes, task, WITHOUT, outcomes)
    for blind in items_in_probes(outcomes, task, WITHOUT):
        if ids.get(blind.id) in seen:
            yield seen[ids[blind.id]], blind


def _rights(
    task: str, pairs: Sequence[tuple[Item, Item]], judged: Sequence[Judge]
) -> Iterator[tuple[str, Mapping[str, bool]]]:
    """Yield name and verdicts: the answers' own for closed questions, and those of each judge of both for open ones."""
    if task != OPEN:
        yield "", {item.id: item.answer == item.truth for pair in pairs for item in pair}
        return
    for judge in judged:
        if {OPEN, f"{OPEN}_probe"} <= set(judge.tasks) and not judge.pending:
            verdicts = judge.right()
            yield judge.judge, {item.id: verdicts.get(item.id, False) for pair in pairs for item in pair}


def _cells(pairs: Sequence[tuple[Item, Item]], right: Mapping[str, bool]) -> list[Cell]:
    own, without = ([right[pair[k].id] for pair in pairs] for k in (0, 1))
    groups = [seen.group for seen, _ in pairs]
    blind, gap = share_score("without", without, groups), paired_difference("", own, without, groups)
    chances = [1 / len(seen.choices) for seen, _ in pairs if seen.choices]
    chance = sum(chances) / len(chances) if chances else None
    return [len(pairs), sum(own) / len(own), *score_cells(blind)[1:], gap.value, (gap.low, gap.high), chance]
