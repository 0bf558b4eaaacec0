"""Table 1 of OphthalWeChat and the numbers of its journal version, with rows for runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmod_train.core.tables import Cell, Estimate, Table, p_value
from lmod_train.extensions.ophthalwechat.results import KINDS, OPEN, SHORT, SUBSETS, Verdicts, kinds_of, verdicts
from lmod_train.report.contents import Part, Text, texts
from lmod_train.report.origin import not_as_published
from lmod_train.report.published import HERE
from lmod_train.report.results import Results
from lmod_train.report.section import added
from lmod_train.scoring.association import independence
from lmod_train.scoring.comparison import mcnemar
from lmod_train.scoring.items import Item
from lmod_train.scoring.language_pairs import LANGUAGES

TABLES = [*(f"ophthalwechat_table_1{panel}" for panel in "abcd"), "ophthalwechat_journal"]


def wechat_tables(results: Results) -> Iterator[Part]:
    """Yield the printed rows of Table 1 and of the journal version with their states, and rows of runs.

    Nothing without such questions; a sentence instead beside phantoms.
    """
    tables = added("PaperTables")
    if tables is None or not any(kinds_of(outcomes.items) for outcomes in results.outcomes.values()):
        return
    parts = [
        _with_p(_with_judged(part, results), results) if isinstance(part, Table) and part.name in TABLES else part
        for part in tables(tables=TABLES).parts(results)
    ]
    yield from [Text(texts(__file__)["not_judged"])] if any(isinstance(part, Table) for part in parts) else []
    yield from parts


def _with_judged(printed: Table, results: Results) -> Table:
    """Return a table with a row per run and judge below, where a judge's verdicts give one of its numbers."""
    left_out = not_as_published(results.outcomes)
    rows = list(printed.rows)
    for name, outcomes in results.outcomes.items():
        asked = kinds_of(outcomes.items)
        for own in verdicts(outcomes) if not left_out & set(asked) else ():
            rows += _rows(printed, f"{name}, judged by {own.judge}", own) if own.judge else []
    return replace(printed, rows=tuple(rows))


def _rows(printed: Table, label: str, own: Verdicts) -> Iterator[tuple[Cell, ...]]:
    found = [_cell(printed.name, column.head, own) for column in printed.columns[1:-1]]
    if any(cell is not None for cell in found):
        yield (label, *found, HERE)


def _cell(name: str, head: str, own: Verdicts) -> Estimate | None:
    """Return the accuracy in a column of open answers, or of all kinds of question; None in others."""
    subsets = _subsets(name, head)
    if not any(subset.startswith(KINDS[OPEN]) for subset in subsets) or not (items := _items(own, subsets)):
        return None
    score, _ = replace(own, items=items).scores()
    return Estimate.of(score)


def _subsets(name: str, head: str) -> list[str]:
    """Return the subsets that an accuracy in a column is over, all of a language or of both in three; empty for none.

    Args:
        name: Name of the table.
        head: Head of the column; ``accuracy`` is of the open answers in the language of the table.
    """
    panels = {f"ophthalwechat_table_1{panel}": language for panel, language in (("c", "CN"), ("d", "EN"))}
    if head == "accuracy" and name in panels:
        return [f"{KINDS[OPEN]}_{panels[name]}"]
    if head in ("overall", *SHORT.values()):
        return [s for s in SUBSETS if head == "overall" or s.endswith(f"_{head}")]
    return [s for s in SUBSETS if s == head.replace(" ", "_")]


def _items(own: Verdicts, subsets: Sequence[str]) -> list[Item]:
    """Return the questions of some subsets; none unless there are questions of each."""
    items = [item for item in own.items if own.subset[item.id] in subsets]
    return items if {own.subset[item.id] for item in items} == set(subsets) else []


def _with_p(shown: Table, results: Results) -> Table:
    """Return a table with the p values of the rows of runs in its P columns."""
    heads = [column.head for column in shown.columns]
    rows = [list(row) for row in shown.rows]
    known = {str(row[0]): row for row in rows if row[-1] == HERE}
    for place, head in enumerate(heads):
        if head.endswith("P"):
            for label, p in _p_values(shown.name, head, results):
                if label in known and p is not None:
                    known[label][place] = p_value(p)
    return replace(shown, rows=tuple(map(tuple, rows)))


def _p_values(name: str, head: str, results: Results) -> Iterator[tuple[str, float | None]]:
    """Yield the label of each row with a p value in a column; rows of different judges are not compared."""
    rows: dict[str, list[tuple[str, Verdicts]]] = {}
    for run, outcomes in results.outcomes.items():
        for own in verdicts(outcomes):
            rows.setdefault(own.judge, []).append((f"{run}, judged by {own.judge}" if own.judge else run, own))
    for of_judge in rows.values():
        if head == "CN against EN P":
            yield from ((label, _between_languages(own)) for label, own in of_judge)
        else:
            subsets = _subsets(name, head.removesuffix("P").strip() or "accuracy")
            yield from _against_best([(label, own, _items(own, subsets)) for label, own in of_judge])


def _between_languages(own: Verdicts) -> float | None:
    """Return the p value of equal accuracy in both languages over all six subsets, as the paper's chi-square test."""
    if not _items(own, SUBSETS):
        return None
    of = [[own.right[item.id] for item in own.items if item.language == language] for language in LANGUAGES]
    found = independence(list(map(sum, of)), list(map(len, of)))
    return None if found is None else found.p_chi_square


def _against_best(rows: Sequence[tuple[str, Verdicts, list[Item]]]) -> Iterator[tuple[str, float | None]]:
    """Yield the p value of each row against the row of the highest accuracy, over the questions of both."""
    scored = [(label, {item.id: own.right[item.id] for item in items}) for label, own, items in rows if items]
    if not scored:
        return
    best, of_best = max(scored, key=lambda row: sum(row[1].values()) / len(row[1]))
    for label, right in scored:
        common = sorted(right.keys() & of_best.keys())
        if label != best and common:
            yield label, mcnemar([of_best[id] for id in common], [right[id] for id in common]).p
