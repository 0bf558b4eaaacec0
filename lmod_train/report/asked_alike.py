"""Which questions runs were asked differently: their replies are not compared, unless that is the comparison.

Compared is what was asked, record by record: words, images, choices, examples before the question, system words and the
reference answer, with placeholders unfilled. Template, resolution and decoding belong to a model: they count between
runs of the same weights, or of a service's model of the same name.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from lmod_train.core.artifacts.replies import models_of
from lmod_train.core.artifacts.run import NETWORK
from lmod_train.core.types import Record
from lmod_train.report.origin import NOT_RECORDED, origin_of
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.ways import compared_ids

WORDS, IMAGES, CHOICES, SHOTS, SYSTEM = "wording", "images", "choices", "shots", "system"
TRUTHS, SETTINGS = "truths", "settings"
KINDS = (WORDS, IMAGES, CHOICES, SHOTS, SYSTEM, TRUTHS, SETTINGS)
"""What can differ between the questions of two runs; `Results.compare` names those that are the comparison."""

Asked = Mapping[str, Hashable]
"""Kind -> what a question has of it."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What a run was asked otherwise than the run that was asked as most others were.

    Attributes:
        task: Name of the task.
        run: Label of the run.
        first: Label of that run: the first of those that differ least from all others.
        n: Number of questions that differ.
        of: Number of questions that both have.
        kinds: Kind -> number of questions that differ in it.
    """

    task: str
    run: str
    first: str
    n: int
    of: int
    kinds: Mapping[str, int]

    @property
    def text(self) -> str:
        """What differs, as in ``wording of 216 of 216 questions``."""
        counts = ", ".join(f"{kind} of {n:,}" for kind, n in self.kinds.items())
        return f"{counts} of {self.of:,} questions"


def asked_of(record: Record) -> dict[str, Hashable]:
    """Return what a record asks, by kind; `SETTINGS` are not the record's.

    The last message of the user is the question; what stands before it are examples, or earlier turns.
    """
    users = [place for place, message in enumerate(record.messages) if message.role == "user"]
    last = users[-1] if users else 0
    own = [part for message in record.messages[last:] for part in message.parts]
    shown = sum(part.type == "image" for part in own)
    split = len(record.image) - shown if shown else 0
    content = record.image_sha256 if len(record.image_sha256) == len(record.image) else record.image
    before = tuple(message for message in record.messages[:last] if message.role != "system")
    return {
        WORDS: record.messages[last:],
        IMAGES: tuple(content[split:]),
        CHOICES: record.choices,
        SHOTS: (before, tuple(content[:split])),
        SYSTEM: tuple(message for message in record.messages[:last] if message.role == "system"),
        TRUTHS: record.answer,
    }


@lru_cache(maxsize=1)  # several sections compare the same runs
def questions(results: Results) -> Mapping[str, Mapping[str, Mapping[str, Asked]]]:
    """Return task -> label of a run -> id that pairs a question with those of other runs -> what was asked."""
    found: dict[str, dict[str, dict[str, Asked]]] = {}
    kept: dict[Hashable, Asked] = {}  # one object for all that were asked the same, which are compared by identity
    for name, outcomes in results.outcomes.items():
        ids = {t: compared_ids((i.id, i.tags) for i in items) for t, items in outcomes.items.items()}
        system, options = _options(outcomes.config)
        for p in outcomes.predictions:
            if id := ids.get(p.record.task, {}).get(p.record.id):
                own = asked_of(p.record) | {SETTINGS: (_settings(p.reply.settings), options)}
                own[SYSTEM] = (own[SYSTEM], system)
                same = kept.setdefault(tuple(own.values()), own)
                found.setdefault(p.record.task, {}).setdefault(name, {})[id] = same
    return found


@lru_cache(maxsize=1)  # warnings and remarks name them
def otherwise(results: Results) -> list[Otherwise]:
    """Return which runs of a task were asked otherwise than most, in what, and how many questions."""
    return list(differences(results, set(KINDS) - set(results.compare)))


def remarks_on(results: Results) -> Iterator[str]:
    """Yield a sentence for each run and task that was asked otherwise than most, also where that is compared."""
    for one in otherwise(results):
        cure = f"these are not compared (`--compare {','.join(one.kinds)}` if that is the comparison)"
        yield f"{one.task}: {one.run} was asked otherwise than {one.first} ({one.text}): {cure}"
    for one in differences(results, set(results.compare)):
        yield f"{one.task}: {one.run} was asked otherwise than {one.first} ({one.text}), which is what is compared"


def asked_ids(results: Results, task: str) -> dict[str, dict[str, str]]:
    """Return label -> id of a question -> the id that pairs it with those of other runs that asked the same.

    It is the question's own for the first run that has it, and for all that asked the same.
    """
    variants: dict[str, dict[Hashable, str]] = {}
    made: dict[str, dict[str, str]] = {}
    kinds = [kind for kind in KINDS if kind != SETTINGS and kind not in results.compare]
    for name, own in questions(results).get(task, {}).items():
        for id, asked in own.items():
            known = variants.setdefault(id, {})
            words = tuple(asked[kind] for kind in kinds)
            made.setdefault(name, {})[id] = known.setdefault(words, f"{id}\0{len(known)}" if known else id)
    return defaultdict(dict, made)


def settings_of(results: Results, task: str, name: str) -> tuple[str | None, frozenset[str]]:
    """Return the weights of a run, None if they are not recorded or settings are compared, and its settings."""
    if SETTINGS in results.compare:
        return None, frozenset()
    asked = questions(results).get(task, {}).get(name, {})
    return weights_of(results)[name], frozenset(str(own[SETTINGS]) for own in asked.values())


def differences(results: Results, kinds: Set[str]) -> Iterator[Otherwise]:
    """Yield which runs of a task were asked otherwise than most, in some of `KINDS`."""
    for task, runs in questions(results).items() if kinds else ():
        yield from _of_task(results, task, runs, kinds)


def _of_task(
    results: Results, task: str, runs: Mapping[str, Mapping[str, Asked]], kinds: Set[str]
) -> Iterator[Otherwise]:
    weights = weights_of(results)
    of_two: dict[frozenset[str], tuple[list[list[str]], int]] = {}
    for one, other in combinations(runs, 2):
        alike = weights[one] is not None and weights[one] == weights[other]
        counted = [kind for kind in KINDS if kind in kinds and (alike or kind != SETTINGS)]
        both = [(runs[one][id], runs[other][id]) for id in runs[one].keys() & runs[other].keys()]
        found = [differing(*pair, counted) for pair in both if pair[0] is not pair[1]]
        of_two[frozenset((one, other))] = [kinds for kinds in found if kinds], len(both)
    first = min(runs, key=lambda name: sum(len(found) for pair, (found, _) in of_two.items() if name in pair))
    for name in runs:
        if name != first and (pair := of_two[frozenset((first, name))])[0]:
            counts = Counter(kind for own in pair[0] for kind in own)
            yield Otherwise(task, name, first, len(pair[0]), pair[1], {k: counts[k] for k in KINDS if counts[k]})


def differing(one: Asked, other: Asked, kinds: Sequence[str]) -> list[str]:
    """Return in which kinds two questions differ."""
    return [kind for kind in kinds if one.get(kind) != other.get(kind)]


@lru_cache(maxsize=1)
def weights_of(results: Results) -> Mapping[str, str | None]:
    """Return label -> the weights of a run and their training; None if they are not recorded."""
    return {name: _weights(outcomes) for name, outcomes in results.outcomes.items()}


def _weights(outcomes: Outcomes) -> str | None:
    """Return the weights, or the names of a service's models; None if neither is recorded."""
    origin = origin_of(outcomes)
    if origin.weights != NOT_RECORDED:
        return f"{origin.weights} {origin.trained}"
    return ", ".join(models_of(p.reply for p in outcomes.predictions if p.status != "failed")) or None


def _settings(stored: str) -> str:
    """Return the settings of a reply without its seed, of which two runs are two draws, and without its constraint.

    Constrained replies are ranked apart (`lmod_train.report.paired_runs.Scored`).
    """
    try:
        found = json.loads(stored or "{}")
    except (ValueError, RecursionError):
        return stored
    if isinstance(found, dict):
        found = {key: value for key, value in found.items() if key not in ("seed", "constrain")}
    return json.dumps(found, sort_keys=True)


_OPTIONS = ("template", "thinking", "images")
"""Options of a model that change what it is sent, and are no setting of a reply."""


def _options(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return the user's system words in a configuration, and `_OPTIONS` with resolution and tiles, as text."""
    network = (config.get("provenance") or {}).get(NETWORK) or {}
    found: dict[str, Any] = {name: network[name] for name in ("resolution", "tiles") if network.get(name)}
    within = [config.get("model")]
    while within:
        if isinstance(one := within.pop(), dict):
            found = {key: one[key] for key in ("system_prompt", *_OPTIONS) if one.get(key)} | found
            within += one.values()
    return str(found.pop("system_prompt", "")), json.dumps(found, sort_keys=True, default=str)
