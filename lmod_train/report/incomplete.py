"""What is missing from the runs of a report, and what is shown without it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import number_of_records
from lmod_train.core.artifacts.run import NOT_ASKED, Run
from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError
from lmod_train.core.types import Record
from lmod_train.report.contents import texts
from lmod_train.report.results import Outcomes, Results, named_folder
from lmod_train.report.seed_spread import by_series
from lmod_train.report.thumbnails import licences
from lmod_train.scoring.completeness import Account

_TEXTS = texts(__file__)


def incomplete(results: Results) -> Iterator[str]:
    """Yield a remark for each thing that is missing: runs and tasks, replies, configurations, images, licences.

    Runs with the same replies are named too, as one may be a copy of the other, and those whose records have the
    same ids and other truths, as these cannot be compared.
    """
    yield from results.left_out
    for (name, outcomes), run in zip(results.outcomes.items(), results.runs, strict=True):
        yield from _replies(name, run.path, outcomes)
        yield from _config(name, run.path)
        yield from _not_asked(name, outcomes.config)
        yield from _images(name, results.images[name], outcomes)
        yield from _other_member(name, run.path, outcomes.config)
    for folder, runs in by_series(results).items():
        yield from _other_records(folder, {name: results.outcomes[name] for name, _ in runs})
    yield from _alike(results.outcomes)
    yield from _other_truths(results.outcomes)
    yield from _other_patients(results.outcomes)


def _replies(name: str, run: Path, outcomes: Outcomes) -> Iterator[str]:
    predictions, failed = len(outcomes.predictions) + outcomes.left_out, len(outcomes.failed)
    account = Account(predictions - failed, failed, max(0, number_of_records(Run(run).records) - predictions))
    if not account.complete:
        rest = "the same command asks the rest"
        yield f"{name} is incomplete: {account}; scores are over these replies ({rest})"


def _config(name: str, run: Path) -> Iterator[str]:
    if not Run(run).config.exists():
        yield f"{name}: there is no config.yaml: its weights, settings and curated folder are not known"


def _not_asked(name: str, config: Mapping[str, Any]) -> Iterator[str]:
    tasks = (config.get("provenance") or {}).get(NOT_ASKED) or ()
    if tasks:
        listed = ", ".join(map(str, tasks))
        yield f"{name}: tasks of its config were not asked, as its folder or split has no records of them: {listed}"


def _images(name: str, curated: Path | None, outcomes: Outcomes) -> Iterator[str]:
    """Yield what the curated folder lacks."""
    records = [p.record for p in outcomes.predictions]
    shown = {image for record in records for image in record.image}
    cure = "name the folder with `--curated CURATED`"
    if curated is None and shown and named_folder(outcomes.config):
        yield f"{name}: the folder that its config names does not list its images: none is shown ({cure})"
    if curated is None or not shown:
        return
    if not curated.is_dir():
        yield f"{name}: its curated folder is gone: images, licences and leaks are not shown ({cure})"
        return
    images = Curated(curated)
    gone = sum(not images.file(image).is_file() for image in shown)
    if gone:
        yield f"{name}: {gone} of {len(shown)} images are not in the curated folder ({cure})"
    try:
        stated = read_manifest(curated).get("sources") or {}
    except ArtifactError:
        yield f"{name}: manifest.json cannot be read: licences and leaks are not known; no image may be redistributed"
        return
    unknown = sorted(note.source for note in licences(curated, records) if note.source not in {*stated, "foreign"})
    if unknown:
        listed = ", ".join(unknown)
        yield f"{name}: the manifest does not describe {listed}: whether the images may be redistributed is not known"


_MEMBER = re.compile(r"(seed_)\d+|(fold_)\d+of\d+")


def _other_member(name: str, run: Path, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a remark for each seed or fold whose replies are by the checkpoint of another one."""
    own, weights = (_members(path) for path in (run, Path(str(config.get("weights") or ""))))
    for kind in sorted(own.keys() & weights.keys()):
        if own[kind] != weights[kind]:
            yield _TEXTS["other_member"].format(name=name, weights=weights[kind], own=own[kind])


def _members(path: Path) -> dict[str, str]:
    """Return ``seed_`` or ``fold_`` -> the last part of a path that is a seed or a fold."""
    found = [match for part in path.parts if (match := _MEMBER.fullmatch(part))]
    return {match[1] or match[2]: match[0] for match in found}


def _other_records(folder: Path, seeds: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield a remark for each seed of a series that was asked other records than the first, as after a new curation."""
    asked = {
        name: {p.record.id: _asked_of(p.record) for p in found.predictions if p.status != "failed"}
        for name, found in seeds.items()
    }
    (first, ours), *others = asked.items()
    for name, theirs in others:
        counts = {
            "are missing or have no reply": len(ours.keys() - theirs.keys()),
            "are added": len(theirs.keys() - ours.keys()),
            "have other images, words or truths": sum(ours[id] != theirs[id] for id in ours.keys() & theirs.keys()),
        }
        if any(counts.values()):
            listed = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
            yield _TEXTS["other_records"].format(folder=folder.name, name=name, first=first, listed=listed)


def _asked_of(record: Record) -> tuple[object, ...]:
    return record.image_sha256, record.messages, record.choices, record.answer


def _alike(outcomes: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield the groups of runs whose replies are all the same, such as the seeds of a model that depends on none."""
    groups: dict[frozenset[tuple[str, str]], list[str]] = defaultdict(list)
    for name, found in outcomes.items():
        groups[frozenset((p.record.id, p.reply.reply) for p in found.predictions)].append(name)
    for replies, names in groups.items():
        if replies and len(names) > 1:
            what = "one may be a copy of the other" if len(names) == 2 else "they may be copies, or depend on no seed"
            yield f"{', '.join(names[:-1])} and {names[-1]} have the same {len(replies)} replies: {what}"


def _other_truths(outcomes: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield the runs with records whose truth is another one in the first run that has them, and their tasks."""
    for name, other, with_ in _differing(outcomes, lambda record: record.answer):
        tasks = ", ".join(dict.fromkeys(r.task for r in other))
        yield _TEXTS["other_truths"].format(name=name, n=len(other), tasks=tasks, with_=with_)


def _other_patients(outcomes: Mapping[str, Outcomes]) -> Iterator[str]:
    """Yield the runs with records that belong to another patient in the first run that has them."""
    for name, other, with_ in _differing(outcomes, lambda record: record.group):
        yield _TEXTS["other_patients"].format(name=name, n=len(other), with_=with_)


def _differing(
    outcomes: Mapping[str, Outcomes], value_of: Callable[[Record], str]
) -> Iterator[tuple[str, list[Record], str]]:
    """Yield each run with records that have another value in the first run that has them: its name, these, and whose.

    Args:
        outcomes: Label of a run -> its outcomes.
        value_of: Function that returns the compared value of a record.
    """
    first: dict[str, tuple[str, str]] = {}
    for name, found in outcomes.items():
        records = [p.record for p in found.predictions]
        other = [r for r in records if first.setdefault(r.id, (value_of(r), name))[0] != value_of(r)]
        if other:
            yield name, other, ", ".join(dict.fromkeys(first[r.id][1] for r in other))
