"""Contribution of each imaging modality (MCS): accuracy with all images of an eye minus accuracy without one of them.

X-PCR reports a modality contribution score, but its formula is not in the released material. This one is ours: it is
not comparable with published values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmod_train.core.types import Score
from lmod_train.scoring.chain_steps import is_right
from lmod_train.scoring.comparison import Paired, mcnemar, paired_test
from lmod_train.scoring.items import Item
from lmod_train.scoring.ways import question_of

WITHOUT = "without"
"""Tag of a question that is asked without the images of a modality: the name of that modality."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one modality contributes, on the questions that were asked both with and without it.

    Attributes:
        modality: The modality that is left out.
        whole: Accuracy with all modalities on these questions, missing answers wrong.
        rest: Accuracy without the modality.
        score: ``mcs``, whole - rest, with n (questions) and its interval clustered by patient; above 0 if the modality
            helps.
        test: Exact McNemar test.
        p: P value of `score` (`paired_test`).
    """

    modality: str
    whole: float
    rest: float
    score: Score
    test: Paired
    p: float | None


def without_variant(variant: str, modality: str) -> str:
    """Return the variant of a question that is asked without a modality.

    Example:
        >>> without_variant("", "FFA"), without_variant("integration", "FFA")
        ('without-FFA', 'integration_without-FFA')
    """
    return f"{variant}_without-{modality}" if variant else f"without-{modality}"


def contributions(task: str, items: Sequence[Item]) -> Iterator[Contribution]:
    """Yield the contribution of each modality that some questions are also asked without, in the order of their names.

    A question without a modality has the tag `WITHOUT`, and the id of the question with all modalities but for the
    variant, which is that of `without_variant`.

    Args:
        task: Name of the task.
        items: The questions with all modalities, and those without one of them.
    """
    whole = {item.id: item for item in items if not item.tags.get(WITHOUT)}
    for modality in sorted({item.tags.get(WITHOUT, "") for item in items} - {""}):
        rest = {_whole_id(item): item for item in items if item.tags.get(WITHOUT) == modality}
        pairs = [(whole[id], item) for id, item in sorted(rest.items()) if id in whole]
        if pairs:
            yield _contribution(task, modality, pairs)


def mcs_scores(task: str, items: Sequence[Item]) -> list[Score]:
    """Return ``mcs`` of each modality as the subset ``without=<modality>``; see `contributions`."""
    return [one.score for one in contributions(task, items)]


def _contribution(task: str, modality: str, pairs: Sequence[tuple[Item, Item]]) -> Contribution:
    whole, rest = ([is_right(pair[side]) for pair in pairs] for side in (0, 1))
    groups = [item.group for item, _ in pairs]
    test = mcnemar(whole, rest)
    gap, p = paired_test(task, whole, rest, groups)
    score = replace(gap, subset=f"{WITHOUT}={modality}", metric="mcs")
    means = float(np.mean(whole)), float(np.mean(rest))
    return Contribution(modality, *means, score, test, p)


def _whole_id(item: Item) -> str:
    """Return the id of the same question with all modalities, asked in the same way."""
    question = question_of(item.id, item.tags)
    suffix = without_variant("", item.tags[WITHOUT])
    whole = question[: -len(suffix) - 1] if question.endswith(suffix) else question
    return whole + item.id[len(question) :]
