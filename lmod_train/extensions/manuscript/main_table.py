"""The main table: a row per task and model, with at most eight columns, names that a person reads, and footnotes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lmod_train.core.escaping import SUPERSCRIPTS
from lmod_train.core.tables import Cell, Table, table
from lmod_train.extensions.manuscript.characteristics import FEWEST
from lmod_train.report.asked_alike import differences
from lmod_train.report.contents import heads, texts
from lmod_train.report.origin import without_patients
from lmod_train.report.results import Results
from lmod_train.report.seed_spread import by_series, rows_with_means
from lmod_train.report.sorted_errors import GROUNDING, PROBES
from lmod_train.report.warned import warned
from lmod_train.tasks.display_names import metric_name, task_name
from lmod_train.tasks.headline import Row, headline_rows

_TEXTS, _HEADS = texts(__file__), heads(__file__)


def main_table(results: Results) -> Table:
    """Return the table of the headline scores; seeds of a series are one row, their mean."""
    rows = list(_rows(results))
    names = {task: task_name(task, results.questions.get(task, "")) for task in results.tasks}
    meant = {(one.task, one.run): one.text for one in differences(results, set(results.compare))}
    notes: dict[str, str] = {}
    lines: list[list[Cell]] = []
    for label, row in rows:
        groups = _patients(results, label, row.task)
        said = [*_remarks(row, groups), *_meant(meant.get((row.task, label), ""))]
        marks = "".join(_mark(notes, one) for one in said)
        baseline = max((b for b in (row.chance, row.majority) if b is not None), default=None)
        lost = [share for share in (row.unparsed, row.refused, row.truncated) if share is not None]
        scored: list[Cell] = [row.value, (row.low, row.high), baseline, sum(lost) if lost else None]
        lines.append([names[row.task], f"{label}{marks}", row.n, groups, *scored])
    metrics = {row.metric: [names[r.task] for _, r in rows if r.metric == row.metric] for _, row in rows}
    scores = "; ".join(
        f"{metric_name(metric)} ({', '.join(dict.fromkeys(tasks))})" if len(metrics) > 1 else metric_name(metric)
        for metric, tasks in metrics.items()
    )
    told = [_TEXTS["note"].format(scores=scores), *(f"{mark} {said}." for said, mark in notes.items())]
    return table("paper_scores", _HEADS["scores"], lines, _TEXTS["title"], " ".join(told))


def _rows(results: Results) -> Iterator[tuple[str, Row]]:
    """Yield label and row of the headline table, by task."""
    found: Mapping[str, Sequence[Row]] = {
        name: headline_rows([run], warned(results)) for name, run in zip(results.names, results.runs, strict=True)
    }
    shown = rows_with_means(results, found)
    for task in results.tasks:
        if not task.endswith((PROBES, GROUNDING)):
            yield from ((label, row) for label, own in shown.items() for row in own if row.task == task)


def _patients(results: Results, label: str, task: str) -> int | None:
    """Return the number of patients of a run, or of the first seed of a series; None if no source states any."""
    series = {f"{folder.name}": runs[0][0] for folder, runs in by_series(results).items()}
    name = label if label in results.outcomes else series[label.rpartition(" (mean of ")[0]]
    outcomes = results.outcomes[name]
    records = [p.record for p in outcomes.predictions if p.record.task == task and p.status != "failed"]
    bare = without_patients(outcomes)
    return len({(r.source, r.group) for r in records if r.group and r.source not in bare}) or None


def _remarks(row: Row, patients: int | None) -> Iterator[str]:
    yield from row.warnings
    if row.ways > 1:
        yield f"each question was asked in {row.ways} ways, and n counts each"
    if row.account and not row.account.complete:
        yield str(row.account)
    if row.low is None and row.value is not None:
        yield row.no_interval or "no interval"
    if patients is None:
        yield "no patients are stated"
    elif patients < FEWEST:
        yield f"fewer than {FEWEST} patients"


def _meant(text: str) -> Iterator[str]:
    if text:
        yield f"asked otherwise, which is what is compared: {text}"


def _mark(notes: dict[str, str], said: str) -> str:
    """Return the mark of a footnote, the next one for a new sentence."""
    place = len(notes)
    marks = list(SUPERSCRIPTS)
    return notes.setdefault(said, marks[place % len(marks)] * (place // len(marks) + 1))
