"""Makes the pack of a run: one file of its predictions and scores for publication."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.leaving import open_sources, sources_touched
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.pack import Pack, PackedSource, PackedTask, write_pack
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records, read_run_records
from lmod_train.core.artifacts.replies import models_of
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import ArtifactError, BadArgument, NotScored
from lmod_train.core.types import Prediction, Record, Score
from lmod_train.report.few import published
from lmod_train.report.packing import model_name, packed, public, way_of
from lmod_train.report.withheld import Keys, identity
from lmod_train.scoring.ways import question_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import Configured, build, task_arguments, tasks_asked
from lmod_train.tasks.reading import parse_replies, scores_of
from lmod_train.tasks.trust import Trust

TOLERANCE = 2e-6
"""Maximum difference of equal scores: ``scores.csv`` has six decimals, and sums differ in the last ones."""


def pack(folder: Path, out: Path, curated: Path | None = None, trust: Sequence[str] = ()) -> list[str]:
    """Write the pack of a run; return the lines to print.

    Scores are computed from the replies, and must be those of the run's ``scores.csv``. Scores of judges are left out,
    as their replies are not in the pack.

    Args:
        folder: Folder of the run.
        out: File to write.
        curated: Curated folder that the run was asked from; None uses the one in its ``config.yaml``.
        trust: Modules outside this package with task classes that the run names, which may be imported.

    Raises:
        BadArgument: The curated folder is not known, or the records of the run are not from it.
        ArtifactError: The run has no predictions or scores, or its scores are not those of its replies.
    """
    run = Run(folder)
    config = run.read_config()
    place = curated or _curated(config)
    if place is None:
        cure = "add `--curated CURATED`"
        raise BadArgument("--curated", None, "the curated folder of the run, which its config.yaml does not name", cure)
    manifest, everything = read_manifest(place), read_records(place / "records")
    predictions = _as_curated(list({p.record.id: p for p in read_predictions(run.predictions)}.values()), everything)
    configured, trusted = task_arguments(config), Trust(tuple(trust), folder)
    tasks = tasks_asked([p.record for p, _ in predictions], configured, trusted)
    keys = Keys(everything, manifest)
    _refuse_shots(predictions, keys)
    again = [p for t in tasks for p in _parsed(t, predictions)]
    scores = scores_of(tasks, again)
    _compare(run, scores)
    shown = published(scores, [p.record for p in again if not keys.is_open(p.record)])
    rows = {p.record.id: packed(p, c, keys) for p, (_, c) in _paired(again, predictions)}
    made = Pack(
        run=run.name,
        model=", ".join(map(model_name, models_of(p.reply for p in again))),
        protocol=str(manifest.get("protocol") or ""),
        manifest=identity(manifest),
        records=_asked(run, len(again)),
        settings=tuple(sorted({_settings(p.reply.settings) for p in again})),
        tasks=tuple(_task(t, [p.record for p, _ in predictions], configured, trusted) for t in tasks),
        sources=tuple(_sources(manifest, [c for _, c in predictions])),
        left_out=len(scores) - len(shown),
        scores=tuple(map(_rounded, shown)),
        predictions=tuple(sorted(rows.values(), key=lambda p: (p.id, sorted(p.way.items())))),
        **_provenance(config),
    )
    write_pack(out, made)
    return list(_lines(made, out, again, keys))


def _curated(config: Mapping[str, Any]) -> Path | None:
    data = config.get("data") or {}
    found = (data.get("init_args") or data).get("curated")
    return Path(found) if found else None


def _as_curated(predictions: Sequence[Prediction], everything: Sequence[Record]) -> list[tuple[Prediction, Record]]:
    """Return each prediction with the record of its question in the curated folder.

    Raises:
        BadArgument: A record is not there, or has other words, choices, images, regions or truth.
    """
    known = {r.id: r for r in everything}
    paired = []
    for p in predictions:
        curated = known.get(question_of(p.record.id, p.record.tags)) or known.get(p.record.id)
        if curated is None or _differs(p.record, curated):
            problem = f"the folder that the run was asked from; {p.record.id} is {'other' if curated else 'not'} there"
            raise BadArgument("--curated", "CURATED", problem, "name the folder that it was asked from")
        paired.append((p, curated))
    return paired


def _differs(asked: Record, curated: Record) -> bool:
    def core(r: Record) -> tuple[Any, ...]:
        return r.task, r.choices, r.answer, r.regions, r.split, r.group, r.patient

    way = way_of(asked, curated)
    if core(asked) != core(curated):
        return True
    return not way and (asked.messages, asked.image_sha256) != (curated.messages, curated.image_sha256)


def _refuse_shots(predictions: Sequence[tuple[Prediction, Record]], keys: Keys) -> None:
    """Refuse replies after examples of a withheld source, whose words they may repeat."""
    closed = [p.record.id for p, c in predictions if p.record.tags.get("shots", "0") != "0" and not keys.is_open(c)]
    if closed:
        expected = f"a run without examples of sources that must not be redistributed; {closed[0]} has some"
        raise BadArgument("--pack", f"{len(closed)} records", expected, "pack a run of `--data.asking.shots 0`")


def _paired(
    again: Sequence[Prediction], predictions: Sequence[tuple[Prediction, Record]]
) -> Iterator[tuple[Prediction, tuple[Prediction, Record]]]:
    known = {p.record.id: (p, c) for p, c in predictions}
    return ((p, known[p.record.id]) for p in again)


def _parsed(task: Task, predictions: Sequence[tuple[Prediction, Record]]) -> list[Prediction]:
    records = [replace(c, id=p.record.id, tags={**c.tags, **way_of(p.record, c)}) for p, c in predictions]
    return parse_replies(task, records, {p.record.id: p.reply for p, _ in predictions})


def _compare(run: Run, scores: Sequence[Score]) -> None:
    """Raise ArtifactError if the scores of the run are not those that its replies have now."""
    stored = {(s.task, s.subset, s.metric): s for _, _, s in read_scores(run.scores)}
    for score in scores:
        own = stored.get((score.task, score.subset, score.metric))
        if own is None or not alike(own, score):
            found = f"{score.task}, {score.subset}, {score.metric} is {own.value if own else 'missing'}"
            raise NotScored(run.scores, f"is not what its replies give now ({found}, now {score.value})")


def alike(one: Score, other: Score) -> bool:
    """Return whether two scores are equal, up to rounding."""

    def same(a: float | None, b: float | None) -> bool:
        return a is b if a is None or b is None else abs(a - b) <= TOLERANCE

    pairs = ((one.value, other.value), (one.low, other.low), (one.high, other.high))
    return one.n == other.n and all(same(a, b) for a, b in pairs)


def _rounded(score: Score) -> Score:
    values = [None if v is None else round(float(v), 6) for v in (score.value, score.low, score.high)]
    return replace(score, value=values[0], low=values[1], high=values[2])


def _asked(run: Run, predictions: int) -> int:
    try:
        return max(predictions, len({r.id for r in read_run_records(run.records)}))
    except ArtifactError:
        return predictions


def _settings(text: str) -> str:
    """Return the settings of a reply as sorted JSON, without folders and users; other text is left out."""
    try:
        return json.dumps(_public(json.loads(text or "{}")), sort_keys=True)
    except ValueError:
        return "{}"


def _public(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {public(str(k)): _public(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_public(v) for v in value]
    return public(value) if isinstance(value, str) else value


def _task(task: Task, records: Sequence[Record], configured: Sequence[Configured], trust: Trust) -> PackedTask:
    own = [r for r in records if r.task == task.name]
    path = own[0].task_class
    arguments = next((dict(a) for p, a in configured if p == path and build(p, a, trust).name == task.name), {})
    stated = json.dumps(_public(json.loads(json.dumps(arguments))), sort_keys=True)
    return PackedTask(task.name, path, task.version, tuple(sorted({r.task_version for r in own})), stated)


def _sources(manifest: Mapping[str, Any], records: Sequence[Record]) -> Iterator[PackedSource]:
    known, opened = manifest.get("sources") or {}, open_sources(manifest)
    for name in sorted({name for record in records for name in sources_touched(record)}):
        stated = known.get(name) or (manifest.get("foreign") if name == "foreign" else None) or {}
        yield PackedSource(name, public(str(stated.get("licence") or "not known")), name in opened)


def _provenance(config: Mapping[str, Any]) -> dict[str, Any]:
    known = config.get("provenance") or {}
    weights = {
        f"weights {public(str(name))}": public(str(digest)) for name, digest in (known.get("weights") or {}).items()
    }
    others = {name: str(known[name]) for name in ("git", "epochs", "steps") if known.get(name) is not None}
    asking = (config.get("data") or {}).get("asking")
    stated = {"asking": json.dumps(_public(json.loads(json.dumps(asking))), sort_keys=True)} if asking else {}
    return {"package": str(known.get("lmod_train") or ""), "provenance": {**weights, **others, **stated}}


def _lines(made: Pack, out: Path, predictions: Sequence[Prediction], keys: Keys) -> Iterator[str]:
    closed = [s.name for s in made.sources if not s.open]
    if closed:
        yield f"withheld, as redistribution is not permitted: record ids and image hashes of {', '.join(closed)}"
    free = sum(not p.record.choices and not p.record.regions and not keys.is_open(p.record) for p in predictions)
    if free:
        yield f"read these before you publish them: {free} replies of free text about {', '.join(closed)}"
    if made.left_out:
        yield f"left out: {made.left_out} scores of few items of sources that must not be redistributed"
    yield f"wrote {out}: {len(made.predictions)} of {made.records} predictions, {len(made.scores)} scores"
