"""Makes the pack of a run: one file of its predictions and scores for publication."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lmod_train.core.artifacts.leaving import open_sources, sources_touched
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.artifacts.predictions import read_predictions
from lmod_train.core.artifacts.records import read_records, read_run_records
from lmod_train.core.artifacts.replies import models_of
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.scores import read_scores
from lmod_train.core.errors import ArtifactError, BadArgument, NotScored
from lmod_train.core.escaping import without_folders
from lmod_train.core.types import Answer, Prediction, Record, Reply, Score, Unparsed
from lmod_train.extensions.packs.pack import Pack, Packed, PackedSource, PackedTask, write_pack
from lmod_train.extensions.packs.withheld import Keys, identity, published
from lmod_train.report.results import named_folder
from lmod_train.scoring.ways import FACTORS, asked_id, question_of
from lmod_train.tasks.base import Task
from lmod_train.tasks.building import Configured, build, task_arguments, tasks_asked
from lmod_train.tasks.parsed_replies import parse_replies, scores_of
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
    place = curated or named_folder(config)
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


# Predictions as a pack holds them, and back with the records of a curated folder.
_URL = re.compile(r"""[a-z][a-z0-9+.-]*://[^\s"'<>\\]+""", re.IGNORECASE)

_LOWEST = -sys.float_info.max
"""Stands for minus infinity, which JSON does not have."""


def packed(prediction: Prediction, curated: Record, keys: Keys) -> Packed:
    """Return a prediction as a pack holds it.

    Args:
        prediction: The prediction of a run.
        curated: The record of its question as curated.
        keys: Hashes of the records of the curated folder.
    """
    reply, places = prediction.reply, {choice: str(i) for i, choice in enumerate(curated.choices)}
    return Packed(
        id=keys.id_of(curated),
        task=curated.task,
        question=keys.question_of(curated),
        images=curated.image_sha256 if keys.is_open(curated) else (),
        way=way_of(prediction.record, curated),
        reply=without_quotes(reply.reply, words_of(curated)),
        finish_reason="error" if reply.error else reply.finish_reason,
        step=reply.step,
        likelihoods={places[c]: max(v, _LOWEST) for c, v in reply.likelihoods.items() if c in places and v == v},
        answer=packed_answer(prediction.answer, curated.choices),
    )


def unpacked(pack: Packed, curated: Record) -> tuple[Record, Reply]:
    """Return the record and the reply of a packed prediction.

    Args:
        pack: The prediction.
        curated: Its question in the curated folder.

    Raises:
        ValueError: A quote or the place of a choice is outside the record.
    """
    beyond = [place for place in pack.likelihoods if place not in map(str, range(len(curated.choices)))]
    if beyond:
        raise ValueError(f"a likelihood of choice {beyond[0][:20]!r} of {len(curated.choices)}")
    likelihoods = {curated.choices[int(p)]: v if v > _LOWEST else -math.inf for p, v in pack.likelihoods.items()}
    id = asked_id(curated.id, pack.way)
    text = with_quotes(pack.reply, words_of(curated))
    reply = Reply(id, text, pack.finish_reason, step=pack.step, likelihoods=likelihoods)
    return replace(curated, id=id, tags={**curated.tags, **pack.way}), reply


def way_of(asked: Record, curated: Record) -> dict[str, str]:
    """Return factor -> value of the way in which a question was asked; empty if as curated."""
    return {f: asked.tags[f] for f in FACTORS if f in asked.tags and f not in curated.tags}


def packed_answer(answer: Answer | Unparsed, choices: Sequence[str]) -> str:
    """Return a parsed answer as JSON: places of choices, a number, or why there is none; words are left out.

    Example:
        >>> packed_answer("NORMAL", ["GLAUCOMA", "NORMAL"]), packed_answer({2: "disc"}, ["disc"])
        ('{"choice": 1}', '{"regions": {"2": 0}}')
        >>> packed_answer(Unparsed("empty", "nothing"), []), packed_answer("free words", [])
        ('{"unparsed": "empty"}', '{"text": true}')
    """
    if isinstance(answer, Unparsed):
        return json.dumps({"unparsed": answer.reason})
    if isinstance(answer, Mapping):
        return json.dumps({"regions": {str(k): _place(v, choices) for k, v in sorted(answer.items())}})
    if isinstance(answer, int | float):
        return json.dumps({"number": float(answer)})
    return json.dumps({"choice": _place(answer, choices)} if answer in choices else {"text": True})


def _place(word: str, choices: Sequence[str]) -> int:
    return list(choices).index(word) if word in choices else -1


def public(text: str) -> str:
    """Return a text without folders, and its URLs without user, query and names of machines that are not public.

    Example:
        >>> public("/srv/ada/models/x/a.bin"), public("https://ada:pw@api.example.org/v1?key=1")
        ('a.bin', 'https://api.example.org/v1')
        >>> public("http://node7:8000/v1 m")
        'private endpoint m'
    """
    return "".join(
        part if i % 2 else without_folders(part) for i, part in enumerate(re.split(f"({_SHOWN})", _urls_of(text)))
    )


_SHOWN = r"https?://[\w.-]+\.[a-z]{2,}(?::\d+)?(?:/[\w./-]*)?"
"""A URL as `_url` returns it."""


def _urls_of(text: str) -> str:
    return _URL.sub(lambda found: _url(found[0]), text)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "private endpoint"
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[\w-]+(\.[\w-]+)*\.[a-z]{2,}", host):
        return "private endpoint"
    if host.rpartition(".")[2] in ("local", "internal", "lan", "corp", "home", "localdomain"):
        return "private endpoint"
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{re.sub(r'[^/A-Za-z0-9_.-]', '', parts.path)}"


def model_name(model: str) -> str:
    """Return the name of a model; of an absolute path, the last part."""
    return Path(model).name if Path(model).is_absolute() else public(model)


LEAST = 8
"""Number of words in a row, or Chinese characters, from which equal words are a quote."""

Piece = str | tuple[int, int]
"""Text, or begin and end of a passage of the question's words."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def words_of(record: Record) -> str:
    """Return the text of all messages of a record, which the places of quotes refer to."""
    return "\n".join(part.text for message in record.messages for part in message.parts if part.text)


def without_quotes(reply: str, words: str) -> tuple[Piece, ...]:
    """Return a reply in pieces, its quotes as places in the words of the question.

    A quote is a run of at least `LEAST` words that the question has in the same order, in the same letters; spaces and
    punctuation between them may differ. Time is linear in the length of both.

    Example:
        >>> without_quotes("You ask: a b c d e f g h. Yes.", "Say a b c d e f g h")
        ('You ask: ', (4, 19), '. Yes.')
    """
    own = [found.span() for found in _WORD.finditer(reply)]
    known = [found.span() for found in _WORD.finditer(words)]
    pieces: list[Piece] = []
    done = 0
    for at, place, length in _runs([reply[a:b] for a, b in own], [words[a:b] for a, b in known]):
        for (begin, end), (first, last) in _parts(own[at : at + length], known[place : place + length], reply, words):
            pieces += [reply[done:begin]] if begin > done else []
            pieces.append((first, last))
            done = end
    return (*pieces, *([reply[done:]] if done < len(reply) else []))


def with_quotes(pieces: Sequence[Piece], words: str) -> str:
    """Return the reply that `without_quotes` divided.

    Raises:
        ValueError: A place is outside the words.
    """
    beyond = [p for p in pieces if not isinstance(p, str) and not 0 <= p[0] < p[1] <= len(words)]
    if beyond:
        raise ValueError(f"a quote of characters {beyond[0]} of a question with {len(words)}")
    return "".join(p if isinstance(p, str) else words[p[0] : p[1]] for p in pieces)


def _runs(own: Sequence[str], known: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (place in the reply, place in the question, number of words) of the quotes, from left to right."""
    first: dict[tuple[str, ...], int] = {}
    for place in range(len(known) - LEAST + 1):
        first.setdefault(tuple(known[place : place + LEAST]), place)
    at = 0
    while at <= len(own) - LEAST:
        found = first.get(tuple(own[at : at + LEAST]))
        length = 0 if found is None else _equal(own[at : at + len(known)], known[found:])
        if found is not None:
            yield at, found, length
        at += max(1, length)


def _equal(own: Sequence[str], known: Sequence[str]) -> int:
    """Return the number of equal words that two sequences begin with."""
    return next((i for i, (a, b) in enumerate(zip(own, known, strict=False)) if a != b), min(len(own), len(known)))


_Span = tuple[int, int]


def _parts(own: Sequence[_Span], known: Sequence[_Span], reply: str, words: str) -> Iterator[tuple[_Span, _Span]]:
    """Yield the passages of a quote that are equal in the text between the words too."""
    begin = 0
    for i in range(1, len(own) + 1):
        whole = i < len(own) and reply[own[i - 1][1] : own[i][0]] == words[known[i - 1][1] : known[i][0]]
        if not whole:
            yield (own[begin][0], own[i - 1][1]), (known[begin][0], known[i - 1][1])
            begin = i
