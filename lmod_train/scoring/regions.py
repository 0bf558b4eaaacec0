"""Scores of anatomy questions: which numbered box is which structure.

LMOD, section 3.2, and LMOD+, section 3.3. Per image: precision is the correct region types over the predicted regions
(regions that do not exist stay in the denominator), recall the correct ones over the true regions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmod_train.errors import BadArgument
from lmod_train.scoring.account import ACCOUNT, CHANCE, account_columns
from lmod_train.scoring.intervals import Columns, Figure, Floats, items_in, mean_figure, measure, ratio
from lmod_train.scoring.items import Item
from lmod_train.scoring.subsets import subsets_of
from lmod_train.types import Answer, Score, Unparsed


@dataclass(frozen=True, slots=True)
class ImageScore:
    """The scores of one image, each in [0, 1]; `hr` is None where nothing was predicted."""

    precision: float
    recall: float
    f1: float
    hr: float | None


def image_score(answer: Answer | Unparsed, truth: Mapping[int, str]) -> ImageScore:
    """Score one image.

    No answer scores 0 in precision, recall and F1, and has no HR.

    Args:
        answer: Region id -> structure as predicted.
        truth: Region id -> structure, not empty.

    Raises:
        BadArgument: There is no true region, or the answer is not about regions.

    Example:
        >>> image_score({1: "optic disc", 2: "fovea", 7: "optic cup"}, {1: "optic disc", 2: "optic cup"})
        ImageScore(precision=0.333..., recall=0.5, f1=0.4, hr=0.666...)
    """
    if not truth:
        raise BadArgument("truth", dict(truth), "at least one region", "ask only about images that have a region")
    if isinstance(answer, Unparsed) or answer == {}:
        return ImageScore(0.0, 0.0, 0.0, None)
    if not isinstance(answer, Mapping):
        raise BadArgument("answer", answer, "region id -> structure", "score words with `classification_scores`")
    correct = sum(truth.get(region) == structure for region, structure in answer.items())
    existing = sum(region in truth for region in answer)
    return ImageScore(
        precision=correct / len(answer),
        recall=correct / len(truth),
        f1=2 * correct / (len(answer) + len(truth)),
        hr=existing / len(answer),
    )


def region_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return every figure of an anatomy task, over all items and each subset.

    ``precision`` and ``recall`` are means over images, so over several modalities they are weighted by images, as the
    Overall of LMOD+ (Table 4) is. ``f1_lmod_plus`` is the mean of per-image F1; ``f1_lmod_v1`` the harmonic mean of
    mean precision and mean recall. In these, an image without an answer counts 0; ``<metric>_answered`` leaves it out.
    ``hr`` (also printed as HC and PPV) is 1 - regions that do not exist / predicted regions, per image; images without
    a prediction are left out, its n tells how many are in. ``<metric>_macro`` is the plain mean over modalities, given
    where there are several.

    ``chance`` is the expected F1 of naming every marked region blindly: as many regions are predicted as there are,
    each right with probability 1 / number of choices, so precision, recall and F1 all have that mean. ``majority`` is
    the mean F1 of giving every region one and the same name, the best such name among these very items for each set of
    choices.

    Args:
        task: Name of the task.
        items: One per image; none give no scores.

    Raises:
        BadArgument: An item has no true region or no choices, or its answer is not about regions.

    Example:
        >>> eye = Item("a", "answered", {1: "disc"}, {1: "disc", 2: "cup"}, ("disc", "cup"), group="refuge/1")
        >>> [(s.metric, s.value) for s in region_scores("anatomy", [eye])][:2]
        [('precision', 1.0), ('recall', 0.5)]
    """
    scores = []
    for subset, members in subsets_of(items).items():
        modalities = sorted({item.modality for item in members})
        figures = (*OVERALL, *ANSWERED, *(MACRO if len(modalities) > 1 else ()), *BASELINES, *ACCOUNT)
        columns = region_columns(members, modalities)
        scores += measure(task, subset, columns, [item.group for item in members], figures)
    return scores


def region_columns(items: Sequence[Item], modalities: Sequence[str]) -> dict[str, Floats]:
    """Return the account's columns and, one cell a modality, the sums that the figures are made of.

    ``images``, ``precision``, ``recall``, ``f1``, ``hr``, ``predicted`` (HR is defined) and ``said`` (there is an
    answer) have the shape (items, modalities), zero but for the item's own modality; ``majority`` has (items).
    """
    scored = [image_score(item.answer, _regions(item)) for item in items]
    own = np.array([[item.modality == modality for modality in modalities] for item in items], dtype=np.float64)
    values: dict[str, list[float]] = {
        "images": [1.0] * len(items),
        "precision": [s.precision for s in scored],
        "recall": [s.recall for s in scored],
        "f1": [s.f1 for s in scored],
        "hr": [s.hr or 0.0 for s in scored],
        "predicted": [s.hr is not None for s in scored],
        "said": [item.status == "answered" for item in items],
    }
    columns = {name: own * np.asarray(value, dtype=np.float64)[:, None] for name, value in values.items()}
    return account_columns(items) | columns | {"majority": _majority(items)}


def _regions(item: Item) -> Mapping[int, str]:
    if isinstance(item.truth, Mapping):
        return item.truth
    cure = "score words with `classification_scores`"
    raise BadArgument(f"truth of {item.id}", item.truth, "region id -> structure", cure)


def _majority(items: Sequence[Item]) -> Floats:
    """Return per image the F1 of the best single name for all its regions, the same name for the same choices."""
    total: dict[tuple[str, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for item in items:
        truth = _regions(item)
        for structure in truth.values():
            total[item.choices][structure] += 1 / len(truth)
    best = {choices: max(sorted(sums), key=sums.__getitem__) for choices, sums in total.items()}
    named = [[s == best[item.choices] for s in _regions(item).values()] for item in items]
    return np.array([sum(hits) / len(hits) for hits in named], dtype=np.float64)


def _harmonic(precision: Floats, recall: Floats) -> Floats:
    """Harmonic mean; 0 where both are 0."""
    both = precision + recall
    return np.divide(2 * precision * recall, both, out=np.asarray(both * 0.0), where=both > 0)


def _mean(part: str, whole: str) -> Callable[[Columns], Floats]:
    return lambda sums: ratio(sums[part].sum(axis=-1), sums[whole].sum(axis=-1))


def _mean_v1(whole: str) -> Callable[[Columns], Floats]:
    return lambda sums: _harmonic(_mean("precision", whole)(sums), _mean("recall", whole)(sums))


def _each(part: str, whole: str = "images") -> Callable[[Columns], Floats]:
    return lambda sums: ratio(sums[part], sums[whole])


def _each_v1(sums: Columns) -> Floats:
    return _harmonic(_each("precision")(sums), _each("recall")(sums))


def _cells(column: str) -> Callable[[Columns], Floats]:
    return lambda columns: columns[column]


def _total(column: str) -> Callable[[Columns], Floats]:
    return lambda columns: columns[column].sum(axis=-1)


OVERALL = (
    Figure("precision", _mean("precision", "images"), items_in),
    Figure("recall", _mean("recall", "images"), items_in),
    Figure("f1_lmod_plus", _mean("f1", "images"), items_in),
    Figure("f1_lmod_v1", _mean_v1("images"), items_in),
    Figure("hr", _mean("hr", "predicted"), _total("predicted")),
)
ANSWERED = (
    Figure("precision_answered", _mean("precision", "said"), _total("said")),
    Figure("recall_answered", _mean("recall", "said"), _total("said")),
    Figure("f1_lmod_plus_answered", _mean("f1", "said"), _total("said")),
    Figure("f1_lmod_v1_answered", _mean_v1("said"), _total("said")),
)
MACRO = (
    mean_figure("precision_macro", _each("precision"), _cells("images")),
    mean_figure("recall_macro", _each("recall"), _cells("images")),
    mean_figure("f1_lmod_plus_macro", _each("f1"), _cells("images")),
    mean_figure("f1_lmod_v1_macro", _each_v1, _cells("images")),
    mean_figure("hr_macro", _each("hr", "predicted"), _cells("predicted")),
)
BASELINES = (CHANCE, Figure("majority", lambda sums: ratio(sums["majority"], sums["items"]), items_in, interval=False))
