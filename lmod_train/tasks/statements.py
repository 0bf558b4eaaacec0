"""What scores say in sentences, one a task: which model is best, how sure that is, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmod_train.scoring.expertise import ENDING
from lmod_train.scoring.headline_metrics import direction
from lmod_train.scoring.warnings import (
    CONSTRAINED,
    INCOMPLETE,
    OTHER_REPLIES,
    OTHERWISE,
    PARTLY_OTHERWISE,
)
from lmod_train.tasks.display_names import metric_name, task_name
from lmod_train.tasks.headline import Row

SHARE, EXACT = "accuracy_strict", "exact_match"
"""Metrics that are a share of the questions: answered correctly, and in the exact words of the reference."""

SHARES = (SHARE, EXACT)

BASELINED = (*SHARES, "f1_lmod_plus")
"""Metrics between 0 and 1, of which chance and majority are in the same unit; others have no baseline."""

UNEVEN = 0.1
"""How much more often than by guessing one answer is right where classes are uneven: balanced accuracy is stated."""

NOT_COMPARED = "not compared"
"""Stands in the place of the letters of a run that is not ranked."""

WIDE = 0.3
"""Width of an interval from which a score is called uncertain."""

NAMED = 2
"""Number of other models that a sentence names."""

LONGEST = 60
"""Characters of a model's name in a sentence."""


@dataclass(frozen=True, slots=True)
class Place:
    """A run of a task in the letter display: runs that share a letter do not differ significantly.

    Number of items and score are those on the common records; of a run that is not ranked, those of all its records.
    """

    task: str
    run: str
    n: int
    score: float
    letters: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What the scores of one task say.

    Attributes:
        task: Name of the task.
        claim: Which model is best, and what it is worth.
        cautions: What a reader must know of the claim: missing replies, few questions, warnings.
        best: Label of the best model; empty without a score, or if no model can be called better.
    """

    task: str
    claim: str
    cautions: str
    best: str

    @property
    def text(self) -> str:
        """All of it, in one line."""
        return " ".join(filter(None, (self.claim, self.cautions)))


def findings(
    scores: Mapping[str, Sequence[Row]], places: Sequence[Place] = (), questions: Mapping[str, str] | None = None
) -> list[Finding]:
    """Return a sentence a task, those that most models were asked first, of these those scored by accuracy.

    Nothing is claimed that the scores do not show. A model is better than a baseline if its interval is above the score
    of random answers and above that of always giving one answer, on its own records. Models are compared on the records
    that all have a reply to, and the best is only called better than those that do not share its letter. Labels of
    levels of expertise are no answers that could be right.

    Args:
        scores: Label of each model -> its rows of the headline table.
        places: The comparison of all pairs (`lmod_train.report.paired_runs.letter_display`); models of a task without
            places were not compared.
        questions: Task -> words of the user's own question, by which one is named whose identifier cannot be read.

    Example:
        >>> row = Row("four_way", "r", "m", "accuracy_strict", 216, 0.986, 0.96, 0.997, 0.25, 0.25, 0.0)
        >>> findings({"tuned": [row]})[0].text.partition("; ")[0]
        'Four-way diagnosis: tuned answers 98.6 % of 216 questions correctly (95 % interval 96.0-99.7 %'
    """
    tasks = dict.fromkeys(row.task for rows in scores.values() for row in rows if not row.task.endswith(ENDING))
    asked = {task: {label: row for label, rows in scores.items() for row in rows if row.task == task} for task in tasks}
    order = sorted(tasks, key=lambda task: (-len(asked[task]), all(r.metric != SHARE for r in asked[task].values())))
    named = {task: task_name(task, (questions or {}).get(task, "")) for task in order}
    return [_finding(task, named[task], asked[task], [p for p in places if p.task == task]) for task in order]


def _finding(task: str, name: str, rows: Mapping[str, Row], places: Sequence[Place]) -> Finding:
    scored = {label: row for label, row in rows.items() if row.value is not None}
    stale = [label for label, row in scored.items() if OTHER_REPLIES in row.warnings]
    kept = {label: row for label, row in scored.items() if label not in stale}
    if not kept:
        why = "the scores are not those of the replies" if stale else "there is no score"
        return Finding(task, f"{name}: nothing can be said, as {why}.", "", "")
    ranked = [p for p in places if p.letters != NOT_COMPARED and p.run in kept]
    apart = {why: _apart(kept, ranked, warning) for warning, why in _APART.items()}
    same = {label: row for label, row in kept.items() if not any(label in own for own in apart.values())} or kept
    best, said = _compared(same, ranked) if len(ranked) > 1 else _alone(same)
    if len(same) < len(kept):
        said += [f"Not ranked, as {why}: {_scored(own, kept)}." for why, own in apart.items() if own]
    cautions = [*_cautions(best, kept), *([f"Not the scores of their replies: {_few(stale)}."] if stale else [])]
    said += _worth(best, same) if best else ()
    return Finding(task, f"{name}: {' '.join(said)}", " ".join(cautions), best)


_APART = {CONSTRAINED: "constrained replies are no free ones", OTHERWISE: "asked otherwise"}
"""Warning -> why runs that have it are not compared with those that do not."""


def _apart(rows: Mapping[str, Row], ranked: Sequence[Place], warning: str) -> list[str]:
    """Return the runs that are not ranked and stand apart from those that are: one of the two has a warning."""
    own = [label for label, row in rows.items() if warning in row.warnings]
    if len(ranked) < 2:
        return own
    others = [label for label in rows if label not in {p.run for p in ranked}]
    return [label for label in others if (label in own) != (ranked[0].run in own)]


def _scored(labels: Sequence[str], rows: Mapping[str, Row]) -> str:
    """Return few models with their scores, or how many they are."""
    if len(labels) > NAMED:
        return f"{len(labels)} models"
    return _listed([f"{_named(label)} ({_shown(rows[label], _value(rows[label]))})" for label in labels])


def _alone(rows: Mapping[str, Row]) -> tuple[str, list[str]]:
    """Return the best of models that were not compared, and what is said of them."""
    metrics = dict.fromkeys(row.metric for row in rows.values())
    best, *others = sorted(rows, key=lambda label: -direction(rows[label].metric) * _value(rows[label]))
    if len(metrics) > 1:
        return best, [f"the models are scored by different metrics: {_listed([metric_name(m) for m in metrics])}."]
    said = f"{_named(best)} {_stated(rows[best])}{_against(others, {o: _value(rows[o]) for o in others}, rows)}."
    if not others:
        return best, [said]
    if not direction(rows[best].metric):
        return "", [said, "Which of these values is better is not known of this metric."]
    return best, [said, "These differences were not tested here."]


def _compared(rows: Mapping[str, Row], ranked: Sequence[Place]) -> tuple[str, list[str]]:
    """Return the best of the models that were compared, and what is said of them."""
    best, *others = ranked
    alike = [p.run for p in others if set(p.letters) & set(best.letters)]
    lower = [p.run for p in others if p.run not in alike]
    values = {p.run: _value(rows[p.run]) for p in ranked}
    said = [f"{_named(best.run)} {_stated(rows[best.run])}{_against(lower, values, rows)}."]
    if any(p.n != rows[p.run].n for p in ranked):
        shared = _listed([f"{_named(p.run)} {_shown(rows[p.run], p.score)}" for p in ranked[: NAMED + 1]])
        otherwise = any({OTHERWISE, PARTLY_OTHERWISE} & {*rows[p.run].warnings} for p in ranked)
        on = "were asked alike" if otherwise else "have a reply to"
        said.append(f"Compared on the {best.n:,} that all {on}, of which {shared}.")
    if alike:
        who = _listed([_with(run, values, rows) for run in alike]) if len(alike) <= NAMED else f"{len(alike)} models"
        of = " in accuracy" if any(_uneven(rows[run]) for run in alike) else ""
        said.append(f"{who} {'are' if len(alike) > 1 else 'is'} not shown to differ from it{of}.")
    if left := [label for label in rows if label not in values]:
        said.append(f"Not compared, as the records differ: {_few(left)}.")
    return best.run, said


def _against(others: Sequence[str], values: Mapping[str, float], rows: Mapping[str, Row]) -> str:
    named = [_with(label, values, rows) for label in others[:NAMED]]
    rest = len(others) - len(named)
    if not named:
        return ""
    return f"; {_listed(named)}" if not rest else f"; {', '.join(named)}, and {rest} more below"


def _with(label: str, values: Mapping[str, float], rows: Mapping[str, Row]) -> str:
    balanced = _balanced(rows[label])
    return f"{_named(label)} {_shown(rows[label], values[label])}" + (f" ({balanced})" if balanced else "")


def _uneven(row: Row) -> bool:
    """Return whether a score is an accuracy over uneven classes, which one answer to all can reach."""
    known = row.metric == SHARE and row.balanced is not None and row.balanced.value is not None
    if not known or row.majority is None or row.chance is None:
        return False
    return row.chance + UNEVEN < row.majority < 1  # of one class alone, there is nothing to tell apart


def _balanced(row: Row) -> str:
    """Return the balanced accuracy with its interval, as text; empty where classes are even."""
    if not _uneven(row) or row.balanced is None or row.balanced.value is None:
        return ""
    low, high = row.balanced.low, row.balanced.high
    ends = f", {100 * low:.1f}-{100 * high:.1f} %" if low is not None and high is not None else ""
    return f"balanced accuracy {100 * row.balanced.value:.1f} %{ends}"


def _worth(best: str, rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield a sentence if the best model, or any, is not shown to be better than its baselines."""
    row = rows[best]
    unsure = [label for label, other in rows.items() if not _is_shown(other)]
    baselined = row.metric in BASELINED and _baseline(row)[0] is not None
    if baselined and len(unsure) == len(rows):
        yield "No model is shown to be better than that." if len(rows) > 1 else "That is not shown to be better."
    elif baselined and best in unsure:
        yield f"{_named(best)} is not shown to be better than that."
    telling = [label for label in unsure if _tells_apart(rows[label])]
    if baselined and telling:
        yield f"By balanced accuracy, {_few(telling)} tell{'s' * (len(telling) == 1)} the classes apart."


def _tells_apart(row: Row) -> bool:
    """Return whether balanced accuracy is above that of one answer to all, by its interval."""
    low = row.balanced.low if row.balanced and _uneven(row) else None
    return low is not None and row.chance is not None and low > row.chance


def _cautions(best: str, rows: Mapping[str, Row]) -> Iterator[str]:
    row = rows.get(best) or next(iter(rows.values()))
    if row.low is None or row.high is None:
        yield f"There is no interval, as {row.no_interval}." if row.no_interval else "There is no interval."
    elif row.metric in BASELINED and row.high - row.low > WIDE:
        of = f" of {row.patients:,} patients" if 0 < row.patients < row.n else ""
        yield f"{row.n:,} questions{of} are too few to say more."
    if missing := [label for label, other in rows.items() if other.account and not other.account.complete]:
        yield f"Not all questions have a reply: {_few(missing)}."
    warned = {label: [p for p in other.warnings if p != INCOMPLETE] for label, other in rows.items()}
    alike: dict[tuple[str, ...], list[str]] = {}
    for label, own in warned.items():
        if own:
            alike.setdefault(tuple(own), []).append(label)
    if len(alike) <= NAMED and (listed := [f"{_few(labels)} ({', '.join(own)})" for own, labels in alike.items()]):
        yield f"Warnings: {_listed(listed)}."
    elif alike:
        yield f"Warnings: {sum(map(len, alike.values()))} models, see below."


def _is_shown(row: Row) -> bool:
    """Return whether a score is shown to be above its baselines: an interval that is above both."""
    level, _ = _baseline(row)
    return level is None or (row.low is not None and row.low > level)


def _baseline(row: Row) -> tuple[float | None, str]:
    """Return the higher one of the scores of random answers and of the most frequent answer, and its name."""
    known = [(row.majority, "always giving one answer"), (row.chance, "guessing")] if row.metric in BASELINED else []
    return max(((v, name) for v, name in known if v is not None), key=lambda one: one[0], default=(None, ""))


def _stated(row: Row) -> str:
    """Return the predicate with score, interval and baseline."""
    level, source = _baseline(row)
    beside = [f"95 % interval {_bounds(row)}"] if row.low is not None and row.high is not None else []
    beside += [balanced] if (balanced := _balanced(row)) else []
    beside += [f"each question is asked in {row.ways} ways"] if row.ways > 1 else []
    beside += [f"{source} would give {_shown(row, level)}"] if level is not None else []
    return _predicate(row, _value(row)) + (f" ({'; '.join(beside)})" if beside else "")


def _predicate(row: Row, value: float) -> str:
    many = f"{row.n:,} {'request' if row.ways > 1 else 'question'}{'s' * (row.n != 1)}"
    if row.metric == SHARE:
        return f"answers {_shown(row, value)} of {many} correctly"
    if row.metric == EXACT:
        return f"gives exactly the reference in {_shown(row, value)} of {many}"
    return f"reaches {_shown(row, value)} {metric_name(row.metric)} on {many}"


def _shown(row: Row, value: float) -> str:
    return f"{100 * value:.1f} %" if row.metric in SHARES else f"{value:.3f}"


def _bounds(row: Row) -> str:
    assert row.low is not None
    assert row.high is not None
    if row.metric in SHARES:
        return f"{100 * row.low:.1f}-{100 * row.high:.1f} %"
    return f"{row.low:.3f}{'-' if row.low >= 0 else ' to '}{row.high:.3f}"


def _value(row: Row) -> float:
    assert row.value is not None
    return row.value


def _named(label: str) -> str:
    shown = label or "a model without a name"
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"


def _few(labels: Sequence[str]) -> str:
    return _listed([_named(label) for label in labels]) if len(labels) <= NAMED else f"{len(labels)} models"


def _listed(names: Sequence[str]) -> str:
    """Return names as in a sentence, e.g. ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
