"""How the scores of a run were obtained, as far as its files and the curated folder record it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import ArtifactError
from lmod_train.core.types import Score
from lmod_train.report.papers.protocols import Protocol
from lmod_train.report.papers.relations import Measured
from lmod_train.report.results import Outcomes
from lmod_train.scoring.items import Item
from lmod_train.scoring.ways import question_of
from lmod_train.tasks.run_scores import RunScores
from lmod_train.tasks.wordings import digests_of

_KEYS: Mapping[str, Callable[[Item], str]] = {
    "modality": lambda item: item.modality,
    "source": lambda item: item.source,
    "condition": lambda item: item.variant,
    "language": lambda item: item.language,
}

IN_POINTS = ("uas",)
"""Metrics whose scores are points, at most 100, and printed as percentages."""


def find_score(run: RunScores, protocol: Protocol, n: int, of: int) -> Score | None:
    """Return the run's score that is defined as the printed one, points as fractions; None if it has none.

    A subset that contains all items of a run is not in its scores: it is ``all``.

    Args:
        run: The run's scores.
        protocol: How the printed score was obtained.
        n: Number of the run's items in the part that `protocol` asks about.
        of: Number of all its items of the task.
    """
    if not n:
        return None
    score = run.find(protocol.task, protocol.metric, protocol.subset)
    whole = protocol.subset == protocol.asked and n == of
    score = run.find(protocol.task, protocol.metric) if score is None and whole else score
    return _as_fraction(score) if score is not None and score.metric in IN_POINTS else score


def _as_fraction(score: Score) -> Score:
    value, low, high = (None if v is None else v / 100 for v in (score.value, score.low, score.high))
    return replace(score, value=value, low=low, high=high)


def items_of_part(items: Sequence[Item], part: str) -> list[Item]:
    """Return the items of a part, ``all`` or ``key=value`` with modality, source, condition or language as key."""
    key, _, value = part.partition("=")
    return [item for item in items if part == "all" or _KEYS[key](item) == value]


def conditions(outcomes: Outcomes, manifest: Mapping[str, Any], protocol: Protocol) -> Measured:
    """Return how a run's scores of a task were obtained, without a score.

    Args:
        outcomes: The run's predictions and items.
        manifest: Manifest of the curated folder of its records; empty if it is not known.
        protocol: How the printed score was obtained.
    """
    items = items_of_part(outcomes.items[protocol.task], protocol.asked)
    balanced = bool((manifest.get("balance") or {}).get(protocol.task)) if "protocol" in manifest else None
    split, changed = _split(outcomes, items), _changed(outcomes, protocol.task)
    name, sources = str(manifest.get("protocol") or ""), Counter(item.source for item in items)
    words = _words(outcomes, protocol.task, {item.id for item in items})
    return Measured(None, None, None, len(items), split, balanced, name, changed, words, sources)


def _words(outcomes: Outcomes, task: str, ids: Set[str]) -> frozenset[str]:
    """Return the digests of the templates with which some records of a task were asked."""
    wordings = outcomes.tasks[task].wordings
    asked = {p.record.messages: p.record for p in outcomes.predictions if p.record.id in ids}
    return frozenset().union(*(digests_of(record, wordings) for record in asked.values()))


def manifest_of(curated: Path | None) -> Mapping[str, Any]:
    """Return the manifest of a curated folder; empty if the folder is not known or has no readable one."""
    try:
        return read_manifest(curated) if curated else {}
    except ArtifactError:
        return {}


def _split(outcomes: Outcomes, items: Sequence[Item]) -> str:
    """Return the split of the items, ``all`` if the run asked for all or has items of several."""
    data = outcomes.config.get("data") or {}
    splits = {item.split for item in items}
    asked = (data.get("init_args") or data).get("split")
    return "all" if asked == "all" or len(splits) > 1 else next(iter(splits), "")


def _changed(outcomes: Outcomes, task: str) -> str:
    """Return what makes the run's model or questions others than the printed ones; empty if nothing does."""
    own = [p for p in outcomes.predictions if p.record.task == task]
    steps = {p.reply.step for p in own} - {0}
    otherwise = any(p.record.id != question_of(p.record.id, p.record.tags) for p in own)
    trained = f"weights (trained here for {max(steps):,} steps)" if steps else ""
    return "; ".join(filter(None, (trained, "questions (asked in other ways than printed)" if otherwise else "")))
