"""Commands that look at a curated folder without a model: a representative subset, and what the words give away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jsonargparse.typing import NonNegativeInt

from lmod_train.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.audit.blind import Blind


def subset(
    curated: Path,
    *,
    n: int = 1000,
    seed: NonNegativeInt = 0,
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
    from lmod_train.artifacts.manifest import read_manifest
    from lmod_train.audit.subset import write_subset

    read_manifest(curated)
    chosen = [name for name in tasks.split(",") if name]
    path, strata = write_subset(curated, n, seed, split, chosen)
    for stratum, _, share in strata:
        if share:
            print(f"{share:5}  {' / '.join(' '.join(part.split()) for part in stratum)}")
    if left_out := sum(share == 0 for *_, share in strata):
        print(f"{left_out} of {len(strata)} strata (modality, task, source, class) are left out, the smallest")
    print(f"wrote {path}: {sum(share for *_, share in strata)} records")


def blind(curated: Path) -> None:
    """Try to answer every task without looking for disease: from its words, its source, its border, its files.

    Prints, and writes to CURATED/audit.csv, for each task what classifiers fitted on the training split get right in
    val and test: of words, choices and region ids (an accuracy above the most frequent answer means that the words give
    answers away; where a lead of 20 points could not have been found, the records are too few to tell), of the source,
    of the mask of the black border, of the nearest thumbnail of 24 x 24 pixels, and of the raw file's type and size.
    A model's score means nothing beyond these. What keys and image paths alone would give away stands apart: no model
    sees them.

    Args:
        curated: Folder that `curate` wrote.
    """
    from lmod_train.artifacts.manifest import read_manifest
    from lmod_train.artifacts.records import read_records
    from lmod_train.artifacts.shortcuts import FILE, write_shortcuts
    from lmod_train.audit.blind import blind as answer
    from lmod_train.audit.shortcuts import rows_of, shortcuts

    read_manifest(curated)
    records = read_records(curated / "records")
    found = answer(records)
    if not found:
        raise BadArgument("curated", str(curated), "records", "curate with more samples or tasks")
    shortcut_rows = shortcuts(curated, records)
    write_shortcuts(curated / FILE, [*(row for one in found for row in rows_of(one)), *shortcut_rows])
    for one in found:
        print(f"{one.task}: {_said_of(one)}")
        for row in shortcut_rows:
            if row.task == one.task and row.split == "val+test" and row.value is not None:
                print(f"  {row.shortcut} alone {row.value:.3f} [{row.low:.3f}, {row.high:.3f}], n {row.n}")
    print(f"wrote {curated / FILE}")


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
