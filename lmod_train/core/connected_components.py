"""Groups of what belongs together, from pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import TypeVar

Member = TypeVar("Member", bound=Hashable)


def join(pairs: Iterable[tuple[Member, Member]]) -> list[list[Member]]:
    """Return the groups that pairs join, members in the order of their first mention; a pair of equals joins nothing.

    Example:
        >>> join([("a", "b"), ("c", "d"), ("b", "e")])
        [['a', 'b', 'e'], ['c', 'd']]
    """
    parent: dict[Member, Member] = {}

    def head(member: Member) -> Member:
        while parent.setdefault(member, member) != member:
            parent[member] = member = parent[parent[member]]
        return member

    for one, other in pairs:
        parent[head(other)] = head(one)
    joined: defaultdict[Member, list[Member]] = defaultdict(list)
    for member in parent:
        joined[head(member)].append(member)
    return list(joined.values())
