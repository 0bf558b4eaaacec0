"""Which questions runs were asked differently: their replies are not compared, unless that is the comparison.

Compared is what was asked, record by record: words, images, choices, examples before the question and system words,
with placeholders unfilled. Template, resolution and decoding belong to a model: they count between runs of the same
weights.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from lmod_train.core.types import Record
from lmod_train.report.origin import NOT_RECORDED, origin_of
from lmod_train.report.results import Outcomes, Results
from lmod_train.scoring.ways import compared_ids

WORDS, IMAGES, CHOICES, SHOTS, SYSTEM, SETTINGS = "wording", "images", "choices", "shots", "system", "settings"
KINDS = (WORDS, IMAGES, CHOICES, SHOTS, SYSTEM, SETTINGS)
"""What can differ between the questions of two runs; `Results.compare` names those that are the comparison."""

Asked = Mapping[str, Hashable]
"""Kind -> what a question has of it."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What a run was asked otherwise than the runs before it in the report.

    Attributes:
        task: Name of the task.
        run: Label of the run.
        first: Label of the run before it that differs in most questions.
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
    }


@lru_cache(maxsize=1)  # several sections compare the same runs
def questions(results: Results) -> Mapping[str, Mapping[str, Mapping[str, Asked]]]:
    """Return task -> label of a run -> id that pairs a question with those of other runs -> what was asked."""
    found: dict[str, dict[str, dict[str, Asked]]] = {}
    kept: dict[Hashable, Asked] = {}  # one object for all that were asked the same, which are compared by identity
    for name, outcomes in results.outcomes.items():
        ids = {t: compared_ids((i.id, i.tags) for i in items) for t, items in outcomes.items.items()}
        for p in outcomes.predictions:
            if id := ids.get(p.record.task, {}).get(p.record.id):
                own = asked_of(p.record) | {SETTINGS: _settings(p.reply.settings)}
                same = kept.setdefault(tuple(own.values()), own)
                found.setdefault(p.record.task, {}).setdefault(name, {})[id] = same
    return found


@lru_cache(maxsize=1)  # warnings and remarks name them
def otherwise(results: Results) -> list[Otherwise]:
    """Return which runs of a task were asked otherwise than one before them, in what, and how many questions."""
    return [one for task, runs in questions(results).items() for one in _of_task(results, task, runs)]


def remarks_on(results: Results) -> Iterator[str]:
    """Yield a sentence for each run and task that was asked otherwise than a run before it."""
    for one in otherwise(results):
        cure = f"these are not compared (`--compare {','.join(one.kinds)}` if that is the comparison)"
        yield f"{one.task}: {one.run} was asked otherwise than {one.first} ({one.text}): {cure}"


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


def _of_task(results: Results, task: str, runs: Mapping[str, Mapping[str, Asked]]) -> Iterator[Otherwise]:
    names = list(runs)
    for place, name in enumerate(names):
        found = []
        for first in names[:place]:
            common = runs[first].keys() & runs[name].keys()
            kinds = [differing(results, (first, runs[first][id]), (name, runs[name][id])) for id in common]
            counts = Counter(kind for own in kinds for kind in own)
            found.append(Otherwise(task, name, first, sum(map(bool, kinds)), len(common), dict(counts)))
        if found and (most := max(found, key=lambda one: one.n)).n:
            yield most


def differing(results: Results, one: tuple[str, Asked], other: tuple[str, Asked]) -> list[str]:
    """Return in which kinds two questions of two runs differ, each with its label, without those that are compared."""
    if one[1] is other[1]:
        return []
    weights = weights_of(results)
    kinds = set(KINDS) - set(results.compare)
    if weights[one[0]] is None or weights[one[0]] != weights[other[0]]:
        kinds.discard(SETTINGS)
    return [kind for kind in KINDS if kind in kinds and one[1].get(kind) != other[1].get(kind)]


@lru_cache(maxsize=1)
def weights_of(results: Results) -> Mapping[str, str | None]:
    """Return label -> the weights of a run and their training; None if they are not recorded."""
    return {name: _weights(outcomes) for name, outcomes in results.outcomes.items()}


def _weights(outcomes: Outcomes) -> str | None:
    origin = origin_of(outcomes)
    return None if origin.weights == NOT_RECORDED else f"{origin.weights} {origin.trained}"


def _settings(stored: str) -> str:
    """Return the settings of a reply without its seed, of which two runs are two draws of one model."""
    try:
        found = json.loads(stored or "{}")
    except (ValueError, RecursionError):
        return stored
    kept = {key: value for key, value in found.items() if key != "seed"} if isinstance(found, dict) else found
    return json.dumps(kept, sort_keys=True)
