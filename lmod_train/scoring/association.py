"""Tests of whether being right depends on a group: Pearson's chi-square, Fisher's exact, and permutation by patient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from scipy.stats import chi2

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.intervals import Floats

DRAWS = 999
"""Random tables or permutations where there are too many to count; p is then at least 1 / (DRAWS + 1)."""
_TABLES, _ARRANGEMENTS = 200_000, 5_000  # most that are counted one by one
_CELLS = 4_000_000  # random numbers in memory at once: 32 MB
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Independence:
    """Tests of the independence of group and outcome, items taken as independent.

    Attributes:
        chi_square: Pearson's statistic, without continuity correction.
        p_chi_square: Its p value, groups - 1 degrees of freedom.
        p_fisher: Two-sided p value of Fisher's exact test (Freeman & Halton 1951 for more than two groups).
        simulated: Whether the latter is from `DRAWS` random tables.
        chosen: ``chi-square`` or ``Fisher``: the test that Cochran's rule names.
    """

    chi_square: float
    p_chi_square: float
    p_fisher: float
    simulated: bool
    chosen: str

    @property
    def p(self) -> float:
        """The p value of the chosen test."""
        return self.p_chi_square if self.chosen == "chi-square" else self.p_fisher


def independence(right: Sequence[int], sizes: Sequence[int]) -> Independence | None:
    """Return the tests of equal shares of right items in several groups.

    Fisher's test is chosen if the chi-square distribution is a poor approximation: an expected count below 1, or more
    than a fifth of them below 5 (Cochran 1954, Biometrics 10); with two groups that is any below 5.

    Args:
        right: Number of right items of each group.
        sizes: Number of items of each group; groups without items do not count.

    Returns:
        None with fewer than two groups that have items; p values of 1 if all items are right, or all wrong.

    Raises:
        BadArgument: A group has more right items than items, or negative ones, or the lengths differ.

    Example:
        >>> found = independence([7, 1], [10, 10])
        >>> found.chosen, round(found.p_fisher, 4), round(found.p_chi_square, 4)
        ('Fisher', 0.0198, 0.0062)
    """
    if len(right) != len(sizes) or any(not 0 <= r <= n for r, n in zip(right, sizes, strict=True)):
        raise BadArgument("right", list(right), f"0 to the size of each group, {list(sizes)}", "count the right items")
    hits, held = (np.array(v, dtype=np.int64)[np.array(sizes, dtype=np.int64) > 0] for v in (right, sizes))
    if len(held) < 2:
        return None
    whole, total = int(held.sum()), int(hits.sum())
    if total in (0, whole):
        return Independence(0.0, 1.0, 1.0, False, "Fisher")
    expected = np.stack([held * (total / whole), held * (1 - total / whole)])
    statistic = float(((np.stack([hits, held - hits]) - expected) ** 2 / expected).sum())
    exact, simulated = _fisher(hits, held)
    poor = expected.min() < 1 or (expected < 5).mean() > 0.2
    p = float(chi2.sf(statistic, len(held) - 1))
    return Independence(statistic, p, exact, simulated, "Fisher" if poor else "chi-square")


def _fisher(hits: NDArray[np.int64], held: NDArray[np.int64]) -> tuple[float, bool]:
    """Return the share of tables with these margins that are no likelier than this one, and whether it is simulated."""
    order = np.argsort(held)  # the largest last: its count follows from the others
    hits, held = hits[order], held[order]
    total, observed = int(hits.sum()), float(_log_ways(held, hits).sum())
    scale = float(_log_ways(held.sum(), hits.sum()))
    simulated = prod(min(n, total) + 1 for n in held[:-1].tolist()) > _TABLES
    logs = _drawn_tables(held, total) if simulated else _all_tables(held, total)
    as_rare = logs <= observed + 1e-7
    if simulated:
        return float(1 + as_rare.sum()) / (DRAWS + 1), True
    return min(1.0, float(np.exp(logs[as_rare] - scale).sum())), False


def _all_tables(held: NDArray[np.int64], total: int) -> Floats:
    """Return the logarithm of the number of ways of each table with these margins."""
    used, logs = np.zeros(1), np.zeros(1)
    for n in held[:-1].tolist():
        counts = np.arange(min(n, total) + 1)
        used, logs = ((a[:, None] + b).ravel() for a, b in ((used, counts), (logs, _log_ways(n, counts))))
        used, logs = used[used <= total], logs[used <= total]
    possible = total - used <= held[-1]
    found: Floats = logs[possible] + _log_ways(held[-1], total - used[possible])
    return found


def _drawn_tables(held: NDArray[np.int64], total: int) -> Floats:
    drawn = np.random.default_rng(0).multivariate_hypergeometric(held, total, size=DRAWS, method="marginals")
    found: Floats = _log_ways(held, drawn).sum(axis=1)
    return found


def _log_ways(n: ArrayLike, k: ArrayLike) -> Floats:
    n, k = np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64)
    ways: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways


@dataclass(frozen=True, slots=True)
class Relabelling:
    """Permutations of the labels of items that respect patients, for `permutation_p` of many models.

    Attributes:
        block: Block of each item, (items): all items of a patient with one label, or one item of another patient.
        sizes: Number of items of each block, (blocks).
        labels: Label of each block in each permutation, the observed one first, (1 + permutations, blocks).
        exact: Whether these are all permutations, each once, the observed one again among them.
    """

    block: NDArray[np.intp]
    sizes: Floats
    labels: NDArray[np.int16]
    exact: bool


def relabelling(labels: Sequence[str], patients: Sequence[str]) -> Relabelling:
    """Return the permutations of labels: between patients of one label each, and within the others.

    Sex is a label of the patient, so the labels are permuted over patients. The eye is not: where a patient has items
    of several labels, they are permuted among these items (whole-block and within-block permutation, Winkler et al.
    2015, NeuroImage 123). All permutations are counted if there are at most 5,000, otherwise `DRAWS` are drawn.

    Args:
        labels: Label of each item.
        patients: Patient of each item.

    Raises:
        BadArgument: The lengths differ.
    """
    if len(labels) != len(patients):
        raise BadArgument("patients", f"{len(patients)} items", f"the {len(labels)} items of the labels", "pair them")
    _, label = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    _, patient = np.unique(np.asarray(patients, dtype=str), return_inverse=True)
    pairs = np.unique(np.stack([patient, label], axis=1).reshape(-1, 2), axis=0)
    several = (np.bincount(pairs[:, 0]) > 1)[patient] if len(pairs) else np.zeros(0, dtype=np.bool_)
    unit = np.where(several, patient.max(initial=0) + 1 + np.arange(len(patient)), patient)
    _, first, block = np.unique(unit, return_index=True, return_inverse=True)
    own, stratum = label[first].astype(np.int16), np.where(several, patient + 1, 0)[first]
    ways = _number_of_ways(own, stratum)
    drawn = _all_ways(own, stratum) if ways <= _ARRANGEMENTS else _drawn_ways(own, stratum)
    return Relabelling(block, np.bincount(block).astype(np.float64), np.vstack([own, drawn]), ways <= _ARRANGEMENTS)


def _number_of_ways(own: NDArray[np.int16], stratum: NDArray[np.intp]) -> int:
    ways = 1
    for name in np.unique(stratum):
        left = int((stratum == name).sum())
        for count in np.unique(own[stratum == name], return_counts=True)[1].tolist():
            ways *= comb(left, count)
            left -= count
        if ways > _ARRANGEMENTS:
            break
    return ways


def _all_ways(own: NDArray[np.int16], stratum: NDArray[np.intp]) -> NDArray[np.int16]:
    """Return each distinct arrangement of the labels within the strata."""
    found = [own]
    for name in np.unique(stratum):
        places = np.flatnonzero(stratum == name)
        arranged = _arrangements(own[places].tolist())
        found = [_placed(row, places, values) for row in found for values in arranged]
    return np.array(found, dtype=np.int16).reshape(len(found), len(own))


def _arrangements(labels: list[int]) -> list[list[int]]:
    """Return the distinct orders of labels that may repeat."""
    if not labels:
        return [[]]
    label, found = labels[0], []
    others = [other for other in labels if other != label]
    for places in combinations(range(len(labels)), len(labels) - len(others)):
        for rest in _arrangements(others):
            remaining = iter(rest)
            found.append([label if k in places else next(remaining) for k in range(len(labels))])
    return found


def _placed(row: NDArray[np.int16], places: NDArray[np.intp], values: list[int]) -> NDArray[np.int16]:
    copy = row.copy()
    copy[places] = values
    return copy


def _drawn_ways(own: NDArray[np.int16], stratum: NDArray[np.intp]) -> NDArray[np.int16]:
    """Return `DRAWS` random arrangements of the labels within the strata; 0 is that of whole patients."""
    rng, drawn = np.random.default_rng(0), np.tile(own, (DRAWS, 1))
    whole, within = np.flatnonzero(stratum == 0), np.flatnonzero(stratum)
    within = within[np.argsort(stratum[within], kind="stable")]
    place = np.unique(stratum[within], return_inverse=True)[1]
    rows = max(1, _CELLS // len(own))
    for at in range(0, DRAWS, rows):
        part = drawn[at : at + rows]
        part[:, whole] = rng.permuted(part[:, whole], axis=1)
        part[:, within] = own[within][np.argsort(place + rng.random((len(part), len(within))), axis=1)]
    return drawn


def permutation_p(values: Sequence[float], relabelled: Relabelling) -> float | None:
    """Return the p value of equal means in all groups, by permuting labels over patients.

    The statistic is the sum of squares between groups. Unlike chi-square and Fisher's test, it takes patients instead
    of items as independent; and it takes any score, not only right and wrong.

    Args:
        values: Score of each item.
        relabelled: Permutations of the labels of the same items.

    Returns:
        Exact, or at least 1 / (`DRAWS` + 1); 1 if no permutation changes anything; None with fewer than two groups.

    Example:
        >>> round(permutation_p([1, 1, 1, 0, 0, 0], relabelling(list("mmmfff"), list("abcdef"))), 3)
        0.1
    """
    kinds = np.unique(relabelled.labels[:1])
    if len(kinds) < 2:
        return None
    deviations = np.asarray(values, dtype=np.float64) - np.mean(values)
    sums: Floats = np.bincount(relabelled.block, deviations).astype(np.float64)
    rows, labels = max(1, _CELLS // len(sums)), relabelled.labels
    between = np.concatenate(
        [_between(labels[k : k + rows], kinds, sums, relabelled.sizes) for k in range(0, len(labels), rows)]
    )
    as_far = int((between[1:] >= between[0] - _TIE * max(1.0, between[0])).sum())
    return as_far / len(between[1:]) if relabelled.exact else (1 + as_far) / len(between)


def _between(labels: NDArray[np.int16], kinds: NDArray[np.int16], sums: Floats, sizes: Floats) -> Floats:
    total = np.zeros(len(labels))
    for kind in kinds:
        own = (labels == kind).astype(np.float64)
        total += (own @ sums) ** 2 / (own @ sizes)
    return total
