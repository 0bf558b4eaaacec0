"""Divide samples into train, val and test so that no patient is torn apart and every stratum keeps its share."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from lmod_train.curation.numbering import lot
from lmod_train.errors import BadArgument
from lmod_train.types import Sample, Split

Place = tuple[str, str]
"""Source and key of a sample."""

SPLITS: tuple[Split, ...] = get_args(Split)


def split(
    samples: Iterable[Sample],
    ratios: Sequence[float] = (0.8, 0.15, 0.05),
    *,
    seed: int = 0,
    by: Literal["group", "image"] = "group",
) -> dict[Place, Split]:
    """Return the split of every sample, by source and key.

    Each source is split by itself, its groups whole. A group's stratum is the set of labels found in it. Strata are
    taken from the rarest on; within one, groups come in an order drawn by lot and each goes to the split that lacks
    most samples, what is lacking being carried on to the next stratum. With g the size of the largest group, no split
    of a source ends more than g samples above its share nor 2 g below it, and no stratum more than 3 g away from its
    own. The result does not depend on the order of the samples.

    Args:
        samples: Samples with group and labels.
        ratios: Shares of train, val and test; 0 leaves a split empty.
        seed: Draws the lots.
        by: ``image`` is the published protocol: images of one patient may fall on both sides (a warning says so).

    Raises:
        BadArgument: `ratios` are not three shares that sum to 1, or `by` is unknown.
    """
    if len(ratios) != 3 or min(ratios) < 0 or abs(sum(ratios) - 1) > 1e-6:
        raise BadArgument(
            "ratios", tuple(ratios), "three shares (train, val, test) that sum to 1", "e.g. 0.8 0.15 0.05"
        )
    if by not in ("group", "image"):
        raise BadArgument("split_by", by, "group or image", "`group` keeps a patient's images together")
    if by == "image":
        warnings.warn(
            "split_by='image' follows the published protocol: images of one patient can be in train and in test, "
            "so scores may be too high; the manifest lists such pairs under leakage",
            stacklevel=2,
        )
    groups: defaultdict[str, defaultdict[str, list[Sample]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        groups[sample.source][sample.group if by == "group" else sample.key].append(sample)
    placed: dict[Place, Split] = {}
    for source in sorted(groups):
        for group, name in _divide(source, groups[source], ratios, seed).items():
            placed |= {(source, s.key): name for s in groups[source][group]}
    return placed


def families(samples: Sequence[Sample], contents: Mapping[Place, str]) -> list[Sample]:
    """Return the samples with one group for all groups of a source that share an image file, byte for byte.

    A photograph that a source holds twice, under two names or in two parts (IDRiD's part A repeats some of B and C),
    would otherwise be two groups and could be torn apart. The family's group is the first of its groups by name.

    Args:
        samples: With the groups that their sources give.
        contents: Hash of each sample's image file; a sample without one, or with an empty one, has no copies.

    Example:
        >>> from pathlib import Path
        >>> two = [Sample("s", key, "CFP", Path(key), group, "CC0") for key, group in (("a", "p2"), ("b", "p1"))]
        >>> [s.group for s in families(two, {("s", "a"): "same", ("s", "b"): "same"})]
        ['p1', 'p1']
    """
    parent: dict[Place, Place] = {}

    def head(group: Place) -> Place:
        while parent.setdefault(group, group) != group:
            parent[group] = group = parent[parent[group]]
        return group

    seen: dict[tuple[str, str], Place] = {}
    for sample in samples:
        content = contents.get((sample.source, sample.key), "")
        own = head((sample.source, sample.group))
        other = head(seen.setdefault((sample.source, content), own)) if content else own
        low, high = sorted((own, other))
        parent[high] = low
    return [replace(s, group=head((s.source, s.group))[1]) for s in samples]


def _divide(
    source: str, groups: Mapping[str, Sequence[Sample]], ratios: Sequence[float], seed: int
) -> dict[str, Split]:
    strata: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, members in groups.items():
        strata[tuple(sorted({f"{k}={v}" for s in members for k, v in s.labels.items()}))].append(name)
    sizes = {stratum: sum(len(groups[name]) for name in names) for stratum, names in strata.items()}
    placed: dict[str, Split] = {}
    lacking = [0.0, 0.0, 0.0]
    for stratum in sorted(strata, key=lambda s: (sizes[s], s)):
        lacking = [lack + ratio * sizes[stratum] for lack, ratio in zip(lacking, ratios, strict=True)]
        for name in sorted(strata[stratum], key=lambda g: (lot(seed, "split", source, g), g)):
            # a share of 0 lacks exactly nothing, and while samples remain some other split lacks more
            most = max(range(3), key=lacking.__getitem__)
            lacking[most] -= len(groups[name])
            placed[name] = SPLITS[most]
    return placed
