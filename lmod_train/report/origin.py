"""Where the rows of a report come from: weights, code, split, what the images are, what the curation found to leak."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from lmod_train.artifacts.manifest import read_manifest
from lmod_train.errors import ArtifactError
from lmod_train.report.headline import grid
from lmod_train.report.runs import Outcomes
from lmod_train.types import Prediction
from lmod_train.vocabulary.phantoms import DRAWN

SAID = """Weights are the files that the command started from, by the first twelve digits of their SHA-256; steps are
the optimiser's, at which the replies were given. Leaks are pairs of images that lie in different splits and are of one
patient, one file or, by content, one photograph, as the curation counted them."""
DIGITS = 12
_NOT_TOLD = "not told"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of one run come from; texts are ``not told`` where the run's files do not tell.

    Attributes:
        weights: Name and SHA-256 of each file, ``random`` where the configuration says so.
        trained: Epochs of a `fit`, and optimiser steps behind the replies.
        version: Of the package, and the revision where there is one.
        splits: Split -> records.
        sources: Source -> records.
        phantoms: Records whose image was drawn.
        leaks: Kind -> pairs that cross splits; None where no curated folder tells.
    """

    weights: str
    trained: str
    version: str
    splits: Mapping[str, int]
    sources: Mapping[str, int]
    phantoms: int
    leaks: Mapping[str, int] | None

    @property
    def images(self) -> str:
        """What was looked at, phantoms called so."""
        n = sum(self.sources.values())
        named = ", ".join(self.sources)
        if not self.phantoms:
            return named
        return f"{named}: phantoms ({DRAWN})" if self.phantoms == n else f"{named}: {self.phantoms} of {n} are phantoms"


def origin_of(outcomes: Outcomes) -> Origin:
    """Return where the predictions of a run come from, as its configuration and its records say."""
    records = [p.record for p in outcomes.predictions]
    said = outcomes.config.get("provenance") or {}
    version = " ".join(filter(None, (str(said.get("lmod_train") or ""), (said.get("git") or "")[:DIGITS])))
    return Origin(
        _weights(outcomes.config, said.get("weights") or {}),
        _trained(outcomes.config, outcomes.predictions),
        version or _NOT_TOLD,
        dict(sorted(Counter(r.split for r in records).items())),
        dict(sorted(Counter(r.source for r in records).items())),
        sum(r.phantom for r in records),
        _leaks(outcomes),
    )


def _weights(config: Mapping[str, Any], known: Mapping[str, str]) -> str:
    model = (config.get("model") or {}).get("init_args") or {}
    drawn = ["random"] if model.get("weights") == "random" else []
    return ", ".join([*drawn, *(f"{name} {sha256[:DIGITS]}" for name, sha256 in known.items())]) or _NOT_TOLD


def _trained(config: Mapping[str, Any], predictions: Sequence[Prediction]) -> str:
    steps = sorted({p.reply.step for p in predictions})
    epochs = (config.get("provenance") or {}).get("epochs")
    said = [f"{epochs} {'epoch' if epochs == 1 else 'epochs'}"] if epochs is not None else []
    return ", ".join([*said, *(f"{step:,} steps" for step in steps if step)]) or "no step"


def _leaks(outcomes: Outcomes) -> dict[str, int] | None:
    try:
        counts = read_manifest(outcomes.curated)["leakage"]["counts"] if outcomes.curated else None
    except (ArtifactError, KeyError, TypeError):
        return None
    return None if counts is None else {kind: c.get("crossing_splits", 0) for kind, c in counts.items()}


def origin_table(origins: Mapping[str, Origin]) -> str:
    """Return one row a run, as a table that reads well in a terminal and is Markdown too."""
    lines = [
        [name, o.weights, o.trained, _counted(o.splits), o.images, _leaking(o.leaks), o.version]
        for name, o in origins.items()
    ]
    return grid(["model", "weights", "trained", "records of", "images", "leaks", "lmod_train"], lines)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items())


def _leaking(leaks: Mapping[str, int] | None) -> str:
    return _NOT_TOLD if leaks is None else _counted(leaks)


def remarks(runs: Mapping[str, Outcomes]) -> list[str]:
    """Return what must be said where the numbers stand: phantoms, and runs that do not answer the same records."""
    return [*_phantoms(runs), *_other_records(runs)]


def phantom_tasks(runs: Mapping[str, Outcomes]) -> set[str]:
    """Return the tasks that any run has asked of a phantom: a published figure is not to be read beside them."""
    return {p.record.task for outcomes in runs.values() for p in outcomes.predictions if p.record.phantom}


def _phantoms(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    asked: Counter[tuple[str, bool]] = Counter()
    for outcomes in runs.values():
        asked.update((p.record.task, p.record.phantom) for p in outcomes.predictions)
    drawn = sorted(task for task, phantom in asked if phantom)
    if drawn:
        mixed = [task for task in drawn if asked[task, False]]
        beside = f" (and of photographs: {', '.join(mixed)})" if mixed else ""
        yield f"phantoms, {DRAWN}: the scores of {', '.join(drawn)}{beside} say nothing about eyes"


def _other_records(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    """Say of each task which runs do not answer the same records."""
    for task in dict.fromkeys(p.record.task for o in runs.values() for p in o.predictions):
        asked = {name: own for name, o in runs.items() if (own := _asked(o, task))}
        kinds = {frozenset(own) for own in asked.values()}
        if len(kinds) > 1:
            most = max(len(a & b) for a, b in combinations(kinds, 2))
            each = "; ".join(f"{name} {_counted(Counter(own.values()))}" for name, own in asked.items())
            yield f"{task}: the runs do not answer the same records ({each}; at most {most} in common)"


def _asked(outcomes: Outcomes, task: str) -> dict[str, str]:
    """Return record id -> split of what a run answers of a task."""
    return {p.record.id: p.record.split for p in outcomes.predictions if p.record.task == task}
