"""Ways of asking one question, as record ids and tags state them.

A question that is asked in several ways is a record for each way. Each way has a value of some of `FACTORS`, which are
tags of its record and so subsets of the scores. The values of `PLAIN` are those of the curated record: they are left
out of the id, so that the question as curated has the same id in every run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

PLAIN = {"wording": "0", "order": "0", "system": "none", "shots": "0", "repeat": "1"}
"""Factor -> its value in the record as curated."""
FACTORS = tuple(PLAIN)

Known = tuple[str, Mapping[str, str]]
"""Record id and tags of an item."""


def ways_in(subsets: Iterable[str]) -> int:
    """Return in how many ways each question was asked, from the names of the subsets of its scores.

    Example:
        >>> ways_in(["all", "sex=male", "wording=0", "wording=1", "order=0", "order=1", "order=2"]), ways_in(["all"])
        (6, 1)
    """
    named = {subset for subset in subsets if subset.partition("=")[0] in FACTORS}
    return math.prod(Counter(subset.partition("=")[0] for subset in named).values())


def asked_id(question: str, way: Mapping[str, str]) -> str:
    """Return the id of a question's record for a way of asking.

    Example:
        >>> asked_id("glaucoma/refuge/n01", {"wording": "2", "order": "0", "repeat": "3"})
        'glaucoma/refuge/n01/wording-2_repeat-3'
    """
    return question + _suffix(way)


def question_of(id: str, tags: Mapping[str, str]) -> str:
    """Return the id of a record's question as curated.

    Example:
        >>> question_of("glaucoma/refuge/n01/wording-2", {"wording": "2"}), question_of("a/wording-2", {})
        ('glaucoma/refuge/n01', 'a/wording-2')
    """
    return id.removesuffix(_suffix(tags))


def _suffix(way: Mapping[str, str]) -> str:
    parts = [f"{factor}-{way[factor]}" for factor in FACTORS if way.get(factor, PLAIN[factor]) != PLAIN[factor]]
    return f"/{'_'.join(parts)}" if parts else ""


def compared_ids(items: Iterable[Known]) -> dict[str, str]:
    """Return record id -> id by which the items of two runs are paired.

    It is the question's if the run asks each question in one way, so that few-shot and zero-shot replies are paired;
    otherwise the record's.

    Example:
        >>> compared_ids([("a/shots-2", {"shots": "2"})]), compared_ids([("a", {}), ("a/order-1", {"order": "1"})])
        ({'a/shots-2': 'a'}, {'a': 'a', 'a/order-1': 'a/order-1'})
    """
    questions = {id: question_of(id, tags) for id, tags in items}
    return questions if len(set(questions.values())) == len(questions) else {id: id for id in questions}


def once_each(items: Iterable[Known]) -> list[str]:
    """Return one record id of each question, the first in id order, which is that of the curated record if it is asked.

    For tests that take questions as independent: asking one in several ways is not more evidence.

    Example:
        >>> once_each([("b", {}), ("a/order-1", {"order": "1"}), ("a", {"order": "0"})])
        ['a', 'b']
    """
    first: dict[str, str] = {}
    for id, tags in sorted(items, key=lambda item: item[0]):
        first.setdefault(question_of(id, tags), id)
    return list(first.values())


def values_of(items: Iterable[Known], factor: str) -> list[str]:
    """Return the values of a factor that occur, the plain one first, numbers in their order."""
    found = {tags[factor] for _, tags in items if factor in tags}
    return sorted(found, key=lambda v: (v != PLAIN[factor], len(v) if v.isdigit() else 0, v))


def compared(items: Iterable[Known], factor: str) -> list[list[str]]:
    """Return the record ids of each question that is asked with every value of a factor, in the order of `values_of`.

    A question that is also asked in several ways of other factors is compared within each of these ways. Questions that
    lack a value, e.g. as a run was stopped, are left out, so that all values are compared on the same questions.

    Args:
        items: Id and tags of each record, each id once.
        factor: One of `FACTORS`.

    Returns:
        One list per question and way of the other factors; empty if the factor has fewer than two values.

    Example:
        >>> compared([("a", {"wording": "0"}), ("a/wording-1", {"wording": "1"}), ("b", {"wording": "0"})], "wording")
        [['a', 'a/wording-1']]
    """
    known = list(items)
    values = values_of(known, factor)
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for id, tags in known:
        if factor in tags:
            others = (tags.get(other, "") for other in FACTORS if other != factor)
            cells.setdefault((question_of(id, tags), *others), {})[tags[factor]] = id
    whole = [cell for cell in cells.values() if len(cell) == len(values)]
    return [[cell[value] for value in values] for cell in whole] if len(values) > 1 else []
