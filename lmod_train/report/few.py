"""Scores that give away single truths, which a pack leaves out."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from lmod_train.core.types import Record, Score
from lmod_train.scoring.items import Item
from lmod_train.scoring.subsets import SUBSETS
from lmod_train.scoring.ways import question_of

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
        truth="",
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
