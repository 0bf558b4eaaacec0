"""Join samples that show one photograph into families, before anything is split, and find labels that contradict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmod_train.core.connected_components import join
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.copies import NEAR, NEAR_ELSEWHERE, ORIENTATIONS, SURE, find_copies
from lmod_train.data.curation.splits import Group, Place

FUNDUS = ("CFP", "SLO")
"""Modalities whose pictures show vessels, by which any two photographs differ."""


@dataclass(frozen=True, slots=True, order=True)
class Likeness:
    """Two samples whose pixels are those of one photograph.

    Attributes:
        first: Source and key of one.
        second: Of the other.
        orientation: How they lie to each other, of `ORIENTATIONS`.
        correlation: Of local detail, 0 to 1; 1 for the same file.
    """

    first: Place
    second: Place
    orientation: str
    correlation: float


def likenesses(samples: Sequence[Sample], thumbnails: Mapping[Place, str]) -> list[Likeness]:
    """Return the pairs of samples of one modality that show one photograph, within sources and across them.

    Pairs of one group are left out, unless their labels differ: they stay together anyway.

    Args:
        samples: In the order in which pairs are named.
        thumbnails: Of each sample (see `copies.thumbnail`); a sample without one has no copies.
    """
    found = []
    for modality in sorted({s.modality for s in samples}):
        shown = [s for s in samples if s.modality == modality and place_of(s) in thumbnails]
        groups = [(s.source, s.group, tuple(sorted(s.labels.items()))) for s in shown]
        near = NEAR if modality in FUNDUS else NEAR_ELSEWHERE
        copies = find_copies((thumbnails[place_of(s)] for s in shown), groups, near)
        found += [
            Likeness(place_of(shown[c.first]), place_of(shown[c.second]), c.orientation, c.correlation) for c in copies
        ]
    return found


def same_files(samples: Iterable[Sample], contents: Mapping[Place, str]) -> list[Likeness]:
    """Return for each sample whose image file is another's, byte for byte, the first that has it.

    Args:
        samples: In the order in which pairs are named.
        contents: Hash of each sample's image file; a sample without one, or with an empty one, has no copies.
    """
    firsts: dict[str, Place] = {}
    found = []
    for sample in samples:
        content, place = contents.get(place_of(sample), ""), place_of(sample)
        if content and firsts.setdefault(content, place) != place:
            found.append(Likeness(firsts[content], place, ORIENTATIONS[0], 1.0))
    return found


def families(
    samples: Sequence[Sample], pairs: Iterable[tuple[Place, Place]]
) -> tuple[list[Sample], dict[Group, Group]]:
    """Return the samples with one group for all groups of a source that pairs join, and what spans sources.

    Args:
        samples: With the groups that their sources give.
        pairs: Source and key of two samples that belong together, as they show one photograph, for example.

    Returns:
        The samples in their order, each in the first by name of the groups that are joined to its own within its
        source; and for each of these groups the first group of its family, which another source may hold.

    Example:
        >>> from pathlib import Path
        >>> two = [Sample("s", key, "CFP", Path(key), group, "CC0") for key, group in (("a", "p2"), ("b", "p1"))]
        >>> joined, _ = families(two, [(("s", "a"), ("s", "b"))])
        >>> [s.group for s in joined]
        ['p1', 'p1']
    """
    group_of = {place_of(s): (s.source, s.group) for s in samples}
    named: dict[Group, Group] = {}
    spanning: dict[Group, Group] = {}
    for family in join((group_of[first], group_of[second]) for first, second in pairs):
        firsts: dict[str, Group] = {}
        for group in sorted(family):
            named[group] = firsts.setdefault(group[0], group)
        spanning |= {first: min(family) for first in firsts.values()} if len(firsts) > 1 else {}
    joined = [replace(s, group=named.get((s.source, s.group), (s.source, s.group))[1]) for s in samples]
    return joined, spanning


def contradictions(samples: Sequence[Sample], alike: Iterable[Likeness]) -> list[Dropped]:
    """Return a `Dropped` for each sample whose photograph carries two different labels of one kind.

    Nobody can say which label is right, so that neither is used. Counted are pairs of the same file or with a
    correlation of `SURE`, and the further copies of either.
    """
    by_place = {place_of(s): s for s in samples}
    sure = [one for one in alike if one.correlation >= SURE]
    found = []
    for family in join((one.first, one.second) for one in sure):
        members = [by_place[place] for place in sorted(family)]
        for concept in sorted({c for s in members for c in s.labels}):
            labels = {s.labels[concept]: s for s in reversed(members) if concept in s.labels}
            if len(labels) > 1:
                listed = ", ".join(f"{label} as {s.source}/{s.key}" for label, s in sorted(labels.items()))
                found += [_contradictory(s, f"{concept}: {listed}") for s in members if concept in s.labels]
    return list({(d.source, d.key): d for d in found}.values())


def account(samples: Sequence[Sample], alike: Sequence[Likeness]) -> dict[str, Any]:
    """Return the manifest's account of families: their number and sizes, and how the copies are oriented.

    Args:
        samples: All that were looked at.
        alike: The pairs found, same files and copies.
    """
    sizes = Counter(len(family) for family in join((one.first, one.second) for one in alike))
    return {
        "photographs": len(samples),
        "in_families": sum(size * n for size, n in sizes.items()),
        "families": sizes.total(),
        "by_size": {str(size): n for size, n in sorted(sizes.items())},
        "pairs": len(alike),
        "by_orientation": {o: sum(one.orientation == o for one in alike) for o in ORIENTATIONS},
        "across_sources": sum(one.first[0] != one.second[0] for one in alike),
    }


def place_of(sample: Sample) -> Place:
    """Return source and key of a sample."""
    return sample.source, sample.key


def _contradictory(sample: Sample, detail: str) -> Dropped:
    return Dropped.of(sample, "families", "contradictory_labels", detail)
