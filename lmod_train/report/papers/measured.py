"""How the scores of a run were obtained, as far as its files and the curated folder record it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.artifacts.manifest import read_manifest
from lmod_train.errors import ArtifactError
from lmod_train.report.papers.protocols import Protocol
from lmod_train.report.papers.verdicts import Measured
from lmod_train.report.results import Outcomes, RunScores
from lmod_train.scoring.items import Item
from lmod_train.scoring.ways import question_of
from lmod_train.types import Score

_KEYS: Mapping[str, Callable[[Item], str]] = {
    "modality": lambda item: item.modality,
    "source": lambda item: item.source,
    "condition": lambda item: item.variant,
}


def find_score(run: RunScores, items: Sequence[Item], protocol: Protocol) -> Score | None:
    """Return the run's score that is defined as the printed one, None if it has none.

    A subset that contains all items of a run is not in its scores: it is ``all``.

    Args:
        run: The run's scores.
        items: Its items of the task.
        protocol: How the printed score was obtained.
    """
    if not items_of_part(items, protocol.asked):
        return None
    score = run.find(protocol.task, protocol.metric, protocol.subset)
    whole = protocol.subset == protocol.asked and len(items_of_part(items, protocol.asked)) == len(items)
    return run.find(protocol.task, protocol.metric) if score is None and whole else score


def items_of_part(items: Sequence[Item], part: str) -> list[Item]:
    """Return the items of a part, ``all`` or ``key=value`` with modality, source or condition as key."""
    key, _, value = part.partition("=")
    return [item for item in items if part == "all" or _KEYS[key](item) == value]


def measured(score: Score, outcomes: Outcomes, curated: Path | None, protocol: Protocol) -> Measured:
    """Return a run's score with the way in which it was obtained.

    Args:
        score: The score.
        outcomes: The run's predictions and items.
        curated: The curated folder of its records, None if it is not known.
        protocol: How the printed score was obtained.
    """
    manifest = _manifest(curated)
    items = items_of_part(outcomes.items[protocol.task], protocol.asked)
    balanced = bool((manifest.get("balance") or {}).get(protocol.task)) if "protocol" in manifest else None
    return Measured(
        score.value,
        score.low,
        score.high,
        len(items),
        _split(outcomes, items),
        balanced,
        str(manifest.get("protocol") or ""),
        _changed(outcomes, protocol.task),
    )


def _manifest(curated: Path | None) -> Mapping[str, Any]:
    """Return the manifest of a curated folder; empty if it cannot be read."""
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
