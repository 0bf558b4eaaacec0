"""Questions in two languages: the six subsets, overall, and Chinese against English."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from lmod_train.core.tables import Cell, Column, Heads, Table, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.languages import KINDS, OPEN, judges_of, kinds_of, language_tables, verdicts
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.section import Section
from lmod_train.scoring.items import Item
from lmod_train.scoring.languages import CELLS, Consistency, consistency
from lmod_train.scoring.text import BLIND

NOTE = f"""Accuracy counts a reply without a readable answer as wrong. That of open answers is a judge's, and empty
without one; an open answer that is unjudged or was not sent to the judge counts as wrong. Overall weighs all questions
equally, the mean of subsets all subsets. Constant: the best constant answer or letter. A reply in another language than
its question is counted, and is no error by itself. Scores by rules stand in a table of their own, and are no accuracy;
negation flips are open answers that equal the expected one but for a negation.
{BLIND}"""
PAIRED = """A question in Chinese and its translation are one pair: shares of pairs by outcome in Chinese / English,
Cohen's kappa of the two answers (of right and wrong for open answers and for all kinds together), accuracy in Chinese
minus English with an interval clustered by patient, and McNemar's exact test. The test of unpaired questions is that of
the paper: Pearson's chi-square, or Fisher's exact test for small expected counts. It takes a question and its
translation as independent."""
ALONE = (
    "No question of these runs has a counterpart in the other language by its id, so only the unpaired test is given."
)
_COLUMNS: Heads = [
    "run", "questions", "judged by", Column("pairs", "count"), *(Column(cell, "percent") for cell in CELLS),
    Column("kappa", "number"), Column("difference", "signed"), Column("95 % interval", "signed_interval"),
    Column("McNemar p", "p"), Column("p by patient", "p"), Column("n CN", "count"), Column("CN", "number"),
    Column("n EN", "count"), Column("EN", "number"), "unpaired test", Column("unpaired p", "p"),
]  # fmt: skip


class Languages(Section):
    """Accuracy of the six subsets, by language and overall; open answers by rules; Chinese against English."""

    title: ClassVar[str] = "Questions in two languages"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing without such questions."""
        found = [_of_run(results, name) for name in results.names]
        for name in dict.fromkeys(one.name for own in found for one in own):
            if name == "languages":
                yield Text(NOTE)
            yield _joined(
                [(run, t) for run, own in zip(results.names, found, strict=True) for t in own if t.name == name]
            )
        rows = [row for name, outcomes in results.outcomes.items() for row in _compared(name, outcomes)]
        if rows:
            yield Text(PAIRED if any(row[3] for row in rows) else ALONE)
            yield table("chinese_english", _COLUMNS, rows, "Chinese against English")


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
