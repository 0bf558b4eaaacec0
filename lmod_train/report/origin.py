"""Provenance of the runs in a report: weights, code, split, images, and leaks found in curation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.run import READER
from lmod_train.core.artifacts.series import FOLDS
from lmod_train.core.artifacts.training_set import trained_on
from lmod_train.core.errors import ArtifactError
from lmod_train.core.escaping import for_terminal, without_folders
from lmod_train.core.types import Prediction
from lmod_train.core.vocabulary.phantoms import DRAWN
from lmod_train.report.results import Outcomes, differ_in_choices
from lmod_train.scoring.ways import FACTORS, compared_ids, question_of, values_of

DIGITS = 12
NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class Origin:
    """Provenance of one run; a text is ``not recorded`` if the run's files do not contain it.

    Attributes:
        weights: Name and SHA-256 of each file; ``random`` for random weights.
        trained: Epochs and optimiser steps of training before the replies, and the recipe if it fine-tuned RETFound.
        version: Version of the package, and its git revision if known.
        splits: Split -> number of records.
        sources: Source -> number of records.
        phantoms: Number of records of phantoms.
        leaks: Kind -> number of pairs across splits; None without a readable manifest.
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
        """Sources of the images, with phantoms marked as such."""
        n = sum(self.sources.values())
        named = ", ".join(self.sources)
        if not self.phantoms:
            return named
        return f"{named}: phantoms ({DRAWN})" if self.phantoms == n else f"{named}: {self.phantoms} of {n} are phantoms"


def origin_of(outcomes: Outcomes) -> Origin:
    """Return the provenance of a run from its configuration and its records."""
    records = [p.record for p in outcomes.predictions]
    known = outcomes.config.get("provenance") or {}
    version = " ".join(filter(None, (str(known.get("lmod_train") or ""), (known.get("git") or "")[:DIGITS])))
    return Origin(
        _weights(outcomes.config, known.get("weights") or {}),
        _trained(outcomes.config, outcomes.predictions),
        version or NOT_RECORDED,
        dict(sorted(Counter(r.split for r in records).items())),
        dict(sorted(Counter(r.source for r in records).items())),
        sum(r.phantom for r in records),
        leaks_of(outcomes),
    )


def _weights(config: Mapping[str, Any], known: Mapping[str, str]) -> str:
    if config.get(READER):
        return "a person"
    model = (config.get("model") or {}).get("init_args") or {}
    drawn = ["random"] if model.get("weights") == "random" else []
    return (
        ", ".join(
            [
                *drawn,
                *(
                    f"{without_folders(str(name))} {without_folders(str(digest))[:DIGITS]}"
                    for name, digest in known.items()
                ),
            ]
        )
        or NOT_RECORDED
    )


def _trained(config: Mapping[str, Any], predictions: Sequence[Prediction]) -> str:
    steps = sorted({p.reply.step for p in predictions})
    known = config.get("provenance") or {}
    epochs, recipe = known.get("epochs"), trained_on(config).get("recipe")
    trained = [f"{epochs} {'epoch' if epochs == 1 else 'epochs'}"] if epochs is not None else []
    told = ", ".join([*trained, *(f"{step:,} steps" for step in steps if step)]) or "no step"
    return f"{told} ({for_terminal(str(recipe))})" if recipe else told


def leaks_of(outcomes: Outcomes) -> dict[str, int] | None:
    """Return kind -> number of pairs of images in different splits; None without a readable manifest."""
    try:
        counts = read_manifest(outcomes.curated)["leakage"]["counts"] if outcomes.curated else {}
        found = {str(kind): int(c.get("crossing_splits", 0)) for kind, c in counts.items()}
    except (ArtifactError, AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    return found if outcomes.curated else None


def without_patients(outcomes: Outcomes) -> set[str]:
    """Return the sources of a run of which no patients are stated, as the manifest of the curated folder has it."""
    try:
        stated = read_manifest(outcomes.curated)["sources"] if outcomes.curated else {}
        none = {str(name) for name, notes in stated.items() if notes.get("states_patients") is False}
    except (ArtifactError, AttributeError, KeyError, TypeError):
        return set()
    return none & {p.record.source for p in outcomes.predictions}


def counted(counts: Mapping[str, int]) -> str:
    """Return counts as text, e.g. ``train 20, test 4``."""
    return ", ".join(f"{name} {n}" for name, n in counts.items())


def remarks(runs: Mapping[str, Outcomes]) -> list[str]:
    """Return remarks to print with the scores: on phantoms, ways of asking, other records, folds, and judges."""
    every = (_phantoms, _ways, _constrained, _other_records, _other_choices, _folds, _judges)
    return [text for remarks_on in every for text in remarks_on(runs)]


def _folds(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield what the scores of pooled folds are of."""
    for name, outcomes in runs.items():
        if folds := outcomes.config.get(FOLDS):
            yield (
                f"{name}: {folds} folds, each record answered by the model that was not trained on its patient; one "
                f"interval over all patients. Areas under curves pool the likelihoods of {folds} models"
            )


def _judges(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield remarks on judges that have not judged all replies as they are now, or judge their own."""
    for name, outcomes in runs.items():
        for judge in outcomes.judged:
            if judge.pending and not judge.people:
                missing = (
                    f"{judge.pending} of {len(judge.verdicts)} replies are not judged by {judge.judge} as they are now"
                )
                yield f"{name}: {missing} ({judge.stale} judgements are of an earlier text)"
            if judge.itself:
                yield f"{name}: {judge.judge} judges its own replies; models tend to prefer these"


def not_as_published(runs: Mapping[str, Outcomes]) -> set[str]:
    """Return the tasks whose scores published ones must not be compared with.

    These are tasks with records of phantoms in any run, and tasks that every run asks in other ways than published.
    """
    asked = {(p.record.task, name) for name, outcomes in runs.items() for p in outcomes.predictions}
    otherwise = {
        (p.record.task, name)
        for name, outcomes in runs.items()
        for p in outcomes.predictions
        if p.record.id != question_of(p.record.id, p.record.tags)
    }
    return phantom_tasks(runs) | {task for task, _ in asked} - {task for task, _ in asked - otherwise}


def phantom_tasks(runs: Mapping[str, Outcomes]) -> set[str]:
    """Return the tasks with records of phantoms in any run, which published scores must not be compared with."""
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


def _ways(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield a remark for each run whose questions were not asked once as curated."""
    for name, outcomes in runs.items():
        known = [(p.record.id, p.record.tags) for p in outcomes.predictions]
        values = {factor: values_of(known, factor) for factor in FACTORS}
        stated = [f"{factor} {', '.join(found)}" for factor, found in values.items() if found]
        if re.fullmatch("[A-Za-z0-9 ,-]+", "".join(stated)):  # other tags of these names are of the data
            yield f"{name}: the questions were asked in these ways, and the scores are over all: {'; '.join(stated)}"


def _constrained(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield remarks on runs with replies that could only be one of the choices, and on tasks with free ones too."""
    for name, outcomes in runs.items():
        if outcomes.constrained:
            tasks = ", ".join(sorted(outcomes.constrained))
            yield f"{name}: its replies to {tasks} could only be one of the choices (`--model.constrain choices`)"
    every = {task for outcomes in runs.values() for task in outcomes.constrained}
    mixed = {task for outcomes in runs.values() for task in every - outcomes.constrained if task in outcomes.items}
    if mixed:
        why = "not ranked or compared, unless `--against` names one of their runs"
        yield f"{', '.join(sorted(mixed))}: constrained replies and free ones are {why}"


def _other_records(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield a remark for each task whose runs have different records."""
    for task in dict.fromkeys(p.record.task for o in runs.values() for p in o.predictions):
        asked = {name: own for name, o in runs.items() if (own := _asked(o, task))}
        kinds = {frozenset(own) for own in asked.values()}
        if len(kinds) > 1:
            most = max(len(a & b) for a, b in combinations(kinds, 2))
            each = "; ".join(f"{name} {counted(Counter(own.values()))}" for name, own in asked.items())
            yield f"{task}: the runs answer different records ({each}; at most {most} in common)"


def _other_choices(runs: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield a remark for each task whose runs have different choices, as after curation by two protocols."""
    for task in dict.fromkeys(task for o in runs.values() for task in o.choices):
        own = {name: o.choices[task] for name, o in runs.items() if task in o.choices}
        if differ_in_choices(list(runs.values()), task):
            each = "; ".join(f"{name} {', '.join(words) or 'those of each question'}" for name, words in own.items())
            yield (
                f"{task}: the runs have different choices ({each}): their scores are not comparable, and figures by "
                f"choice are left out (report each of them alone, or ask all from one curated folder)"
            )


def _asked(outcomes: Outcomes, task: str) -> dict[str, str]:
    """Return id -> split of a run's records of a task, by the ids that pair them with those of another run."""
    records = [p.record for p in outcomes.predictions if p.record.task == task]
    ids = compared_ids((r.id, r.tags) for r in records)
    return {ids[r.id]: r.split for r in records}
