"""Commands on a curated folder that need no model: `subset` and `blind`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.errors import BadArgument

if TYPE_CHECKING:
    from lmod_train.data.audit.blind import Blind


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


def blind(curated: Path) -> None:
    """Measure how well every task can be answered without the medical content of its images.

    Fits simple classifiers on the training split and evaluates them on val and test, one per shortcut: the words of the
    question (prompt, choices and region ids), the source, the mask of the black border, the most similar thumbnail of
    24 x 24 pixels, a random forest on thumbnails, and the raw file's type and size. A model's score only counts above
    these. If the words alone reach more than the share of the most frequent answer, they leak the answer; with too few
    records to detect a difference of 20 percentage points, that is printed instead. Record keys and image paths, which
    no model sees, are reported separately. Prints the accuracies with 95 % intervals and writes them to
    CURATED/audit.csv.

    Args:
        curated: Folder written by `curate`.
    """
    from lmod_train.core.artifacts.manifest import read_manifest
    from lmod_train.core.artifacts.records import read_records
    from lmod_train.core.artifacts.shortcuts import FILE, write_shortcuts
    from lmod_train.core.lock import locked
    from lmod_train.data.audit.blind import blind as answer
    from lmod_train.data.audit.filled_crops import write_filled_crops
    from lmod_train.data.audit.shortcuts import rows_of, shortcuts

    read_manifest(curated)
    records = read_records(curated / "records")
    found = answer(records)
    if not found:
        raise BadArgument("curated", str(curated), "records", "curate with more samples or tasks")
    shortcut_rows = shortcuts(curated, records)
    with locked(curated, "curated"):
        write_shortcuts(curated / FILE, [*(row for one in found for row in rows_of(one)), *shortcut_rows])
        write_filled_crops(curated, records)
    for one in found:
        print(f"{one.task}: {_summary(one)}")
        for row in shortcut_rows:
            if row.task == one.task and row.split == "val+test" and row.value is not None:
                print(f"  {row.shortcut} alone {row.value:.3f} [{row.low:.3f}, {row.high:.3f}], n {row.n}")
    print(f"wrote {curated / FILE}")


def _summary(one: Blind) -> str:
    if one.accuracy is None or one.low is None or one.high is None or one.prior is None or one.names is None:
        return "not measured (no records in train, or none in val and test)"
    verdict = "no leak found" if one.can_tell else "too few records to detect a leak"
    if one.leaks:
        verdict = "the words leak the answer"
    return (
        f"words alone {one.accuracy:.3f} [{one.low:.3f}, {one.high:.3f}], most frequent answer {one.prior:.3f}, "
        f"n {one.n}: {verdict}; keys and paths alone {one.names:.3f} (not shown to models)"
    )
