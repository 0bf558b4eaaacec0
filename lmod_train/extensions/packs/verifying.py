"""Verification of packs: every score is computed again from the replies of a pack and a local curated folder."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LmodError, PackDamaged
from lmod_train.core.escaping import without_folders
from lmod_train.core.types import Record, Reply, Score
from lmod_train.extensions.packs.pack import Pack, Packed, length, most_bytes, read_pack
from lmod_train.extensions.packs.packing import alike, packed_answer, unpacked
from lmod_train.extensions.packs.withheld import Keys, identity, published
from lmod_train.scoring.ways import FACTORS, PLAIN, asked_id
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import tasks_asked
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
from lmod_train.tasks.settings import plain
from lmod_train.tasks.trust import Trust

NAMED = 3
"""Maximum number of differing scores or records that a reason names."""

WAYS = 1000
"""Maximum number of ways in which each question may be asked, on average."""

MOST_REASON = 600
"""Maximum number of characters of a reason."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A local curated folder that packs are compared with.

    Attributes:
        identity: Part of its manifest -> SHA-256.
        protocol: Its protocol.
        keys: Hashes of its records.
        by_id: Id in a pack -> record.
        counts: Task and split -> number of records.
        settings: Task -> its settings when it was curated; empty if the manifest has none.
    """

    identity: Mapping[str, str]
    protocol: str
    keys: Keys
    by_id: Mapping[str, Record]
    counts: Mapping[tuple[str, str], int]
    settings: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Verified:
    """A pack of which every score holds.

    Attributes:
        file: Name of the file.
        pack: The pack.
        scores: All scores computed again, those too that the pack leaves out.
        whole: Task -> number of records of the splits that the pack answers, in the curated folder.
        answered: Task -> number of different questions in the pack.
        remarks: Task -> what readers of its scores must know.
    """

    file: str
    pack: Pack
    scores: tuple[Score, ...]
    whole: Mapping[str, int]
    answered: Mapping[str, int]
    remarks: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Refused:
    """A pack that does not hold, with the reasons."""

    file: str
    reasons: tuple[str, ...]


def read_folder(curated: Path) -> Folder:
    """Return a curated folder for verification.

    Raises:
        ArtifactError: It is not curated, or damaged.
    """
    manifest, records = read_manifest(curated), read_records(curated / "records")
    keys = Keys(records, manifest)
    by_id = {keys.id_of(r): r for r in records}
    counts: Counter[tuple[str, str]] = Counter((r.task, r.split) for r in records)
    asked = ((manifest.get("settings") or {}).get("tasks") or {}).items()
    settings = {str(name).partition("/")[0]: dict(known.get("settings") or {}) for name, known in asked}
    return Folder(identity(manifest), str(manifest.get("protocol") or ""), keys, by_id, counts, settings)


def verified(file: Path, folder: Folder, trust: Sequence[str] = ()) -> Verified | Refused:
    """Return the pack with the scores computed again, or why it is refused; never raises for what a pack contains.

    Args:
        file: The pack.
        folder: The local curated folder.
        trust: Modules outside this package with task classes that a pack names, which may be imported.
    """
    try:
        pack = read_pack(file, WAYS * len(folder.by_id))
        if reasons := [*_other_data(pack, folder), *_other_classes(pack, folder), *_too_long(pack, file)]:
            return Refused(file.name, tuple(map(_short, reasons)))
        tasks = _tasks(pack, folder, trust)
        if reasons := list(_other_tasks(pack, tasks)):
            return Refused(file.name, tuple(map(_short, reasons)))
        return _recomputed(file, pack, folder, tasks)
    except PackDamaged as error:
        return Refused(file.name, (_short(error.problem),))
    except LmodError as error:  # a class that is not trusted, or not installed
        return Refused(file.name, (_short(without_folders(" ".join(str(error).split()))),))


def _short(reason: str) -> str:
    return reason if len(reason) <= MOST_REASON else f"{reason[:MOST_REASON]} ..."


def _other_classes(pack: Pack, folder: Folder) -> Iterator[str]:
    """Yield which tasks name another class than the one that asked the questions in the curated folder."""
    asked = {r.task: r.task_class for r in folder.by_id.values()}
    for task in pack.tasks:
        if task.name in asked and task.path != asked[task.name]:
            yield f"{task.name} is scored by another class, {task.path}, and was asked by {asked[task.name]}"


def _too_long(pack: Pack, file: Path) -> Iterator[str]:
    """Yield that the replies with their quotes are longer than a file of this size can hold."""
    found, most = sum(length(p.reply) for p in pack.predictions), most_bytes(file.stat().st_size)
    if found > most:
        yield f"replies with quotes of {found} characters, expected at most {most} in a file of this size"


def _other_data(pack: Pack, folder: Folder) -> Iterator[str]:
    """Yield why a pack is not of the records of the folder."""
    if not pack.predictions:
        yield "holds no predictions"
    names = sorted({*pack.manifest, *folder.identity})
    other = [name for name in names if pack.manifest.get(name) != folder.identity.get(name)]
    if other:
        protocols = f" (protocol {pack.protocol!r}, here {folder.protocol!r})" if "protocol" in other else ""
        yield f"another manifest: {', '.join(other)} differ{protocols}"
    unknown = [p.id for p in pack.predictions if p.id not in folder.by_id]
    if unknown:
        yield f"{len(unknown)} records are not in the curated folder, e.g. {unknown[0]}"
    known = [p for p in pack.predictions if p.id in folder.by_id]
    changed = [p.id for p in known if _is_other(p, folder)]
    if changed:
        yield f"{len(changed)} records ask something else than in the curated folder, e.g. {changed[0]}"
    twice = [id for id, n in Counter(asked_id(p.id, p.way) for p in pack.predictions).items() if n > 1]
    if twice:
        yield f"{len(twice)} records are answered more than once, e.g. {twice[0]}"


def _is_other(packed: Packed, folder: Folder) -> bool:
    record = folder.by_id[packed.id]
    images = record.image_sha256 if folder.keys.is_open(record) else ()
    strange = set(packed.way) - set(FACTORS) or set(packed.way) & set(record.tags)
    strange = strange or {value for value in packed.way.values() if not re.fullmatch("[A-Za-z0-9-]{1,64}", value)}
    hashed = folder.keys.question_of(record)
    return (packed.task, packed.question, packed.images) != (record.task, hashed, images) or bool(strange)


def _tasks(pack: Pack, folder: Folder, trust: Sequence[str]) -> list[Task]:
    """Build the tasks of a pack, of this package or trusted; none is imported otherwise."""
    try:
        configured = [(t.path, dict(json.loads(t.arguments))) for t in pack.tasks]
        for path, _ in configured:
            Trust(tuple(trust)).check(path)
        return tasks_asked([folder.by_id[p.id] for p in pack.predictions], configured, Trust(tuple(trust)))
    except LmodError:
        raise
    except Exception as error:  # a constructor may raise anything on arguments that it does not expect
        problem = f"its arguments do not fit the tasks ({type(error).__name__}: {error})"
        raise PackDamaged(Path("pack"), problem) from error


def _other_tasks(pack: Pack, tasks: Sequence[Task]) -> Iterator[str]:
    stated = {t.name: t for t in pack.tasks}
    if set(stated) != {t.name for t in tasks} or len(stated) < len(pack.tasks):
        named, found = (", ".join(sorted(names)) or "none" for names in (stated, {t.name for t in tasks}))
        yield f"states scores of the tasks {named}, and has replies of {found}"
    for task in tasks:
        if task.name in stated and stated[task.name].version != task.version:
            version = stated[task.name].version
            yield f"{task.name} was scored by version {version} of its task, installed is version {task.version}"


def _recomputed(file: Path, pack: Pack, folder: Folder, tasks: Sequence[Task]) -> Verified | Refused:
    """Parse and score the replies of a pack, and compare."""
    try:
        pairs = [unpacked(p, folder.by_id[p.id]) for p in pack.predictions]
        records, replies = [r for r, _ in pairs], {reply.id: reply for _, reply in pairs}
        predictions = [p for task in tasks for p in parse_replies(task, records, replies)]
        scores = scores_of(tasks, predictions)
    except Exception as error:  # numbers of a pack may be anything
        return Refused(file.name, (_short(f"its replies do not fit the records or cannot be scored ({error})"),))
    answers = {record.id: p.answer for p, record in zip(pack.predictions, records, strict=True)}
    read = [p.record.id for p in predictions if packed_answer(p.answer, p.record.choices) != answers[p.record.id]]
    closed = [r for r in records if not folder.keys.is_open(r)]
    reasons = [f"{len(read)} replies are read as another answer than stated, i.e. were changed"] if read else []
    reasons += _other_scores(pack.scores, published(scores, closed))
    if reasons:
        return Refused(file.name, tuple(map(_short, reasons)))
    whole: Counter[str] = Counter()
    for place in {(r.task, r.split) for r in records}:
        whole[place[0]] += folder.counts[place]
    answered = Counter(task for task, _ in {(p.task, p.id) for p in pack.predictions})
    remarks = {t.name: tuple(_remarks(t, pack, folder, whole[t.name] - answered[t.name])) for t in tasks}
    return Verified(file.name, pack, tuple(scores), whole, answered, remarks)


def _remarks(task: Task, pack: Pack, folder: Folder, unanswered: int) -> Iterator[str]:
    """Yield what readers of a task's scores must know."""
    own = [p for p in pack.predictions if p.task == task.name]
    if unanswered:
        yield f"{unanswered} records of its splits have no reply"
    if moved := [p for p in own if is_other_way(p)]:
        ways = sorted({f"{f} {v}" for p in moved for f, v in p.way.items() if v != PLAIN[f]})
        yield f"{len(moved)} of {len(own)} requests were asked otherwise than curated: {', '.join(ways)}"
    if any(Reply("", "", settings=settings).constrained for settings in pack.settings):
        yield "replies to questions with choices could only be one of them"
    if len(set(Counter(p.id for p in own).values())) > 1:
        yield "not all questions are asked equally often"
    known, now = folder.settings.get(task.name, {}), plain(task.settings(), task.name)
    given = signature(type(task)).parameters  # what follows from these may differ in order, as packs sort their keys
    chosen = given if all(name in now for name in given) else now
    if other := sorted(name for name in known if name in chosen and known[name] != now[name]):
        yield f"scored with other settings than curated: {', '.join(other)}"
    if len(pack.settings) > 1:
        yield f"replies of {len(pack.settings)} settings"
    if len({p.step for p in own}) > 1:
        yield "replies of several checkpoint steps"


def is_other_way(packed: Packed) -> bool:
    """Return whether a question was asked in other words, order or system words, with examples, or once more."""
    return any(value != PLAIN[factor] for factor, value in packed.way.items())


def _other_scores(stated: Sequence[Score], computed: Sequence[Score]) -> list[str]:
    """Return why the stated scores are not the computed ones; empty if all are equal."""
    own, now = ({(s.task, s.subset, s.metric): s for s in several} for several in (stated, computed))
    twice = [f"{len(stated) - len(own)} scores are stated more than once"] if len(own) < len(stated) else []
    other = [(key, own[key].value, s.value) for key, s in now.items() if key in own and not alike(own[key], s)]
    lines = [f"{', '.join(key)}: {_shown(was)} stated, {_shown(found)} found" for key, was, found in other[:NAMED]]
    missing, more = sorted(set(now) - set(own)), sorted(set(own) - set(now))
    changed = [f"{len(other)} scores differ ({'; '.join(lines)})"] if other else []
    changed += [f"{len(missing)} scores are missing, e.g. {', '.join(missing[0])}"] if missing else []
    return [*twice, *changed, *([f"{len(more)} scores have no replies, e.g. {', '.join(more[0])}"] if more else [])]


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
