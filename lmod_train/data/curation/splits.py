"""Divide samples into train, val and test so that no patient is in two splits and every stratum keeps its share."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, get_args

from lmod_train.core.errors import BadArgument, check_one_of
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Sample, Split

Place = tuple[str, str]
"""Source and key of a sample."""

Group = tuple[str, str]
"""Source and group of a sample."""

SPLITS: tuple[Split, ...] = get_args(Split)
NOTHING: Mapping[Group, Group] = MappingProxyType({})


def split(
    samples: Iterable[Sample],
    ratios: Sequence[float] = (0.8, 0.15, 0.05),
    *,
    seed: int = 0,
    by: Literal["group", "image"] = "group",
    spanning: Mapping[Group, Group] = NOTHING,
) -> dict[Place, Split]:
    """Return the split of every sample, by source and key.

    Each source is split by itself, its groups whole. A group's stratum is the set of labels found in it. Strata are
    taken from the rarest on; within one, groups come in an order drawn by seed and each goes to the split that lacks
    most samples, what is lacking being carried on to the next stratum. With g the size of the largest group, no split
    of a source ends more than g samples above its share nor 2 g below it, and no stratum more than 3 g away from its
    own. The result does not depend on the order of the samples.

    A group with a stated split (`Sample.split`) is in that one; where its samples state several, in that of most.

    Args:
        samples: Samples with group and labels.
        ratios: Shares of train, val and test; 0 leaves a split empty.
        seed: Of the order of groups.
        by: ``image`` is the published protocol: images of one patient may fall on both sides (a warning says so).
        spanning: Group -> its family, for families that span sources (see `families.families`): the first source by
            name places them, the others follow, and their own shares are then less exact.

    Raises:
        BadArgument: `ratios` are not three shares that sum to 1, or `by` is unknown.
    """
    if len(ratios) != 3 or min(ratios) < 0 or abs(sum(ratios) - 1) > 1e-6:
        cure = "e.g. 0.8 0.15 0.05"
        raise BadArgument("ratios", tuple(ratios), "three shares (train, val, test) that sum to 1", cure)
    check_one_of("split_by", by, ("group", "image"), "`group` keeps a patient's images together")
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
    decided: dict[Group, Split] = {}
    for source in sorted(groups):
        fixed = {g: decided[family] for g in groups[source] if (family := spanning.get((source, g))) in decided}
        fixed |= {g: name for g, members in groups[source].items() if g not in fixed and (name := _stated(members))}
        for group, name in _divide(source, groups[source], ratios, seed, fixed).items():
            placed |= {(source, s.key): name for s in groups[source][group]}
            decided[spanning.get((source, group), (source, group))] = name
    return placed


def _stated(samples: Sequence[Sample]) -> Split | None:
    """Return the split that most samples of a group state, of equally many the later one; None if none does."""
    counts: Counter[Split] = Counter(s.split for s in samples if s.split)
    return max(counts, key=lambda name: (counts[name], SPLITS.index(name)), default=None)


def _divide(
    source: str, groups: Mapping[str, Sequence[Sample]], ratios: Sequence[float], seed: int, fixed: Mapping[str, Split]
) -> dict[str, Split]:
    strata: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, members in groups.items():
        strata[tuple(sorted({f"{k}={v}" for s in members for k, v in s.labels.items()}))].append(name)
    sizes = {stratum: sum(len(groups[name]) for name in names) for stratum, names in strata.items()}
    placed = dict(fixed)
    lacking = [0.0, 0.0, 0.0]
    for stratum in sorted(strata, key=lambda s: (sizes[s], s)):
        lacking = [lack + ratio * sizes[stratum] for lack, ratio in zip(lacking, ratios, strict=True)]
        for name in sorted(fixed.keys() & set(strata[stratum])):
            lacking[SPLITS.index(fixed[name])] -= len(groups[name])
        free = set(strata[stratum]) - fixed.keys()
        for name in sorted(free, key=lambda g: (shuffle_key(seed, "split", source, g), g)):
            # a share of 0 lacks exactly nothing, and while samples remain some other split lacks more
            most = max(range(3), key=lacking.__getitem__)
            lacking[most] -= len(groups[name])
            placed[name] = SPLITS[most]
    return placed
