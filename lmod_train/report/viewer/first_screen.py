"""The first screen of a report: what was compared, what was found, six examples, and the leaderboard."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lmod_train.core.extension import extensions, loaded
from lmod_train.core.tables import Format
from lmod_train.core.types import Prediction
from lmod_train.report.origin import without_patients
from lmod_train.report.paired_runs import comparable, letter_display
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.seed_spread import by_series, rows_with_means
from lmod_train.report.thumbnails import thumbnail
from lmod_train.report.viewer.outcome_text import answer_text, outcome_of
from lmod_train.report.warned import warned
from lmod_train.scoring.headline_metrics import HEADLINES, direction
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.shares import MIN_PATIENTS
from lmod_train.tasks.display_names import metric_name, task_name
from lmod_train.tasks.headline import Row, headline_rows
from lmod_train.tasks.statements import Finding, Place, findings

EACH = 3
"""Number of right examples, and of wrong ones."""

LONGEST = 60
"""Characters of an answer beneath an example."""


@dataclass(frozen=True, slots=True)
class Example:
    """An image with the answer of one model.

    Attributes:
        image: The image as a ``data:`` URL.
        outcome: One of `lmod_train.report.viewer.outcome_text.OUTCOMES`.
        truth: The true answer.
        answer: The answer that was read, or why there is none.
        model: Label of the run.
        address: Address of the prediction within the page.
    """

    image: str
    outcome: str
    truth: str
    answer: str
    model: str
    address: str


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """What stands on the first screen.

    Attributes:
        title: How many models were compared, and on what.
        findings: A sentence a task; the first is of the task that most models were asked.
        examples: Up to six, wrong ones first.
        heads: Task and metric of each column of the leaderboard, and the names that a person reads.
        lines: Label of each run -> its scores by task, in the order of the leaderboard.
        spent: What replies took -> the value of each run, None where it is not known, and the format of the column.
    """

    title: str
    findings: tuple[Finding, ...]
    examples: tuple[Example, ...]
    heads: Sequence[Mapping[str, str]]
    lines: Mapping[str, Mapping[str, Row]]
    spent: Mapping[str, tuple[Mapping[str, float | None], Format]] = field(default_factory=dict)


def first_screen(results: Results, names: Mapping[str, str] | None = None) -> FirstScreen:
    """Return the first screen of the report of one or more runs.

    Args:
        results: The runs.
        names: Id of a record -> the one that is shown in its place; None shows their own.
    """
    about = warned(results)
    scores: Mapping[str, Sequence[Row]] = {
        name: [_with_reason(row, results.items[name].get(row.task, ())) for row in headline_rows([run], about)]
        for name, run in zip(results.names, results.runs, strict=True)
    }
    stated = loaded(one.pages["findings"] for one in extensions() if "findings" in one.pages)
    said = [sentences(results) for sentences in stated]
    found = [
        replace(one, cautions=" ".join(filter(None, (*(told.get(one.task, "") for told in said), one.cautions))))
        for one in findings(*_compared(results, scores), results.questions)
    ]
    board = leaderboard(scores, [one.task for one in found], results.questions)
    examples = tuple(_examples(results, found, names or {}))
    return FirstScreen(_title(results), tuple(found), examples, *board, spent(results))


def _with_reason(row: Row, items: Sequence[Item]) -> Row:
    """Return a row with its number of patients, and the reason why its score has no interval."""
    patients = len({item.group for item in items})
    row = replace(row, patients=patients)
    if row.low is not None or row.value is None:
        return row
    if patients < MIN_PATIENTS:
        few = f"{patients} patient{'s' * (patients != 1)}"
        why = f"its {row.n} questions are of {few}" if row.n > 1 else f"its one question is of {few}"
        return replace(row, no_interval=f"{why}, and {MIN_PATIENTS} are needed")
    if row.metric in HEADLINES and len({item_score(item) for item in items}) > 1:
        return replace(row, no_interval="all patients have the same score")
    return replace(row, no_interval="scores.csv has none for this metric")


def _compared(
    results: Results, scores: Mapping[str, Sequence[Row]]
) -> tuple[Mapping[str, Sequence[Row]], Sequence[Place]]:
    """Return what the sentences compare: runs with their letters, or, of seeds, their mean, which has none."""
    places = () if by_series(results) else letter_display(comparable(results), fewest=2)[0]
    return rows_with_means(results, scores), places


def _title(results: Results) -> str:
    """Return how many models were compared, and on how many questions, images and stated patients."""
    predictions = list(chain.from_iterable(found.predictions for found in results.outcomes.values()))
    images = {image for p in predictions for image in (p.record.image_plain or p.record.image)}
    questions = {p.record.id for p in predictions}
    bare = set[str]().union(*map(without_patients, results.outcomes.values()))
    patients = {(r.source, r.group) for r in (p.record for p in predictions) if r.group and r.source not in bare}
    counts = {"model": len(results.names), "question": len(questions), "image": len(images)}
    counts |= {"stated patient" if bare else "patient": len(patients)}
    return ", ".join(f"{n:,} {what}{'s' * (n != 1)}" for what, n in counts.items())


def _examples(results: Results, found: Sequence[Finding], ids: Mapping[str, str]) -> Iterator[Example]:
    """Yield wrong and right answers to the first task with images: those of its best model, then of the others."""
    for finding in found:
        names = sorted(results.names, key=lambda name: name != finding.best)
        wrong, right = (_chosen(results, names, finding.task, one, ids) for one in (False, True))
        shown = [*islice(wrong, EACH), *islice(right, EACH)]
        if shown:
            yield from shown
            return


def _chosen(
    results: Results, names: Sequence[str], task: str, right: bool, ids: Mapping[str, str]
) -> Iterator[Example]:
    """Yield examples that are right or not, of one model after the other, their truths in turn."""
    for name in names:
        outcomes, folder = results.outcomes[name], results.images[name]
        items = [i for i in outcomes.items.get(task, ()) if (outcome_of(i) == "right") is right]
        if not items or folder is None:
            continue
        by_id = {p.record.id: p for p in outcomes.predictions}
        for item in _in_turn(items):
            if (example := _example(name, item, by_id[item.id], folder, ids)) is not None:
                yield example


def _in_turn(items: Sequence[Item]) -> Iterator[Item]:
    """Yield items of each truth by turns, those of one truth in the order of the SHA-256 of their ids."""
    truths: dict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda i: hashlib.sha256(i.id.encode("utf-8", "surrogatepass")).digest()):
        truths[answer_text(item.truth)].append(item)
    yield from (item for turn in zip_longest(*truths.values()) for item in turn if item is not None)


def _example(name: str, item: Item, prediction: Prediction, folder: Path, ids: Mapping[str, str]) -> Example | None:
    """Return an example; None if its image is not there."""
    image = thumbnail(folder, prediction.record.image[0]) if prediction.record.image else ""
    if not image:
        return None
    place = {"view": "predictions", "task": prediction.record.task, "item": f"{name}\n{ids.get(item.id, item.id)}"}
    texts = (_short(answer_text(item.truth)), _short(answer_text(item.answer)))
    return Example(image, outcome_of(item), *texts, name, f"#{urlencode(place, errors='replace')}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


# The leaderboard: a row per run and a column per task, the best model of the first task on top.
Board = tuple[list[dict[str, str]], dict[str, Mapping[str, Row]]]
"""Heads of the columns, and label of each run -> its scores by task."""


def leaderboard(
    scores: Mapping[str, Sequence[Row]], tasks: Sequence[str], questions: Mapping[str, str] | None = None
) -> Board:
    """Return the leaderboard of runs, the best score of the first task, or of the next one, on top.

    By a metric of which it is not known whether a larger value is better, runs keep their order.

    Args:
        scores: Label of each run -> its rows of the headline table.
        tasks: Tasks in the order of their columns.
        questions: Task -> words of the user's own question, which stand above its scores.
    """
    metrics = {row.task: row.metric for rows in scores.values() for row in rows}
    asked = {task: (questions or {}).get(task, "") for task in tasks}
    named = {task: {"name": task_name(task, words), "question": words} for task, words in asked.items()}
    heads = [{"task": t, "metric": metrics[t], "metric_name": metric_name(metrics[t]), **named[t]} for t in tasks]
    lines: dict[str, Mapping[str, Row]] = {label: {row.task: row for row in rows} for label, rows in scores.items()}
    best_first = sorted(lines.items(), key=lambda line: [_order(line[1].get(task)) for task in tasks])
    return heads, dict(best_first)


_SPENT: Mapping[str, Format] = {
    "seconds a reply": "statistic",
    "tokens in a reply": "count",
    "tokens out a reply": "count",
    "cost of all replies": "statistic",
}


def spent(results: Results) -> dict[str, tuple[dict[str, float | None], Format]]:
    """Return what the replies of each run took, as far as replies and, of prices of tokens, the run's config state it.

    Costs are those of `model.backend.budget`, in the currency of its prices; what is not known of any run is left out.
    """
    by_run = {label: _spent(found) for label, found in results.outcomes.items()}
    columns = {name: {label: one.get(name) or None for label, one in by_run.items()} for name in _SPENT}
    return {name: (own, _SPENT[name]) for name, own in columns.items() if any(own.values())}


def _spent(found: Outcomes) -> dict[str, float]:
    replies = [p.reply for p in found.predictions if p.status != "failed"]
    n, seconds = max(1, len(replies)), sum(reply.seconds for reply in replies)
    tokens = {"in": sum(reply.tokens_in for reply in replies), "out": sum(reply.tokens_out for reply in replies)}
    stated: Any = found.config
    for key in ("model", "backend", "budget"):
        inner = stated.get(key) if isinstance(stated, Mapping) else None
        stated = inner.get("init_args", inner) if isinstance(inner, Mapping) else {}
    prices = {way: price for way in tokens if isinstance(price := stated.get(f"price_{way}"), float | int)}
    cost = sum(tokens[way] * price for way, price in prices.items()) / 1e6
    return dict(zip(_SPENT, (seconds / n, *(round(own / n) for own in tokens.values()), cost), strict=True))


def _order(row: Row | None) -> float:
    """Return what sorts the lines by the score of a task; those without it are last."""
    return float("inf") if row is None or row.value is None else -direction(row.metric) * row.value


def dot(row: Row) -> dict[str, float | None] | None:
    """Return the places of a score, of the ends of its interval and of chance in a drawing that is 100 wide.

    None without an interval, or if the score is not between 0 and 1.
    """
    known = {"value": row.value, "low": row.low, "high": row.high}
    drawn: dict[str, float | None] = {name: 100 * v for name, v in known.items() if v is not None and 0 <= v <= 1}
    chance = 100 * row.chance if row.chance is not None and 0 <= row.chance <= 1 else None
    return {**drawn, "chance": chance} if len(drawn) == len(known) else None
