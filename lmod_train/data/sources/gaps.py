"""Grouping of images that lack something, so that one entry can stand for a whole group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping

EVERYTHING = "all"
"""Name of the group of all images of a source."""


def gaps(groups: Mapping[str, str], held: Container[str]) -> dict[str, list[str]]:
    """Return the images that lack something, singly, or by group where no image of the group has it.

    Args:
        groups: Key of each image -> its group; nested groups are separated by slashes, outermost first; empty for none.
        held: Keys of the images that have it.

    Returns:
        Key -> [key], or the outermost group of which no image has it -> its keys (at least two); `EVERYTHING` is the
        group of all images. In order of the keys.

    Example:
        >>> groups = {"train/a": "train", "train/b": "train", "val/c": "val", "val/d": "val"}
        >>> gaps(groups, {"train/a"}), gaps(groups, {}), gaps(groups, groups)
        ({'train/b': ['train/b'], 'val': ['val/c', 'val/d']}, {'all': ['train/a', 'train/b', 'val/c', 'val/d']}, {})
    """
    members: Counter[str] = Counter()
    having: Counter[str] = Counter()
    for key, group in groups.items():
        around = [*_around(group)]
        members.update(around)
        having.update(around if key in held else ())
    found: dict[str, list[str]] = {}
    for key, group in groups.items():
        if key not in held:
            bare = next((g for g in _around(group) if not having[g] and members[g] > 1), key)
            found.setdefault(bare, []).append(key)
    return found


def group_of(key: str) -> str:
    """Return the folder part of a key as its group.

    Example:
        >>> group_of("A/train/IDRiD_01"), group_of("image_0")
        ('A/train', '')
    """
    return key.rpartition("/")[0]


def _around(group: str) -> Iterator[str]:
    """Yield a group and all groups that contain it, outermost first."""
    yield EVERYTHING
    parts = group.split("/") if group else []
    for depth in range(len(parts)):
        yield "/".join(parts[: depth + 1])
