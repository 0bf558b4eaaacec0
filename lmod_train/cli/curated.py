"""Commands that look at a curated folder without a model: a representative subset, and what the words give away."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lmod_train.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.curation.blind import Blind


def subset(
    curated: Path,
    *,
    n: int = 1000,
    seed: int = 0,
    split: Literal["train", "val", "test", "all"] = "all",
    tasks: str = "",
) -> None:
    """Draw a representative subset of a curated folder, e.g. for models that are dear to ask.

    Stratified over modality, task, source and class: each stratum gives its proportional share, at least one; where
    there are more strata than records wanted, the largest give one each, and how many are left out is said. Free text
    has no classes. Writes the record ids to CURATED/subsets/, one a line; `--data.subset FILE` then asks these records
    only.

    Args:
        curated: Folder that `curate` wrote.
        n: How many records; LMOD+ publishes 1,000.
        seed: Of the draw.
        split: Draw from one split only.
        tasks: Names of tasks to draw from, separated by commas; left out: all.
    """
    from lmod_train.curation.subset import write_subset

    chosen = [name for name in tasks.split(",") if name]
    path, strata = write_subset(curated, n, seed, split, chosen)
    for stratum, _, share in strata:
        if share:
            print(f"{share:5}  {' / '.join(' '.join(part.split()) for part in stratum)}")
    if left_out := sum(share == 0 for *_, share in strata):
        print(f"{left_out} of {len(strata)} strata (modality, task, source, class) are left out, the smallest")
    print(f"wrote {path}: {sum(share for *_, share in strata)} records")


def blind(curated: Path) -> None:
    """Try to answer every task from its words alone, without an image: what a benchmark must not allow.

    Prints, and writes to CURATED/blind.csv, for each task the accuracy of a classifier of words, choices and region ids
    trained on the training split and tried on the others, beside the most frequent answer to the same question. Where
    the records are so few that the test could not have found a lead of 20 points, it is too few to tell. What keys and
    image paths alone would give away stands apart: no model sees them.

    Args:
        curated: Folder that `curate` wrote.
    """
    from lmod_train.artifacts import read_manifest, read_records, whole
    from lmod_train.curation.blind import blind as answer

    read_manifest(curated)
    found = answer(read_records(curated / "records"))
    if not found:
        raise BadArgument("curated", str(curated), "records", "curate with more samples or tasks")
    columns = ("task", "n", "classes", "accuracy", "low", "high", "prior", "chance", "p", "names", "can_tell", "leaks")
    rows = [{c: getattr(one, c) for c in columns} for one in found]
    with whole(curated / "blind.csv") as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for one in found:
        print(f"{one.task}: {_said_of(one)}")
    print(f"wrote {curated / 'blind.csv'}")


def _said_of(one: Blind) -> str:
    if one.accuracy is None or one.low is None or one.high is None or one.prior is None or one.names is None:
        return "nothing to try (no training records, or none beside them)"
    verdict = "no leak found" if one.can_tell else "too few to tell"
    if one.leaks:
        verdict = "the words give the answer away"
    return (
        f"blind {one.accuracy:.3f} [{one.low:.3f}, {one.high:.3f}], most frequent answer {one.prior:.3f}, n {one.n}: "
        f"{verdict}; names alone {one.names:.3f} (no model sees them)"
    )
