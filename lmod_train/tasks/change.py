"""How a grade has changed since the visit before: a question about two images of one eye, with its truth from both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from lmod_train.core.types import Cut, Dropped, ImageFile, Sample
from lmod_train.tasks.own import Own
from lmod_train.tasks.prompt import PRINTED

CHOICES = ("unchanged", "progressed", "improved")

WORDS: str = PRINTED["change"]

SYNONYMS: dict[str, list[str]] = PRINTED["change_synonyms"]

Orders = Mapping[str, Sequence[str]]
"""Label -> its grades, from the least to the most severe."""


def change_task(label: str, of: str) -> Own:
    """Return the task that asks how a grade has changed between two visits.

    Args:
        label: Label of the grade, e.g. ``icdr``; ``change/icdr`` is that of its change.
        of: What is graded, in the words of the question.
    """
    name = f"{label.rpartition('/')[2]}_change"
    return Own(name, WORDS.format(of=of), "choice", list(CHOICES), f"change/{label}", synonyms=SYNONYMS)


def changes(samples: Iterable[Sample], orders: Orders) -> Iterator[Sample | Dropped]:
    """Yield a sample for every two successive visits of an eye with a grade at both.

    Its images are the first of each visit, by key; a grade in which the images of a visit differ is listed, and not
    used. The samples stay in the split of the patient. A patient with one visit has no such sample.

    Args:
        samples: Samples with an image of their own.
        orders: Grades that are compared.

    Yields:
        The samples, in the order of patients and visits, and an entry for each image of a patient with several visits
        whose eye or visit is not stated.
    """
    eyes: defaultdict[tuple[str, str, str | None], defaultdict[float, list[Sample]]]
    eyes = defaultdict(lambda: defaultdict(list))
    samples = [sample for sample in samples if any(label in sample.labels for label in orders)]
    dates: defaultdict[str, set[float | None]] = defaultdict(set)
    for sample in samples:
        dates[sample.group].add(sample.patient.visit)
    for sample in samples:
        eye, visit = sample.patient.laterality, sample.patient.visit
        if visit is not None and eye is not None:
            eyes[sample.group, sample.modality, eye][visit].append(sample)
        elif len(dates[sample.group]) > 1:
            lacking = "eye" if eye is None else "visit"
            yield Dropped.of(sample, "visits", f"no {lacking}", "its change between visits is not asked", "part")
    for visits in eyes.values():
        graded = []
        for visit in sorted(visits):
            shown = sorted(visits[visit], key=lambda sample: sample.key)
            known = {label: {s.labels[label] for s in shown if label in s.labels} for label in orders}
            for label in (label for label, grades in known.items() if len(grades) > 1):
                detail = f"{label}: images of one visit have the grades {', '.join(sorted(known[label]))}"
                yield Dropped.of(shown[0], "visits", "contradictory grades", detail, "part")
            graded.append((shown[0], {label: grades.pop() for label, grades in known.items() if len(grades) == 1}))
        for (before, one), (after, other) in pairwise(graded):
            both = [label for label in orders if label in one and label in other]
            labels = {f"change/{label}": _change(orders[label], one[label], other[label]) for label in both}
            if labels:
                yield _pair(before, after, labels)


def _change(grades: Sequence[str], before: str, after: str) -> str:
    step = grades.index(after) - grades.index(before)
    return CHOICES[(step > 0) - (step < 0)]


def _pair(before: Sample, after: Sample, labels: Mapping[str, str]) -> Sample:
    images = tuple(ImageFile(s.own_image, s.key, s.modality, s.cut) for s in (before, after))
    split = before.split if before.split == after.split else ""
    return Sample(
        source=before.source,
        key=f"{before.key}+{after.key}",
        modality=before.modality,
        image=None,
        group=before.group,
        licence=before.licence,
        labels=labels,
        cut=Cut(),
        patient=after.patient,
        phantom=before.phantom and after.phantom,
        shared_images=images,
        split=split,
    )
