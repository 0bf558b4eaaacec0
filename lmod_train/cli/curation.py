"""The commands `curate` and `subset`: raw datasets become benchmark records, and what was left out is printed."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jsonargparse.typing import NonNegativeInt

from lmod_train.core.errors import BadArgument, NothingToCurate, SourceNotFound, StrictDrops
from lmod_train.core.lock import locked
from lmod_train.core.types import Dropped
from lmod_train.data.sources.base import UNPLACED, Source
from lmod_train.tasks.base import Task

if TYPE_CHECKING:
    from lmod_train.data.curation.accepted import Named

_LIST = "`python -m lmod_train list sources` lists them"


def curate(
    *,
    out: Path,
    tasks: list[Task],
    raw: Path | None = None,
    sources: list[Source] | None = None,
    roots: dict[str, Path] | None = None,
    box_quantity: Literal["side", "area", "percentile"] = "side",
    box_threshold: float = 0.02,
    strict: bool = False,
    accept: Path | None = None,
    **settings: Any,
) -> None:
    """Turn raw datasets into records; the same command again goes on where it stopped.

    Args:
        out: Curated folder to write images, records and manifest to; new, empty, or from the same command.
        tasks: Tasks whose questions are asked of every sample.
        raw: Folder in which sources are searched, at any depth; they are recognised by their files, not by the names
            of folders.
        sources: Sources to use, with their options, e.g. `[source/idrid.yaml]`. A source that is not found below
            `--raw` is reported and left out. Default: every known source.
        roots: Folder of a single source, e.g. `--roots.refuge PATH`; takes precedence over `--raw`.
        box_quantity: Measure of the size of a box: its longer side relative to the image's, its area relative to the
            image's, or the percentile of this area within the source.
        box_threshold: Boxes smaller than this are left out and counted; 0 keeps all.
        strict: Fail and write no records if anything was left out or is missing. All images are read first, so that
            dropped.csv is complete; the same command without this option then continues.
        accept: File of drops that `--strict` permits: a checked copy of dropped.csv, or rows of source, key and reason.
        **settings: Settings of the pipeline.
    """
    from lmod_train.data.curation import pipeline
    from lmod_train.data.curation.accepted import Refusal, read_accepted
    from lmod_train.data.curation.filters import BoxFilter

    if accept is not None and not strict:
        raise BadArgument("--accept", str(accept), "`--strict`, whose exceptions it lists", "add `--strict`")
    accepted = read_accepted(accept) if accept else None
    command = shlex.join(["python", "-m", "lmod_train", *sys.argv[1:]])
    found, unfound = _sources(raw, sources, roots or {})
    with locked(out, "--out"):
        try:
            manifest = pipeline.curate(
                found,
                tasks,
                out,
                box_filter=BoxFilter(box_quantity, box_threshold),
                refusal=Refusal(strict, accepted or Counter(), command),
                missing=unfound,
                command=command,
                progress=sys.stderr.isatty(),
                **settings,
            )
        except StrictDrops:
            print_drops(out)
            raise
    print_written(manifest, out, accept, accepted)


def print_written(
    manifest: Mapping[str, Any], out: Path, accept: Path | None = None, accepted: Counter[Named] | None = None
) -> None:
    """Print what a curation has written: records by task and split, what is missing, what was left out, copies."""
    from lmod_train.data.curation.accepted import outdated
    from lmod_train.data.curation.balance import absent
    from lmod_train.data.curation.manifest_files import read_dropped
    from lmod_train.data.curation.missing import missing

    for task, counts in manifest["counts"].items():
        parts = ", ".join(f"{split} {c['records']}" for split, c in counts.items()) or "none"
        print(f"{task}: {sum(c['records'] for c in counts.values())} records ({parts})")
    for line in absent([account for accounts in manifest["balance"].values() for account in accounts]):
        print(f"missing: {line}")
    ratios = manifest["settings"]["ratios"]
    for line in missing(
        manifest["counts"], tuple(s for s, r in zip(("train", "val", "test"), ratios, strict=True) if r)
    ):
        print(f"missing: {line}")
    _print_families(manifest, out)
    for name, notes in manifest["sources"].items():
        if notes.get("grey_bits", 16) < 16:
            print(f"16-bit greys of {name} use {notes['grey_bits']} bits, which are taken for their full range")
    print_drops(out)
    for name in outdated(read_dropped(out / "dropped.csv"), accepted) if accepted else ():
        print(f"accepted in {accept}, but no longer dropped: {', '.join(name)}")
    print_copies(manifest, out)
    print(f"wrote {out / 'manifest.json'}")


def print_drops(out: Path) -> None:
    """Print what is missing and how much was left out."""
    from lmod_train.data.curation.drop_lines import drop_lines
    from lmod_train.data.curation.manifest_files import read_dropped

    for line in drop_lines(read_dropped(out / "dropped.csv"), out / "dropped.csv"):
        print(line)


def print_copies(manifest: Mapping[str, Any], out: Path) -> None:
    """Print the number of images with a copy in another split, if there are any."""
    kinds = manifest["leakage"]["counts"]
    crossing = {kind: kinds[kind]["images_crossing"] for kind in ("exact", "near") if kinds[kind]["images_crossing"]}
    if crossing:
        found = ", ".join(
            f"{n} with {'an exact' if kind == 'exact' else 'a near'} copy" for kind, n in crossing.items()
        )
        print(f"images in two splits: {found}; listed in {out / 'leakage.csv'}")


def _print_families(manifest: Mapping[str, Any], out: Path) -> None:
    """Print the number of images that are copies of the same photograph, and of copies with contradicting labels."""
    families = manifest["families"]
    if families["families"]:
        images = f"{families['in_families']} of {families['photographs']} images"
        images += f" show {families['families']} photographs"
        kept = "kept in one split each" if manifest["settings"]["split_by"] == "group" else "not kept in one split"
        print(f"copies, including mirrored and rotated ones: {images}, {kept}; listed in {out / 'leakage.csv'}")
    if families["contradictory"]:
        problem = "are left out, as they are copies of one photograph with contradicting labels"
        print(f"contradiction: {families['contradictory']} images {problem}; listed in {out / 'dropped.csv'}")


def _sources(
    raw: Path | None, wanted: list[Source] | None, roots: dict[str, Path]
) -> tuple[list[Source], list[Dropped]]:
    """Return the sources that were found or given, sorted by name, and those missing; prints both.

    A source given by its root must be complete. An incomplete source found below `raw` is left out. Folders that are
    not recognised count as left out if every known source was searched.
    """
    from lmod_train.data.sources.discovery import discover, source_classes

    known = {s.name: s for s in wanted} if wanted else {name: cls() for name, cls in source_classes().items()}
    for name in roots:
        if name not in known:
            raise BadArgument(f"--roots.{name}", str(roots[name]), f"the name of a source ({', '.join(known)})", _LIST)
    placed = {name: source for name, source in known.items() if source.root != UNPLACED}
    placed |= {name: known[name].at(root) for name, root in roots.items()}
    missing: list[Dropped] = []
    named = set(placed)
    if raw is None and not placed:
        raise BadArgument("--raw", None, "a folder to search for sources, or `--roots.SOURCE PATH`", _LIST)
    if raw is not None:
        found = discover(raw, wanted=list(known.values()))
        for source in found.sources:
            placed.setdefault(source.name, source)
        for skipped in found.skipped:
            print(f"skipped {skipped.folder}: {skipped.why}")
            if not wanted:
                place = skipped.folder.relative_to(raw).as_posix()
                missing.append(Dropped("raw", place, place, "read", "folder not used", skipped.why))
    if not placed and raw is not None:
        raise NothingToCurate(raw, list(known))
    whole = []
    for name, source in sorted(placed.items()):
        try:
            source.verify()
        except SourceNotFound as error:
            if name in named or len(placed) == 1:
                raise
            missing.append(Dropped(name, "all", ".", "read", "missing folder", str(error).splitlines()[0]))
            continue
        whole.append(source)
        print(f"found {name} in {source.root}")
    for name in sorted(set(known) - set(placed)) if wanted else ():
        missing.append(Dropped(name, "all", ".", "read", "missing folder", "not found below the raw folder"))
        print(f"not found: {name}; see {known[name].reference}, or give its folder with --roots.{name} PATH")
    return whole, missing


# The command `subset`: fewer records of a curated folder, for what costs money.


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
