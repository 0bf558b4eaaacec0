"""What scores say in sentences, one a task: which model is best, how sure that is, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.report.display_names import metric_name, task_name
from lmod_train.report.headline import Row
from lmod_train.report.warnings import INCOMPLETE

SHARES = ("accuracy_strict", "exact_match")
"""Metrics that are the share of questions that are answered correctly."""
WIDE = 0.3
"""Width of an interval from which a score is called uncertain."""
NAMED = 2
"""Number of other models that a sentence names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the scores of one task say, and the label of the best model; empty without a score."""

    task: str
    text: str
    best: str


def findings(scores: Mapping[str, Sequence[Row]], alike: Mapping[str, Sequence[str]] | None = None) -> list[Finding]:
    """Return a sentence a task, those that most models were asked first, of these those scored by a share.

    Nothing is claimed that the scores do not show: a score whose interval includes that of random answers, or of the
    most frequent answer, is said to be no better; models that were not found to differ are not ranked.

    Args:
        scores: Label of each model -> its rows of the headline table.
        alike: Task -> labels of the models that share the first letter of the comparison of all pairs, the best
            included (`lmod_train.report.comparisons.letter_display`); a task without entry was not compared.

    Example:
        >>> row = Row("four_way", "r", "m", "accuracy_strict", 216, 0.986, 0.96, 0.997, 0.25, 0.25, 0.0)
        >>> findings({"tuned": [row]})[0].text.partition("; ")[0]
        'Four-way diagnosis: tuned answers 98.6 % of 216 questions correctly (95 % interval 96.0-99.7 %)'
    """
    tasks = dict.fromkeys(row.task for rows in scores.values() for row in rows)
    asked = {task: {label: row for label, rows in scores.items() for row in rows if row.task == task} for task in tasks}
    order = sorted(
        tasks, key=lambda task: (-len(asked[task]), all(r.metric not in SHARES for r in asked[task].values()))
    )
    return [_finding(task, asked[task], (alike or {}).get(task)) for task in order]


def _finding(task: str, rows: Mapping[str, Row], alike: Sequence[str] | None) -> Finding:
    ranked = sorted((label for label in rows if rows[label].value is not None), key=lambda label: -_value(rows[label]))
    if not ranked:
        return Finding(task, f"{task_name(task)}: nothing can be said, as there is no score.", "")
    sentences = (*_claims(ranked, rows, alike), *_cautions(ranked[0], rows))
    return Finding(task, f"{task_name(task)}: {' '.join(sentences)}", ranked[0])


def _claims(ranked: Sequence[str], rows: Mapping[str, Row], alike: Sequence[str] | None) -> Iterator[str]:
    best, *others = ranked
    if alike is not None and best not in alike:
        yield "the models have replies to different records; the comparisons below are on those they share."
        alike = None
    level, source = _baseline(rows[best])
    low = rows[best].low
    if level is not None and low is not None and low <= level:
        highest = "the highest, " if others else ""
        who = "no model is" if others else f"{best} is not"
        yield (
            f"{who} shown to be better than {source} ({_shown(rows[best], level)}); "
            f"{highest}{best}{',' if others else ''} {_stated(rows[best])}."
        )
        return
    tied = [label for label in others if label in (alike or ())]
    if tied:
        who = _listed([best, *tied]) if len(tied) <= NAMED else f"{len(tied) + 1} models"
        yield f"{who} are not shown to differ; {best} {_stated(rows[best])}."
        others = [label for label in others if label not in tied]
        if others:
            yield f"Lower: {_others(others, rows)}."
        return
    against = f"; {_others(others, rows)}" if others else ""
    worth = f"; {source} would give {_shown(rows[best], level)}" if level is not None else ""
    yield f"{best} {_stated(rows[best])}{against}{worth}."
    if others and alike is None:
        yield "These differences were not tested."


def _cautions(best: str, rows: Mapping[str, Row]) -> Iterator[str]:
    row = rows[best]
    if row.low is not None and row.high is not None and row.high - row.low > WIDE:
        yield f"{row.n} questions are too few to say more."
    missing = [label for label, other in rows.items() if other.account and not other.account.complete]
    if missing:
        yield f"Not all questions have a reply: {_listed(missing)}."
    if warnings := [phrase for phrase in row.warnings if phrase != INCOMPLETE]:
        yield f"Warnings about {best}: {', '.join(warnings)}."


def _baseline(row: Row) -> tuple[float | None, str]:
    """Return the higher one of the scores of random answers and of the most frequent answer, and its name."""
    known = [(row.majority, "always giving one answer"), (row.chance, "guessing")]
    return max(((v, name) for v, name in known if v is not None), key=lambda one: one[0], default=(None, ""))


def _stated(row: Row) -> str:
    """Return the predicate with score and interval."""
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f" (95 % interval {_bounds(row)})"
    if row.metric in SHARES:
        return f"answers {_shown(row, _value(row))} of {row.n:,} questions correctly{interval}"
    return f"reaches {_shown(row, _value(row))} {metric_name(row.metric)}{interval} on {row.n:,} questions"


def _others(labels: Sequence[str], rows: Mapping[str, Row]) -> str:
    named = [f"{label} {_shown(rows[label], _value(rows[label]))}" for label in labels[:NAMED]]
    rest = labels[NAMED:]
    return _listed(named) if not rest else f"{', '.join(named)}, and {len(rest)} more below"


def _shown(row: Row, value: float) -> str:
    return f"{100 * value:.1f} %" if row.metric in SHARES else f"{value:.3f}"


def _bounds(row: Row) -> str:
    assert row.low is not None
    assert row.high is not None
    if row.metric in SHARES:
        return f"{100 * row.low:.1f}-{100 * row.high:.1f} %"
    return f"{row.low:.3f}-{row.high:.3f}"


def _value(row: Row) -> float:
    assert row.value is not None
    return row.value


def _listed(names: Sequence[str]) -> str:
    """Return names as in a sentence, e.g. ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
