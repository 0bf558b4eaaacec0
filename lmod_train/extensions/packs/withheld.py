"""What a pack must not give away, and how the owner of the data finds it again.

Readers of a pack are of two kinds. Whoever has the curated folder recomputes everything. Whoever has not must not learn
words, truths, patients or record keys of a source whose licence does not permit redistribution; a source that the
manifest does not describe, or not as redistributable, is such a source.

- Record keys hold names of class folders and of files, which can be guessed. The id of a withheld record is a hash with
  a key over the SHA-256 of all images of its sources in the curated folder (of questions without an image, their words;
  see `Keys`): nobody without the data can try out guesses. The same key is used for the hash of the question.
- No hash covers a truth. A truth among two choices would be found by two trials by whoever has the images. Other truths
  in a curated folder are found by the scores, which they change.
- Words of a question in a reply are places in the question.
- Scores of few items give away truths, so that such scores are left out.

What remains: a reply is an answer, so that replies of a good model are nearly the truth, and those of a perfect score
are the truth, for whoever can tell which image they are about; this takes the images. A tuned model may repeat its
training text in replies to questions with free answers. Images of which all are public are no secret.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmod_train.core.artifacts.leaving import open_sources, source_of, sources_touched
from lmod_train.core.types import Record, Score
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import SUBSETS
from lmod_train.scoring.ways import question_of

HIDDEN = "withheld/"
"""Begin of the id of a record that must not be redistributed."""

MACHINE = ("command", "versions")
"""Parts of a manifest that depend on the machine."""


def identity(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return part -> SHA-256 of a manifest, without what depends on the machine: command, versions and folders.

    The same raw data, settings and package give the same identity on every machine.
    """
    sources = {name: _without_root(known) for name, known in (manifest.get("sources") or {}).items()}
    plain = {name: part for name, part in manifest.items() if name not in MACHINE} | {"sources": sources}
    if "foreign" in manifest:
        plain["foreign"] = _without_root(manifest["foreign"])
    return {name: hashlib.sha256(_canonical(part)).hexdigest() for name, part in sorted(plain.items())}


def _without_root(known: Any) -> Any:
    return {k: v for k, v in known.items() if k != "root"} if isinstance(known, Mapping) else known


class Keys:
    """Hashes of records with a key that only owners of the images can compute.

    Args:
        records: All records of a curated folder, of every split and task.
        manifest: Its manifest.
    """

    def __init__(self, records: Iterable[Record], manifest: Mapping[str, Any]) -> None:
        found: dict[str, set[str]] = defaultdict(set)
        for record in records:
            for image, digest in zip(record.image, record.image_sha256, strict=False):
                found[source_of(image, record.source)].add(digest)
            if not record.image_sha256:
                found[record.source].add(hashlib.sha256(_canonical(_words(record))).hexdigest())
        self._images = {name: hashlib.sha256(_canonical([name, sorted(own)])).digest() for name, own in found.items()}
        self._open = open_sources(manifest)

    def is_open(self, record: Record) -> bool:
        """Return whether every source that a record touches may be redistributed."""
        return self._open >= sources_touched(record)

    def id_of(self, record: Record) -> str:
        """Return the id of a curated record in a pack: its own, or ``withheld/`` and a hash of 64 digits."""
        if self.is_open(record):
            return record.id
        return HIDDEN + self._hash(record, ["id", record.id, list(record.image_sha256)])

    def question_of(self, record: Record) -> str:
        """Return the hash of what a curated record asks; its truth and its patient are not in it."""
        boxes = [[r.id, r.box.x0, r.box.y0, r.box.x1, r.box.y1] for r in record.regions]
        asked = [_words(record), list(record.choices), list(record.image_sha256), boxes, list(record.needs)]
        where = [record.task, record.task_class, record.task_version, record.split, record.language, record.variant]
        return self._hash(record, ["question", *where, *asked])

    def _hash(self, record: Record, value: Any) -> str:
        key = hashlib.sha256(b"".join(self._images.get(name, b"") for name in sorted(sources_touched(record)))).digest()
        return hmac.new(key, _canonical(value), hashlib.sha256).hexdigest()


def _words(record: Record) -> list[Any]:
    return [[m.role, [[part.type, part.text] for part in m.parts]] for m in record.messages]


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


# Scores that give away single truths, which a pack leaves out.
LEAST = 10
"""Number of questions below which a score is not published for a source that must not be redistributed."""

OF_A_CLASS = ("sensitivity", "specificity")
"""Metrics over the items of one class."""


def published(scores: Sequence[Score], withheld: Iterable[Record]) -> list[Score]:
    """Return the scores without those of few questions, of tasks with records that must not be redistributed.

    A score of one item is its truth if the reply is known. If one value of a subset's key has few items, or all of one
    class, all values of this key are left out, as one of them would follow from the others and the total. Truths of
    other records of the task may be known to everybody, so that a total gives away the sum over the withheld records:
    these alone are counted, each question once, and all scores of a task go if it has few of them, or all of one class.
    This is no guarantee: what remains are sums over published replies.

    Args:
        scores: Of a run.
        withheld: Its records that must not be redistributed.
    """
    closed, sizes = defaultdict[str, list[Record]](list), dict[tuple[str, str], int]()
    for record in withheld:
        closed[record.task].append(record)
    for s in scores:
        sizes[s.task, s.subset] = max(s.n, sizes.get((s.task, s.subset), 0))
    mixed = {task for task, own in closed.items() if len(own) < sizes.get((task, "all"), 0)}
    gone = {
        task for task, own in closed.items() if _questions(own) < LEAST or (task in mixed and _is_of_one_class(own))
    }
    alike = {(s.task, s.subset) for s in scores if s.metric == "majority" and s.value == 1}
    given = {place for place, n in sizes.items() if 0 < n < LEAST} | alike
    given |= {place for place in sizes if place[0] in closed and _gives_away(closed[place[0]], place, mixed)}
    keys = {(task, _keys(subset)) for task, subset in given if subset != "all"}
    few = {task for task in mixed if _smallest_class(closed[task]) < LEAST}
    return [
        s
        for s in scores
        if s.task not in closed
        or not (
            s.task in gone
            or 0 < s.n < LEAST
            or (s.task, _keys(s.subset)) in keys
            or (s.task in few and s.metric in OF_A_CLASS)
        )
    ]


def _gives_away(closed: Sequence[Record], place: tuple[str, str], mixed: set[str]) -> bool:
    """Return whether few withheld questions, or all of one class, are in a subset; so of unknown ones if others are."""
    task, subset = place
    if subset == "all":
        return False
    within = [_is_within(record, subset) for record in closed]
    if all(inside is None for inside in within):
        return task in mixed
    own = [record for record, inside in zip(closed, within, strict=True) if inside]
    return bool(own) and (_questions(own) < LEAST or (task in mixed and _is_of_one_class(own)))


def _is_within(record: Record, subset: str) -> bool | None:
    """Return whether a record is in a subset, None if its key is none of a record's."""
    item = Item(
        record.id,
        "answered",
        answer="",
        truth={region.id: region.structure for region in record.regions} or "",
        modality=record.modality,
        source=record.source,
        split=record.split,
        language=record.language,
        patient=record.patient,
    )
    for part in subset.split(";"):
        key, _, value = part.partition("=")
        if key in SUBSETS:
            found = SUBSETS[key](item)
        elif key in record.tags:
            found = record.tags[key].replace(";", "%3B").replace("=", "%3D")
        else:
            return None
        if found != value:
            return False
    return True


def _questions(records: Sequence[Record]) -> int:
    return len({question_of(record.id, record.tags) for record in records})


def _is_of_one_class(records: Sequence[Record]) -> bool:
    return len({record.answer for record in records}) == 1


def _smallest_class(records: Sequence[Record]) -> int:
    classes = {record.answer for record in records}
    return min(_questions([record for record in records if record.answer == name]) for name in classes)


def _keys(subset: str) -> str:
    """Return the keys of a subset without their values.

    Example:
        >>> _keys("modality=CFP;sex=male")
        'modality;sex'
    """
    return re.sub(r"=[^;]*", "", subset)
