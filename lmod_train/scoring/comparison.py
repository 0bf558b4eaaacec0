"""Statistical tests of models on the same items, corrections, the power of a test, and letters of groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from string import ascii_lowercase

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import bdtr
from scipy.stats import binom, binomtest, chi2, false_discovery_control

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Score
from lmod_train.scoring.intervals import (
    Columns,
    Floats,
    Measure,
    compute_scores,
    interval_of_parts,
    items_in,
    ratio,
    sums_by_patient,
)
from lmod_train.scoring.items import Item
from lmod_train.scoring.shares import evidence_of
from lmod_train.scoring.variance import variance_of
from lmod_train.scoring.ways import compared_ids

ALPHA = 0.05
"""P value below which a difference is significant."""
_LEAST_P = 1e-15  # smaller ones are not told apart


@dataclass(frozen=True, slots=True)
class Paired:
    """The result of a test on paired outcomes.

    Attributes:
        n: Number of items.
        only_first: Items right for the first model only.
        only_second: Items right for the second model only.
        p: Two-sided p value; 1 if the models never differ, None without items.
    """

    n: int
    only_first: int
    only_second: int
    p: float | None


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """Return the exact McNemar test (McNemar 1947, binomial on the discordant items).

    It treats items as independent; with several images per patient, see also `paired_test`.

    Args:
        first: Whether the first model has each item right.
        second: The same items, in the same order.

    Raises:
        BadArgument: The lengths differ.

    Example:
        >>> mcnemar([True, True, True, True, True, False], [False, False, False, False, False, False])
        Paired(n=6, only_first=5, only_second=0, p=0.0625)
    """
    a, b = _same_items(first, second)
    only_first, only_second = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    return Paired(len(a), only_first, only_second, _sign_test(only_first, only_second) if len(a) else None)


def _sign_test(won: int, lost: int) -> float:
    return float(binomtest(won, won + lost).pvalue) if won + lost else 1.0


def cohens_g(test: Paired) -> float | None:
    """Return Cohen's g (Cohen 1988, chapter 5) of two models: the share of discordant items that the first wins, - 0.5.

    Within +-0.5; 0.05, 0.15 and 0.25 are called small, medium and large there. It is the effect size of the sign test
    that McNemar's is. Unlike the odds ratio of the discordant items, (0.5 + g) / (0.5 - g), it is always finite.

    Returns:
        None if the models never differ.

    Example:
        >>> cohens_g(Paired(20, 6, 2, 0.29))
        0.25
    """
    discordant = test.only_first + test.only_second
    return test.only_first / discordant - 0.5 if discordant else None


def cochran_q(right: ArrayLike) -> tuple[float, float | None]:
    """Return Cochran's Q and its p value (Cochran 1950), a test of equal accuracy of several models.

    Args:
        right: Shape (items, models), at least two models; 1 where the model is right.

    Returns:
        Q and p from the chi-square distribution with models - 1 degrees of freedom; 0 and 1 if no item separates the
        models; 0 and None without items.

    Raises:
        BadArgument: Fewer than two models.

    Example:
        >>> q, p = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 0]])
        >>> round(q, 3), round(p, 4)
        (4.667, 0.097)
    """
    outcomes = np.asarray(right, dtype=np.float64)
    if outcomes.ndim != 2 or outcomes.shape[1] < 2:
        cure = "give one column per model; compare two or more runs"
        raise BadArgument("right", f"array of shape {outcomes.shape}", "an array (items, models >= 2)", cure)
    models, rows, columns = outcomes.shape[1], outcomes.sum(axis=1), outcomes.sum(axis=0)
    spread = float(np.sum(rows * (models - rows)))
    if spread == 0:
        return 0.0, 1.0 if len(outcomes) else None
    q = float((models - 1) * models * np.sum((columns - columns.mean()) ** 2) / spread)
    return q, float(chi2.sf(q, models - 1))


def paired_difference(task: str, first: Sequence[float], second: Sequence[float], groups: Sequence[str]) -> Score:
    """Return the mean of first - second with its 95 % interval, clustered by patient; see `paired_test`."""
    return compute_scores(task, "all", _columns(first, second, groups), groups, [_DIFFERENCE])[0]


def paired_test(
    task: str, first: Sequence[float], second: Sequence[float], groups: Sequence[str]
) -> tuple[Score, float | None]:
    """Return the mean of first - second with its 95 % interval, and its p value, both with patients as the units.

    The difference is the mean gain minus the mean loss of the first model, two shares with an interval each; so models
    that never differ have an interval too. P is 1 - the largest level at which the interval excludes 0, and so below
    0.05 if and only if the 95 % interval does. `scripts/benchmarks/rare_classes.py` measures the level of the test.

    Args:
        task: Name of the task.
        first: Score of the first model on each item, in [0, 1].
        second: The same items, in the same order.
        groups: Patient of each item.

    Returns:
        Metric ``difference``; without items no value, with fewer than three patients no interval. P is None without an
        interval, and 1 if even the narrowest interval includes 0.

    Raises:
        BadArgument: The lengths differ.

    Example:
        >>> gap, p = paired_test("demo", [1, 1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1, 0, 0], list("abcdefgh"))
        >>> gap.value, round(p, 3)
        (0.75, 0.019)
    """
    columns = _columns(first, second, groups)
    score = compute_scores(task, "all", columns, groups, [_DIFFERENCE])[0]
    if score.value is None or score.low is None or score.high is None:
        return score, None
    interval = interval_of_parts(_DIFFERENCE, _sides, *sums_by_patient(columns, groups))
    sign = math.copysign(1.0, score.value)

    def beyond(log_p: float) -> float:
        """Return the distance of 0 from the interval at the level 1 - p, negative inside."""
        low, high = interval(1 - math.exp(log_p))
        assert low is not None and high is not None
        return low if sign > 0 else -high

    least, usual, most = math.log(_LEAST_P), math.log(ALPHA), math.log(0.999)
    if beyond(most) <= 0:
        return score, 1.0
    if beyond(least) > 0:
        return score, _LEAST_P
    ends = (least, usual) if beyond(usual) > 0 else (usual, most)  # p and the interval never contradict each other
    return score, math.exp(brentq(beyond, *ends))


def _columns(first: Sequence[float], second: Sequence[float], groups: Sequence[str]) -> Columns:
    if not len(first) == len(second) == len(groups):
        raise _unequal(len(first), len(second))
    lead = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return {"items": np.ones(len(lead)), "sides": np.stack([lead.clip(0), (-lead).clip(0)], axis=1)}


def _sides(sums: Columns) -> Floats:
    return ratio(sums["sides"], sums["items"][..., None])


_DIFFERENCE = Measure(
    "difference", lambda s: _sides(s) @ np.array([1.0, -1.0]), items_in, parts=_sides, signs=(1.0, -1.0)
)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for the family-wise error (Holm 1979), in the given order.

    Comparisons without a p value stay without, and do not count.

    Example:
        >>> [round(value, 2) for value in holm([0.01, 0.04, 0.03])], holm([None, 0.5])
        ([0.03, 0.06, 0.06], [None, 0.5])
    """
    return _adjusted(p, _holm)


def _holm(values: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)).clip(max=1)
    return adjusted


def benjamini_hochberg(p: Sequence[float | None]) -> list[float | None]:
    """Return p values adjusted for the false discovery rate (Benjamini & Hochberg 1995), in the given order.

    Comparisons without a p value stay without, and do not count.

    Example:
        >>> [round(value, 3) for value in benjamini_hochberg([0.01, 0.04, 0.03])]
        [0.03, 0.04, 0.04]
    """
    return _adjusted(p, false_discovery_control)


def _adjusted(p: Sequence[float | None], method: Callable[[Floats], Floats]) -> list[float | None]:
    given = [value for value in p if value is not None]
    found = iter(method(np.array(given)).tolist() if given else [])
    return [None if value is None else next(found) for value in p]


def _same_items(first: Sequence[bool], second: Sequence[bool]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    if len(first) != len(second):
        raise _unequal(len(first), len(second))
    return np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)


def _unequal(first: int, second: int) -> BadArgument:
    return BadArgument("second", f"{second} items", f"the {first} items of the first model", "pair the items by id")


def paired_items(first: Sequence[Item], second: Sequence[Item]) -> list[tuple[Item, Item]]:
    """Return the items of the questions that two runs were both asked, in the order of the first run.

    The second item of a pair has the id, chain, step, group and tags of the first, so that both runs have one set of
    chains. Questions of one run alone are left out.
    """
    mine, other = (by_question(items) for items in (first, second))
    return [(item, _named_as(item, other[key])) for key, item in mine.items() if key in other]


def by_question(items: Sequence[Item]) -> dict[str, Item]:
    """Return what two runs call a question alike (`lmod_train.scoring.ways.compared_ids`) -> its item."""
    ids = compared_ids((item.id, item.tags) for item in items)
    return {ids[item.id]: item for item in items}


def _named_as(one: Item, other: Item) -> Item:
    return replace(
        other,
        id=one.id,
        chain=one.chain,
        chain_step=one.chain_step,
        language=one.language,
        group=one.group,
        tags=one.tags,
    )


# The difference of two models that a number of items could detect.
POWER = 0.8

_STEPS = 14  # halvings: the difference to 1e-4


def effective_pairs(first: Sequence[bool], second: Sequence[bool], groups: Sequence[str]) -> float:
    """Return how many independent items the items of two models are worth, with several items per patient.

    It is n divided by the design effect of the difference: its variance between patients over that of independent items
    (Kish 1965), at least 1. If the models never differ, a correlation of 0.7 within patients is assumed, as for a share
    of 0 or 1 in `lmod_train.scoring.shares`.

    Args:
        first: Whether the first model has each item right; at least one item.
        second: The same items, in the same order.
        groups: Patient of each item.

    Example:
        >>> first, second = [True, True, False, True, False, False], [False, True, True, False, False, False]
        >>> [round(effective_pairs(first * k, second * k, list("abcdef") * k), 1) for k in (1, 4)]
        [6.0, 5.2]
    """
    lead = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    _, place, held = np.unique(np.asarray(groups, dtype=str), return_inverse=True, return_counts=True)
    residual = lead - lead.mean()
    alone = float(variance_of(residual))
    if alone == 0 or len(held) < 2:
        return evidence_of(held.astype(np.float64)).at_edge
    by_patient: Floats = np.bincount(place, residual).astype(np.float64)
    clustered = float(variance_of(by_patient)) * (len(held) / len(lead)) ** 2
    return float(len(lead) / max(1.0, clustered / alone))


def detectable_difference(n: float, discordance: float) -> float | None:
    """Return the least difference of two accuracies that McNemar's exact test detects with 80 % power at p < 0.05.

    The number of discordant items is random, too (Connor 1987, Biometrics 43; here exact instead of normal). The share
    of discordant items is the given one, or the difference itself where that is larger.

    Args:
        n: Number of independent items, rounded; see `effective_pairs`.
        discordance: Share of the items that one of the models only has right, as observed.

    Returns:
        In (0, 1]; None if not even a model that is always right against one that is always wrong would be detected.

    Example:
        >>> round(detectable_difference(200, 0.2), 3), round(detectable_difference(200, 0.0), 3), \
detectable_difference(5, 0.2)
        (0.091, 0.039, None)
    """
    items = round(n)
    low, high = 0.0, 1.0
    if power(items, discordance, high) < POWER:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if power(items, discordance, middle) >= POWER else (middle, high)
    return high


def power(n: int, discordance: float, difference: float) -> float:
    """Return the probability that McNemar's exact test of n independent items has p < 0.05.

    Args:
        n: Number of items.
        discordance: Share of items that one of the models only has right, at least `difference`, else this is taken.
        difference: Difference of the accuracies, in (0, 1].

    Example:
        >>> round(power(100, 0.1, 0.1), 3), power(5, 1.0, 1.0)
        (0.942, 0.0)
    """
    share = max(discordance, difference)
    wins = (share + difference) / (2 * share)
    counts = np.arange(n + 1)
    weights = binom.pmf(counts, n, share)
    likely = weights > 1e-9
    counts, weights, fewest = counts[likely], weights[likely], _critical(1 << n.bit_length())[: n + 1][likely]
    tests = fewest >= 0
    counts, weights, fewest = counts[tests], weights[tests], fewest[tests]
    return float(weights @ (bdtr(fewest, counts, wins) + bdtr(fewest, counts, 1 - wins)))


@lru_cache(maxsize=32)
def _critical(count: int) -> Floats:
    """Return for 0 to `count` discordant items the most that the weaker model may win at p < 0.05; -1 for none."""
    counts = np.arange(count + 1)
    most = binom.ppf(ALPHA / 2, counts, 0.5)
    critical: Floats = np.where(binom.cdf(most, counts, 0.5) * 2 < ALPHA, most, most - 1)
    return critical


# The compact letter display of many pairwise comparisons.
Members = frozenset[int]


def letters(count: int, differing: Collection[tuple[int, int]]) -> list[str]:
    """Return the letters of each of `count` models; two models share a letter if and only if they do not differ.

    Made by insertion and absorption (Piepho 2004, J. Comput. Graph. Stat. 13): all models begin with one letter; a
    letter of two models that differ is split into one without the first and one without the second; letters that no
    pair needs are dropped. In the order of the models, so that ``a`` is a letter of the first one. After ``z`` come
    ``a1`` to ``z1``, ``a2`` ...

    Args:
        count: Number of models, usually ordered by their scores.
        differing: Pairs of places of models that differ significantly.

    Raises:
        BadArgument: A pair is not of two models below `count`.

    Example:
        >>> letters(3, {(0, 2)})
        ['a', 'ab', 'b']
    """
    groups = [frozenset(range(count))] if count else []
    for first, second in sorted(tuple(sorted(pair)) for pair in differing):
        if not 0 <= first < second < count:
            raise BadArgument("differing", (first, second), f"two different places below {count}", "number the models")
        groups = _needed(_split(groups, first, second))
    ordered = sorted(groups, key=sorted)
    return ["".join(_letter(k) for k, group in enumerate(ordered) if model in group) for model in range(count)]


def _split(groups: Iterable[Members], first: int, second: int) -> list[Members]:
    """Return the groups, those of both models split into one without each."""
    parted = []
    for group in groups:
        parted += [group - {first}, group - {second}] if {first, second} <= group else [group]
    return sorted(set(parted), key=lambda group: (-len(group), sorted(group)))


def _needed(groups: list[Members]) -> list[Members]:
    """Return the groups without those whose every pair of models, or single model, is in a larger one."""
    kept: list[Members] = []
    covered: set[tuple[int, ...]] = set()
    for group in groups:
        held = {(model,) for model in group} | set(combinations(sorted(group), 2))
        if not held <= covered:
            kept.append(group)
            covered |= held
    return kept


def _letter(place: int) -> str:
    round_, letter = divmod(place, len(ascii_lowercase))
    return ascii_lowercase[letter] + (str(round_) if round_ else "")
