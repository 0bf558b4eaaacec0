"""Draw the same number of questions from every class, as the published sets were drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lmod_train.curation.numbering import lot


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that may be drawn.

    Attributes:
        cell: What is balanced by itself: task, split, language, variant.
        stratum: Class; balanced against the other classes of its cell.
        source: Source of the sample.
        key: Key of the sample within the source.
        group: Patient or augmentation family.
    """

    cell: tuple[str, ...]
    stratum: str
    source: str
    key: str
    group: str


def draw(candidates: Sequence[Candidate], seed: int) -> tuple[set[int], list[dict[str, Any]]]:
    """Return the positions drawn, and an account of each cell for the manifest.

    The smallest class present in a cell sets n for all its classes; each class gives its n first items by lot. The lot
    hangs on the sample, so that two languages of a task ask about the same images. A class present elsewhere in the
    task but missing in the cell is named in the account as ``missing``. Items are what is balanced, as published; the
    account tells how many patients (groups) they come from.

    Args:
        candidates: In any order; the result does not depend on it.
        seed: Draws the lots.

    Returns:
        Positions in `candidates`, and one account a cell, sorted; both empty for no candidates.
    """
    cells: defaultdict[tuple[str, ...], defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    whole: defaultdict[tuple[str, str], set[str]] = defaultdict(set)  # classes of a task and variant, over all splits
    for i, c in enumerate(candidates):
        cells[c.cell][c.stratum].append(i)
        whole[c.cell[0], c.cell[-1]].add(c.stratum)
    drawn: set[int] = set()
    accounts = []
    for cell in sorted(cells):
        strata = cells[cell]
        n = min(len(members) for members in strata.values())
        kept: list[int] = []
        for members in strata.values():
            kept += sorted(members, key=lambda i: _lot(candidates[i], seed))[:n]
        drawn.update(kept)
        accounts.append(
            {
                "cell": list(cell),
                "n_per_class": n,
                "before": dict(sorted(Counter({s: len(m) for s, m in strata.items()}).items())),
                "items": len(kept),
                "groups": len({(candidates[i].source, candidates[i].group) for i in kept}),
                "groups_per_class": {
                    s: len({(candidates[i].source, candidates[i].group) for i in kept if candidates[i].stratum == s})
                    for s in sorted(strata)
                },
                "missing": sorted(whole[cell[0], cell[-1]] - set(strata)),
            }
        )
    return drawn, accounts


def _lot(candidate: Candidate, seed: int) -> tuple[str, str, str]:
    variant = candidate.cell[-1]
    return lot(seed, "balance", candidate.source, candidate.key, variant), candidate.source, candidate.key
