"""The command `subset`: fewer records of a curated folder, for what costs money."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from jsonargparse.typing import NonNegativeInt


def subset(
    curated: Path,
    *,
    n: int = 1000,
    seed: NonNegativeInt = 0,
    split: Literal["train", "val", "test", "all"] = "all",
    tasks: str = "",
) -> None:
    """Draw a representative subset of a curated folder, e.g. to evaluate paid models at lower cost.

    The draw is stratified over modality, task, source and class: each stratum contributes in proportion to its size,
    and at least one record. If there are more strata than records, the largest contribute one each, and the number of
    strata left out is printed. Free-text answers have no classes. Chains of questions are drawn whole, so that there
    may be a few records more or less. Writes the record ids to CURATED/subsets/, one per line; `--data.subset FILE` of
    `validate` and `test` then asks only these.

    Args:
        curated: Folder written by `curate`.
        n: Number of records. LMOD+ publishes results on 1,000.
        seed: Seed of the draw.
        split: Split to draw from.
        tasks: Names of tasks to draw from, separated by commas; all tasks if not given.
    """
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.core.lock import locked
    from lmod_train.data.audit.subset import write_subset

    read_manifest(curated)
    chosen = [name for name in tasks.split(",") if name]
    with locked(curated, "curated"):
        path, strata = write_subset(curated, n, seed, split, chosen)
    for stratum, _, share in strata:
        if share:
            print(f"{share:5}  {' / '.join(' '.join(part.split()) for part in stratum)}")
    if left_out := sum(share == 0 for *_, share in strata):
        print(f"{left_out} of {len(strata)} strata (modality, task, source, class) are left out: --n is too small")
    print(f"wrote {path}: {sum(share for *_, share in strata)} records")
