"""Metrics of anatomy tasks: the structure in each numbered box.

LMOD, section 3.2, and LMOD+, section 3.3. Per image, precision is the number of correct region types over predicted
regions (including regions that do not exist), recall the number of correct ones over true regions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Score, Unparsed
from lmod_train.scoring.intervals import (
    Columns,
    Floats,
    Measure,
    compute_scores,
    items_in,
    mean_measure,
    ratio,
)
from lmod_train.scoring.items import Item
from lmod_train.scoring.status import BASELINES, STATUS_SHARES, best_constant, status_columns
from lmod_train.scoring.subset_names import subsets_of


@dataclass(frozen=True, slots=True)
class ImageScore:
    """The scores of one image, each in [0, 1]; `hr` is None without a prediction.

    `types` is the recall of the structures whatever box they are assigned to.
    """

    precision: float
    recall: float
    f1: float
    hr: float | None
    types: float


def image_score(answer: Answer | Unparsed, truth: Mapping[int, str]) -> ImageScore:
    """Return the scores of one image; without an answer precision, recall and F1 are 0 and HR is None.

    Args:
        answer: Region id -> structure as predicted.
        truth: Region id -> structure, not empty.

    Raises:
        BadArgument: There is no true region, or the answer is no mapping.

    Example:
        >>> image_score({1: "optic disc", 2: "fovea", 7: "optic cup"}, {1: "optic disc", 2: "optic cup"})
        ImageScore(precision=0.333..., recall=0.5, f1=0.4, hr=0.666..., types=1.0)
    """
    if not truth:
        raise BadArgument("truth", dict(truth), "at least one region", "ask only about images that have a region")
    if isinstance(answer, Unparsed) or answer == {}:
        return ImageScore(0.0, 0.0, 0.0, None, 0.0)
    if not isinstance(answer, Mapping):
        raise BadArgument("answer", answer, "region id -> structure", "score words with `classification_scores`")
    correct = sum(truth.get(region) == structure for region, structure in answer.items())
    existing = sum(region in truth for region in answer)
    return ImageScore(
        precision=correct / len(answer),
        recall=correct / len(truth),
        f1=2 * correct / (len(answer) + len(truth)),
        hr=existing / len(answer),
        types=(Counter(truth.values()) & Counter(answer.values())).total() / len(truth),
    )


def region_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return all metrics of an anatomy task, over all items and each subset.

    ``precision`` and ``recall`` are means over images, so modalities are weighted by images, as in the Overall of LMOD+
    (Table 4). ``f1_lmod_plus`` is the mean of per-image F1; ``f1_lmod_v1`` the harmonic mean of mean precision and mean
    recall. In these, an image without an answer counts 0; ``<metric>_answered`` excludes it. ``hr`` (also printed as HC
    and PPV) is 1 - nonexistent regions / predicted regions, per image, over the images with a prediction, whose number
    is its n. ``recall_of_types`` is the recall of the structures whatever box they are assigned to: it is above
    ``recall`` where right structures are given to wrong boxes (LMOD's first version, section 5). ``<metric>_macro`` is
    the unweighted mean over modalities, if there are several.

    ``chance`` is the expected F1 of random names for all marked regions: each is right with probability 1 / number of
    choices, so precision, recall and F1 all have that mean. ``majority`` is the mean F1 of one constant name for all
    regions, the best one among these items for each set of choices.

    Args:
        task: Name of the task.
        items: One per image; an empty sequence gives no scores.

    Raises:
        BadArgument: An item has no true region or no choices, or its answer is no mapping.

    Example:
        >>> eye = Item("a", "answered", {1: "disc"}, {1: "disc", 2: "cup"}, ("disc", "cup"), group="refuge/1")
        >>> [(s.metric, s.value) for s in region_scores("anatomy", [eye])][:2]
        [('precision', 1.0), ('recall', 0.5)]
    """
    scores = []
    for subset, members in subsets_of(items).items():
        modalities = sorted({item.modality for item in members})
        measures = (*OVERALL, *ANSWERED, *(MACRO if len(modalities) > 1 else ()), *BASELINES, *STATUS_SHARES)
        columns = region_columns(members, modalities)
        scores += compute_scores(task, subset, columns, [item.group for item in members], measures)
    return scores


def region_columns(items: Sequence[Item], modalities: Sequence[str]) -> dict[str, Floats]:
    """Return the status columns, and those of the measures by modality.

    ``images``, ``precision``, ``recall``, ``types``, ``f1``, ``hr``, ``predicted`` (HR is defined) and
    ``images_answered`` have the shape (items, modalities), zero outside the item's modality; ``majority`` has the shape
    (items).
    """
    scored = [image_score(item.answer, _regions(item)) for item in items]
    own = np.array([[item.modality == modality for modality in modalities] for item in items], dtype=np.float64)
    values: dict[str, list[float]] = {
        "images": [1.0] * len(items),
        "precision": [s.precision for s in scored],
        "recall": [s.recall for s in scored],
        "types": [s.types for s in scored],
        "f1": [s.f1 for s in scored],
        "hr": [s.hr or 0.0 for s in scored],
        "predicted": [s.hr is not None for s in scored],
        "images_answered": [item.status == "answered" for item in items],
    }
    columns = {name: own * np.asarray(value, dtype=np.float64)[:, None] for name, value in values.items()}
    return status_columns(items) | columns | {"majority": _majority(items)}


def _regions(item: Item) -> Mapping[int, str]:
    if isinstance(item.truth, Mapping):
        return item.truth
    cure = "score words with `classification_scores`"
    raise BadArgument(f"truth of {item.id}", item.truth, "region id -> structure", cure)


def _majority(items: Sequence[Item]) -> Floats:
    """Return the F1 of each image under the best constant name for its choices, (items)."""
    names = [Counter(_regions(item).values()) for item in items]
    shares: list[dict[Hashable, float]] = [{name: count / own.total() for name, count in own.items()} for own in names]
    return best_constant(shares, [item.choices for item in items])


def _harmonic(precision: Floats, recall: Floats) -> Floats:
    """Return the harmonic mean, 0 where both are 0."""
    both = precision + recall
    return np.divide(2 * precision * recall, both, out=np.asarray(both * 0.0), where=both > 0)


def _mean(numerator: str, denominator: str) -> Callable[[Columns], Floats]:
    return lambda sums: ratio(sums[numerator].sum(axis=-1), sums[denominator].sum(axis=-1))


def _mean_v1(denominator: str) -> Callable[[Columns], Floats]:
    return lambda sums: _harmonic(_mean("precision", denominator)(sums), _mean("recall", denominator)(sums))


def _each(numerator: str, denominator: str = "images") -> Callable[[Columns], Floats]:
    return lambda sums: ratio(sums[numerator], sums[denominator])


def _each_v1(sums: Columns) -> Floats:
    return _harmonic(_each("precision")(sums), _each("recall")(sums))


def _cells(column: str) -> Callable[[Columns], Floats]:
    return lambda columns: columns[column]


def _total(column: str) -> Callable[[Columns], Floats]:
    return lambda columns: columns[column].sum(axis=-1)


OVERALL = (
    Measure("precision", _mean("precision", "images"), items_in),
    Measure("recall", _mean("recall", "images"), items_in),
    Measure("f1_lmod_plus", _mean("f1", "images"), items_in),
    Measure("f1_lmod_v1", _mean_v1("images"), items_in),
    Measure("hr", _mean("hr", "predicted"), _total("predicted")),
    Measure("recall_of_types", _mean("types", "images"), items_in),
)

ANSWERED = (
    Measure("precision_answered", _mean("precision", "images_answered"), _total("images_answered")),
    Measure("recall_answered", _mean("recall", "images_answered"), _total("images_answered")),
    Measure("f1_lmod_plus_answered", _mean("f1", "images_answered"), _total("images_answered")),
    Measure("f1_lmod_v1_answered", _mean_v1("images_answered"), _total("images_answered")),
)

MACRO = (
    mean_measure("precision_macro", _each("precision"), _cells("images")),
    mean_measure("recall_macro", _each("recall"), _cells("images")),
    mean_measure("f1_lmod_plus_macro", _each("f1"), _cells("images")),
    mean_measure("f1_lmod_v1_macro", _each_v1, _cells("images")),
    mean_measure("hr_macro", _each("hr", "predicted"), _cells("predicted")),
)
