"""Recomputes what the printed results of X-PCR show about one another, from `lmod_train/extensions/papers/xpcr.csv`.

    python scripts/benchmarks/xpcr_tables.py

Table 2 of the main paper has one row per model or group of readers: accuracies of six stages (SWA) and their mean,
accuracies at three levels of expertise (ESA) and their mean, complete-chain rate, calibration error and
uncertainty-aware score. Tables 3 to 8 of the supplement have the accuracies by modality. Each check is a relation that
values measured on the same questions have; `checks` lists it for each row with what is printed and what follows.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lmod_train.extensions.papers.printed import canonical_names, find
from lmod_train.extensions.xpcr.scores import CATEGORIES
from lmod_train.scoring.chain_steps import STEPS
from lmod_train.scoring.intervals import Floats

MODALITIES = {"EP": "3", "CFP": "4", "RetCam": "5", "FFA": "6", "ICGA": "7", "OCT": "8"}
"""Modality -> number of its table in the supplement."""
IMAGES = {"EP": 4064, "CFP": 6840, "RetCam": 600, "FFA": 3356, "ICGA": 3356, "OCT": 8199}
QUESTIONS = {"EP": 23977, "CFP": 32148, "RetCam": 19232, "FFA": 25841, "ICGA": 25841, "OCT": 49149}
"""Images and questions of each modality (statistics figure of the main paper, panels b and e)."""
STAGE_QUESTIONS = {"IQA": 21200, "AL": 46820, "LC": 35030, "DD": 37600, "SG": 21620, "CD": 13918}
STAGE_LEVELS = {
    "IQA": (70, 25, 5), "AL": (60, 30, 10), "LC": (45, 40, 15),
    "DD": (25, 50, 25), "SG": (30, 45, 25), "CD": (20, 40, 40),
}  # fmt: skip
"""Questions of each stage, and per cent of them for residents, attendings and specialists (its panel f)."""
LEVELS = ("resident", "attending", "specialist")
READERS = ("Residents", "Attendings", "Specialists")
SAME_RATIO, SAME_TOTAL, PRINTED = 0.002, 0.5, 0.006
"""Largest deviation of one constant, relative; of two totals, in points; and of a printed mean, in points."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of Table 2, in per cent but ``ece``.

    Attributes:
        name: As printed.
        swa: Accuracies of the six stages.
        esa: Accuracies at the three levels.
        swa_mean: Printed mean of the first.
        esa_mean: Printed mean of the second.
        ccr: Complete-chain rate.
        uas: Uncertainty-aware score.
    """

    name: str
    swa: Floats
    esa: Floats
    swa_mean: float
    esa_mean: float
    ccr: float
    uas: float


@dataclass(frozen=True, slots=True)
class Check:
    """One relation in one row.

    Attributes:
        relation: What is compared.
        name: Row of Table 2.
        printed: The printed side of it.
        recomputed: What follows from other printed values.
        holds: Whether both are consistent.
    """

    relation: str
    name: str
    printed: float
    recomputed: float
    holds: bool


def rows() -> list[Row]:
    """Return the rows of Table 2 in their order."""
    return [_row(name) for name in dict.fromkeys(cell.model for cell in find("xpcr", "Table 2"))]


def _row(name: str) -> Row:
    def values(metric: str, classes: Sequence[str]) -> Floats:
        return np.array([_value("Table 2", model=name, metric=metric, stage_or_class=c) for c in classes])

    means = [float(values(metric, ["mean"])[0]) for metric in ("swa_mean", "esa_mean")]
    rest = [_value("Table 2", model=name, metric=metric) for metric in ("ccr", "uas")]
    return Row(name, values("swa", STEPS), values("esa", LEVELS), means[0], means[1], rest[0], rest[1])


def _value(table: str, **fields: str) -> float:
    (cell,) = find("xpcr", table, **fields)
    return float(cell.value)


def by_modality(name: str) -> dict[str, Floats]:
    """Return modality -> accuracies of the six stages, of a model by its name in Table 2."""
    names = {printed: own for (paper, printed), own in canonical_names().items() if paper == "xpcr"}
    found = {}
    for modality, number in MODALITIES.items():
        table = f"Table {number}"
        (own,) = {c.model for c in find("xpcr", table) if names[c.model] == names[name]}
        found[modality] = np.array([_value(table, model=own, stage_or_class=step) for step in STEPS])
    return found


def is_proportional(one: Floats, other: Floats) -> bool:
    """Return whether two rows of six stages differ by a constant factor, within `SAME_RATIO` of its median."""
    ratios = one / other
    return float(np.abs(ratios / np.median(ratios) - 1).max()) <= SAME_RATIO


def proportional(modalities: Sequence[str] = tuple(MODALITIES)) -> tuple[int, int]:
    """Return how many rows of the tables by modality are another of them times a constant, and of how many.

    Args:
        modalities: Those whose tables are looked at.
    """
    found = []
    for row in rows():
        if row.name not in READERS:
            own = {modality: values for modality, values in by_modality(row.name).items() if modality in modalities}
            found += [any(is_proportional(own[a], own[b]) for b in own if b != a) for a in own]
    return sum(found), len(found)


def checks() -> Iterator[Check]:
    """Yield every relation for every row that has it."""
    for row in rows():
        yield from _means(row)
        if row.name not in READERS:
            yield from _tables(row)
        yield _totals(row)
        yield _dependence(row)
        yield from _bounds(row)


def _means(row: Row) -> Iterator[Check]:
    for kind, mean, parts in (("SWA", row.swa_mean, row.swa), ("ESA", row.esa_mean, row.esa)):
        again = float(parts.mean())
        yield Check(f"mean of {kind}", row.name, mean, again, abs(mean - again) <= PRINTED)


def _tables(row: Row) -> Iterator[Check]:
    """Yield how far the row is from a constant times the row of EP, and from means over the modalities.

    The first relation is one that separate measurements do not have, so it holds if they differ.
    """
    tables = by_modality(row.name)
    ratios = row.swa / tables["EP"]
    spread = float(np.abs(ratios / np.median(ratios) - 1).max())
    apart = not is_proportional(row.swa, tables["EP"])
    yield Check("no constant times EP", row.name, spread, float(np.median(ratios)), apart)
    every = np.array(list(tables.values()))
    for kind, weights in (
        ("equal", [1] * 6),
        ("images", list(IMAGES.values())),
        ("questions", list(QUESTIONS.values())),
    ):
        mean = np.average(every, axis=0, weights=weights)
        gap = int(np.abs(row.swa - mean).argmax())
        near = bool(np.abs(row.swa - mean).max() <= SAME_TOTAL)
        yield Check(f"mean over modalities ({kind})", row.name, float(row.swa[gap]), float(mean[gap]), near)


def total_by_stage(row: Row) -> float:
    """Return the accuracy over all questions from the stages' accuracies."""
    return float(np.average(row.swa, weights=list(STAGE_QUESTIONS.values())))


def total_by_level(row: Row) -> float:
    """Return the accuracy over all questions from the levels' accuracies."""
    sizes = np.array([np.array(STAGE_LEVELS[step]) * n for step, n in STAGE_QUESTIONS.items()]).sum(axis=0)
    return float(np.average(row.esa, weights=sizes))


def _totals(row: Row) -> Check:
    stages, levels = total_by_stage(row), total_by_level(row)
    return Check("total accuracy by stage and by level", row.name, stages, levels, abs(stages - levels) <= SAME_TOTAL)


def _dependence(row: Row) -> Check:
    """Return whether chains are right at least as often as with independent stages, as of one image or one reader."""
    product = float(100 * np.prod(row.swa / 100))
    return Check("CCR at least the product of SWA", row.name, row.ccr, product, row.ccr >= product)


def _bounds(row: Row) -> Iterator[Check]:
    least = max(0.0, 100 - float((100 - row.swa).sum()))
    yield Check("CCR at least 100 - sum of errors", row.name, row.ccr, least, row.ccr >= least - PRINTED)
    yield Check("CCR at most the least SWA", row.name, row.ccr, float(row.swa.min()), row.ccr <= row.swa.min())
    right = total_by_stage(row)
    most = right * CATEGORIES["cc"] + (100 - right) * CATEGORIES["iu"]
    yield Check("UAS at most with equal weights", row.name, row.uas, most, row.uas <= most + SAME_TOTAL)


def main() -> None:
    """Print a line for each relation and each row that is not consistent with it."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for shown in (tuple(MODALITIES), tuple(MODALITIES)[1:]):
        alike, of = proportional(shown)
        print(f"{', '.join(shown)}: {alike} of {of} rows are another modality's row of the model times a constant")
    found = list(checks())
    for relation in dict.fromkeys(check.relation for check in found):
        own = [check for check in found if check.relation == relation]
        failing = [check for check in own if not check.holds]
        print(f"{relation}: consistent in {len(own) - len(failing)} of {len(own)} rows")
        for check in failing:
            print(f"    {check.name}: {check.printed:.4g}, recomputed {check.recomputed:.4g}")


if __name__ == "__main__":
    main()
