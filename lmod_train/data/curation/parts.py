"""Samples of one photograph in two parts of a source, under different numbers: joined by their pixels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lmod_train.core.types import Patient, Sample
from lmod_train.data.curation.copies import ORIENTATIONS, SURE
from lmod_train.data.curation.families import Likeness, place_of
from lmod_train.data.curation.splits import Place


@dataclass(frozen=True, slots=True, order=True)
class Joined:
    """Two samples that are asked as one.

    Attributes:
        source: Source of both.
        first: Key under which they are asked.
        second: Key of the other.
        correlation: Of the two photographs, from `SURE` to 1; 1 for the same file.
    """

    source: str
    first: str
    second: str
    correlation: float


def join_parts(samples: Sequence[Sample], alike: Iterable[Likeness]) -> tuple[list[Sample], list[Joined]]:
    """Return the samples, each pair of parts as one sample, and the pairs.

    Two samples of one source are parts if they show one photograph (same file, or a correlation of `SURE`, in the same
    orientation), have no kind of label in common, and at least one has labels: IDRiD outlines lesions in one part and
    grades in another. The first keeps its key, image and boxes, and gets labels and patient data that it lacks from the
    second; boxes of structures that it lacks only if both photographs have the same size. A sample is joined once.

    Args:
        samples: As tasks see them.
        alike: Pairs of images that show one photograph; the best ones are joined first.
    """
    by_place = {place_of(sample): sample for sample in samples}
    joined: list[Joined] = []
    out: set[Place] = set()
    taken: set[Place] = set()
    for one in sorted(alike, key=lambda a: (-a.correlation, a.first, a.second)):
        first, second = (by_place.get(place) for place in sorted((one.first, one.second)))
        if first and second and not taken & {one.first, one.second} and _are_parts(first, second, one):
            taken |= {one.first, one.second}
            out.add(place_of(second))
            by_place[place_of(first)] = _together(first, second)
            joined.append(Joined(first.source, first.key, second.key, one.correlation))
    return [by_place[place_of(s)] for s in samples if place_of(s) not in out], sorted(joined)


def _are_parts(first: Sample, second: Sample, likeness: Likeness) -> bool:
    same = likeness.orientation == ORIENTATIONS[0] and likeness.correlation >= SURE
    labels = first.labels.keys() | second.labels.keys()
    return same and first.source == second.source and bool(labels) and not first.labels.keys() & second.labels.keys()


def _together(first: Sample, second: Sample) -> Sample:
    """Return the first sample with what only the second states."""
    own = {region.structure for region in first.regions}
    further = [region for region in second.regions if region.structure not in own and first.size == second.size]
    return replace(
        first,
        labels={**second.labels, **first.labels},
        regions=(*first.regions, *further),
        too_small=tuple(dict.fromkeys((*first.too_small, *second.too_small))),
        patient=Patient(**_filled(asdict(second.patient), asdict(first.patient))),
    )


def _filled(gaps: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    return gaps | {name: value for name, value in own.items() if value is not None}
