"""How a printed result was obtained, and which score of this package is defined in the same way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.report.papers.patterns import first_match
from lmod_train.report.papers.printed import Printed, printed, read_table
from lmod_train.tasks.conditions import variant_of

_LEVELS = {"resident": "R", "attending": "A", "specialist": "S"}
"""Level of expertise, as printed -> tag ``level`` of the records."""

_LANGUAGES = {"CN": "zh", "EN": "en"}
"""End of a subset's name, as printed -> language of the records."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a printed result was obtained.

    Attributes:
        task: Task of this package.
        metric: Metric of this package with the same definition.
        subset: Subset of the scores, as in ``scores.csv``.
        asked: Part of `subset` that chooses which items are asked, without a stage or level; ``all`` for all.
        names: Protocols whose curated folders ask the same questions of the same sources; empty if not stated.
        words: Digest of each printed template (`lmod_train.tasks.wordings.digest_of`) -> where it is printed, empty if
            only one is; empty if none is printed.
        sources: Source -> number of its images among the items, where the paper states it.
        n: Number of items asked; None if it is neither printed nor follows from printed numbers.
        split: Split of the items: ``all`` or ``test``.
        balanced: Whether all classes have equally many items; None if not stated.
        unknown: What else about the definition is not stated; empty if nothing.
        note: Remark needed to interpret the score.
    """

    task: str
    metric: str
    subset: str
    asked: str
    names: tuple[str, ...]
    words: Mapping[str, str]
    sources: Mapping[str, int]
    n: int | None
    split: str
    balanced: bool | None
    unknown: str
    note: str


@cache
def protocol_of(cell: Printed) -> Protocol | None:
    """Return how a printed result was obtained: the first matching row of ``protocols.csv``, None if there is none.

    Example:
        >>> found = protocol_of(Printed("lmod_naacl", "Table 2", "GPT-4o", "glaucoma_diagnosis", metric="accuracy"))
        >>> found.metric, found.n, found.balanced
        ('accuracy_answered', 336, True)
    """
    row = first_match(read_table("protocols"), cell)
    if row is None or not row["our_task"]:
        return None
    n, balanced = row["n"], {"yes": True, "no": False, "": None}[row["balanced"]]
    asked = _subset(row["by"].removesuffix("stage").removesuffix("level").removesuffix(";"), cell)
    return Protocol(
        row["our_task"],
        row["our_metric"],
        _subset(row["by"], cell),
        asked,
        tuple(filter(None, row["protocol"].split("|"))),
        {digest: place for digest, _, place in (w.partition("=") for w in row["words"].split("|")) if digest},
        _sources(cell) if row["our_task"] == "anatomy" and n else {},
        int(n) if n else None,
        row["split"],
        balanced,
        row["unknown"],
        row["remark"],
    )


def _sources(cell: Printed) -> dict[str, int]:
    """Return the printed number of images of each source that a cell about regions is over."""
    found = {source_of(c): c for c in images_of_sources(cell.paper)}
    own = {source_of(cell)} & found.keys()
    return {s: int(c.value) for s, c in found.items() if s in (own or found) and cell.modality in ("all", c.modality)}


def images_of_sources(paper: str) -> Iterator[Printed]:
    """Yield the printed numbers of images of single sources."""
    for cell in printed(paper):
        if cell.metric == "num_images" and cell.modality not in ("", "all") and "+" not in cell.dataset_or_subset:
            yield cell


def source_of(cell: Printed) -> str:
    """Return what a cell is over as the name of a source in this package.

    Example:
        >>> source_of(Printed("lmod_plus", "text", dataset_or_subset="Harvard FairSeg"))
        'fairseg'
    """
    return re.sub("[^a-z0-9]", "_", cell.dataset_or_subset.lower().removeprefix("harvard "))


def _subset(by: str, cell: Printed) -> str:
    """Return the subset of ``scores.csv`` that a cell is over, by the kinds of subset, e.g. ``modality;stage``."""
    if ";" in by:
        return ";".join(_subset(one, cell) for one in by.split(";"))
    values = {
        "": "",
        "modality": "" if cell.modality in ("all", "macro_avg") else cell.modality,
        "stage": cell.stage_or_class.removeprefix("stage ").replace("overall", ""),
        "level": _LEVELS.get(cell.stage_or_class, ""),
        "source": cell.dataset_or_subset.lower(),
        "condition": _condition(cell.dataset_or_subset),
        "language": _LANGUAGES.get(cell.dataset_or_subset.rpartition("_")[2], ""),
    }
    return f"{by}={values[by]}" if values[by] else "all"


def _condition(short: str) -> str:
    """Return the condition with a short form, in the spelling of subsets; empty if there is none."""
    return next((variant_of(f.condition) for f in FINDINGS if f.short.lower() == short.lower()), "")
