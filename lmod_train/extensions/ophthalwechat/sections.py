"""The section about questions in two languages: subsets, models, printed tables, groups, and what words give away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import ClassVar, cast

from lmod_train.core.tables import Cell, Column, Table, score_cells, table
from lmod_train.extensions.ophthalwechat.paper import wechat_tables
from lmod_train.extensions.ophthalwechat.results import (
    KINDS,
    OPEN,
    SUBSETS,
    Verdicts,
    judges_of,
    kinds_of,
    language_tables,
    subset_name,
    verdicts,
)
from lmod_train.report.contents import Figure, Part, heads, noted, texts
from lmod_train.report.figures.groups import group_figure
from lmod_train.report.probes import items_in as items_in_probes
from lmod_train.report.probes import own_ids
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import benjamini_hochberg, holm, mcnemar, paired_difference, paired_test
from lmod_train.scoring.items import Item
from lmod_train.scoring.language_pairs import CELLS, LANGUAGES, Consistency, consistency
from lmod_train.scoring.share import share_score
from lmod_train.scoring.status import chance_of
from lmod_train.scoring.text import BLIND
from lmod_train.tasks.verdicts import Judge

_TEXTS, _HEADS = texts(__file__), heads(__file__)


class Languages(Section):
    """Six subsets, Chinese against English, models on each subset, printed tables, groups, and questions alone."""

    title: ClassVar[str] = "Questions in two languages"
    name: ClassVar[str] = "languages"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables and figures; nothing without such questions."""
        if not any(kinds_of(own) for own in results.items.values()):
            return
        yield from subsets(results)
        yield from models(results)
        yield from wechat_tables(results)
        yield from groups(results)
        yield from prior(results)


def subsets(results: Results) -> Iterator[Part]:
    """Yield the accuracy by subset, language and overall, open answers by rules, and Chinese against English."""
    runs = zip(results.runs, results.outcomes.items(), strict=True)
    found = [(name, own) for run, (name, outcomes) in runs for own in language_tables(run, outcomes)]
    names = dict.fromkeys(own.name for _, own in found)
    joined = [_joined([one for one in found if one[1].name == name]) for name in names]
    yield from noted(_TEXTS["subsets"].format(blind=BLIND), *joined)
    rows = [row for name, outcomes in results.outcomes.items() for row in _compared(name, outcomes)]
    note = _TEXTS["paired" if any(row[3] for row in rows) else "alone"]
    yield from noted(note, table("chinese_english", _HEADS["compared"], rows, "Chinese against English"))


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


def groups(results: Results) -> Iterator[Part]:
    """Yield a table of all subspecialties and one of all modalities, and radar charts of three groups or more."""
    note = _TEXTS["groups"].format(few=FEW, spokes=SPOKES)
    found = {key: [row for name in results.names for row in _of_groups(results, name, key)] for key in _BY}
    tables = [table(f"languages_by_{key}", _HEADS["groups"], rows, f"Accuracy by {key}") for key, rows in found.items()]
    yield from noted(note, *tables)
    for key, rows in found.items():
        yield from _radar(key, rows)


def _radar(key: str, rows: Sequence[Sequence[Cell]]) -> Iterator[Figure]:
    sizes: Counter[Cell] = Counter()
    for _, _, _, group, n, *_ in rows:
        sizes |= Counter({group: cast(int, n)})
    kept = {group for group, _ in sizes.most_common(SPOKES)}
    if len(kept) > 2:
        drawn = sorted((row for row in rows if row[3] in kept), key=lambda row: SUBSETS.index(str(row[1])))
        cells = [[row[1], f"{row[0]}, judged by {row[2]}" if row[2] else row[0], *row[3:8]] for row in drawn]
        yield group_figure(f"languages_{key}", f"Accuracy by {key}", ALT, cells, round=True)


def _of_groups(results: Results, name: str, key: str) -> Iterator[list[Cell]]:
    """Yield a row per subset and group of a run, those with the most questions of each subset first."""
    for own, subset, within in _subsets_of(results.outcomes[name]):
        sizes = Counter(group for item in within if (group := _BY[key](item)))
        for group in sorted(sizes, key=lambda group: (-sizes[group], group)):
            some = [item for item in within if _BY[key](item) == group]
            score = share_score("accuracy", [own.right[item.id] for item in some], [item.group for item in some])
            chance = chance_of(item.choices for item in some)
            yield [name, subset, own.judge, group, *score_cells(score), chance, "few" if score.n < FEW else None]


def _subsets_of(outcomes: Outcomes) -> Iterator[tuple[Verdicts, str, list[Item]]]:
    """Yield each subset with its items and verdicts: closed questions once, open ones for each judge."""
    for own in verdicts(outcomes):
        for subset in dict.fromkeys(own.subset[item.id] for item in own.items):
            if subset.startswith(KINDS[OPEN]) == bool(own.judge):
                yield own, subset, [item for item in own.items if own.subset[item.id] == subset]


def models(results: Results) -> Iterator[Part]:
    """Yield McNemar's exact test of every two runs on each subset; nothing without two runs of the same questions."""
    rows: list[list[Cell]] = []
    ps: list[float | None] = []
    by_run = {
        name: {(subset, own.judge): (own, {item.id: item.group for item in items})
               for own, subset, items in _subsets_of(results.outcomes[name])}
        for name in results.names
    }  # fmt: skip
    for place in sorted({place for own in by_run.values() for place in own}, key=lambda p: (SUBSETS.index(p[0]), p[1])):
        for first, second in combinations([name for name in results.names if place in by_run[name]], 2):
            (one, patients), (two, others) = by_run[first][place], by_run[second][place]
            if ids := sorted(patients.keys() & others.keys()):
                a, b, of = [one.right[i] for i in ids], [two.right[i] for i in ids], [patients[i] for i in ids]
                test, (gap, p) = mcnemar(a, b), paired_test(place[0], a, b, of)
                counts = [test.n, test.only_first, test.only_second]
                rows.append([*place, first, second, *counts, gap.value, (gap.low, gap.high), test.p, p])
                ps.append(test.p)
    adjusted = zip(rows, holm(ps), benjamini_hochberg(ps), strict=True)
    shown = [[*row, family, discovery] for row, family, discovery in adjusted]
    yield from noted(_TEXTS["models"], table("language_models", _HEADS["models"], shown))


# Questions in two languages without their image: what the words alone give away.
WITHOUT = "none"
"""Kind of the probes that ask a question without its image (`lmod_train.tasks.probe`)."""


def prior(results: Results) -> Iterator[Part]:
    """Yield the accuracy of each subset with and without the image; nothing unless both were asked."""
    rows = [row for name, outcomes in results.outcomes.items() for row in _prior_rows(name, outcomes)]
    yield from noted(_TEXTS["prior"], table("language_prior", _HEADS["prior"], rows))


def _prior_rows(name: str, outcomes: Outcomes) -> Iterator[list[Cell]]:
    for task in KINDS:
        seen = {item.id: item for item in outcomes.items.get(task, ())}
        ids = own_ids(outcomes, task, WITHOUT, outcomes)
        blind = items_in_probes(outcomes, task, WITHOUT)
        pairs = [(seen[ids[item.id]], item) for item in blind if ids.get(item.id) in seen]
        for language in LANGUAGES:
            own = [pair for pair in pairs if pair[0].language == language]
            for judge, right in _rights(task, own, outcomes.judged) if own else ():
                yield [name, subset_name(task, language), judge, *_prior_cells(own, right)]


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


def _prior_cells(pairs: Sequence[tuple[Item, Item]], right: Mapping[str, bool]) -> list[Cell]:
    own, without = ([right[pair[k].id] for pair in pairs] for k in (0, 1))
    groups = [seen.group for seen, _ in pairs]
    blind, gap = share_score("without", without, groups), paired_difference("", own, without, groups)
    chance = chance_of(seen.choices for seen, _ in pairs)
    return [len(pairs), sum(own) / len(own), *score_cells(blind)[1:], gap.value, (gap.low, gap.high), chance]
