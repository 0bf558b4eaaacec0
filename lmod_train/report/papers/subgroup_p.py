"""p values of subgroups as in LMOD's Tables 7 and 8: whether being right depends on age group or sex."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lmod_train.scoring.association import independence
from lmod_train.scoring.item_score import item_score
from lmod_train.scoring.items import Item
from lmod_train.scoring.subsets import age_group

GROUPS: Mapping[str, tuple[Callable[[Item], str], tuple[str, ...]]] = {
    "subgroup_age_p": (lambda item: age_group(item.patient.age), ("18-40", "40-60", "60+")),
    "subgroup_sex_p": (lambda item: item.patient.sex or "", ("male", "female")),
}
"""Task in the paper -> function that returns an item's group, and the groups that are compared."""


def subgroup_p(items: Sequence[Item], task: str) -> float | None:
    """Return the p value of equal accuracy in the groups: chi-square, or Fisher's exact test for small expected counts.

    Items are taken as independent, and an image is right if all its regions are. Patients under 18 and those of unknown
    age or sex are in no group.

    Args:
        items: Items of one task.
        task: A key of `GROUPS`.

    Returns:
        None with fewer than two groups that have items, or if all items are right or none is: then nothing can be
        tested, and the paper prints N/A for models without a right answer.
    """
    group_of, names = GROUPS[task]
    right = [sum(item_score(i) == 1 for i in items if group_of(i) == name) for name in names]
    sizes = [sum(group_of(i) == name for i in items) for name in names]
    found = independence(right, sizes) if 0 < sum(right) < sum(sizes) else None
    return None if found is None else found.p
