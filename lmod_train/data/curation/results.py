"""What a curation leaves on the disk besides images: drops, leaks, files, records, and their account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.records import write_records
from lmod_train.core.files import remove, remove_empty, sweep
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation import foreign as abroad
from lmod_train.data.curation import manifest
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.asking import Questions, ask
from lmod_train.data.curation.division import Divided, shown_images
from lmod_train.data.curation.families import account as family_account
from lmod_train.data.curation.images import FORMAT
from lmod_train.data.curation.inputs import Inputs
from lmod_train.data.curation.leakage import ImagePair, account, copies_to_drop, find_pairs
from lmod_train.data.curation.prepare import Plan, Prepared
from lmod_train.data.curation.records import count, records_of
from lmod_train.data.curation.sharing import ImageIndex
from lmod_train.data.curation.splits import Place
from lmod_train.data.sources.base import Source


@dataclass(frozen=True, slots=True)
class Results:
    """What became of everything that was read.

    Attributes:
        inputs: What the sources hold.
        images: The images that the samples show.
        done: What became of each sample, by source and key.
        prepared: What became of each image, by source and key.
        divided: Groups and splits.
    """

    inputs: Inputs
    images: ImageIndex
    done: Mapping[Place, Prepared]
    prepared: Mapping[Place, Prepared]
    divided: Divided


def write_results(
    sources: Sequence[Source],
    plan: Plan,
    results: Results,
    settings: Mapping[str, Any],
    foreign: Path | None,
    refusal: Refusal,
) -> dict[str, Any]:
    """Ask every task, write drops, leaks and records, and return the manifest's account; no record, no image.

    Raises:
        StrictDrops: Something was dropped that is not accepted; ``dropped.csv`` lists it and no record is written.
    """
    divided = results.divided
    pairs = find_pairs(shown_images(divided, results.images, results.prepared), divided.alike)
    copies = _copies(pairs, results) if settings["copies"] == "drop" else []
    out = {(s.source, s.key) for s in copies}
    kept = [s for s in divided.samples if (s.source, s.key) in divided.splits.keys() - out]
    asked = ask(plan, kept, results.done, divided.splits, results.prepared, settings, foreign, divided.alike)
    dropped = [*_dropped(results, copies), *asked.dropped]
    roots = {s.name: s.root for s in sources} | ({abroad.NAME: foreign} if foreign else {})
    manifest.write_dropped(plan.out / "dropped.csv", dropped, roots)
    refusal.raise_for(dropped, plan.out / "dropped.csv")
    _write_tables(plan.out, results, pairs)
    shown = _write_records(plan.out, asked)
    _sweep(plan.out, shown)
    used = [p for p in asked.photographs if p.image in shown]
    return {
        "sources": manifest.source_notes(sources, results.done.values(), results.prepared, kept),
        "counts": {name: count(questions) for name, questions in asked.by_task.items()},
        "dropped": manifest.drop_counts(dropped),
        "dropped_extents": manifest.extent_counts(dropped),
        "dropped_boxes": manifest.box_counts(results.done.values()),
        "balance": asked.balanced,
        "families": {**family_account(divided.images, divided.alike), "contradictory": len(divided.contradictory)},
        "leakage": account(pairs),
        "images": {**FORMAT, "longest_side": plan.longest_side, "files": len(shown)},
        **({"joined_parts": [asdict(one) for one in asked.joined]} if asked.joined else {}),
        **({"accounts": asked.accounts} if asked.accounts else {}),
        **({"foreign": abroad.note(foreign, used)} if used else {}),
    }


def _copies(pairs: Sequence[ImagePair], results: Results) -> list[Sample]:
    """Return the samples that show an exact copy which is in another split."""
    out = copies_to_drop(pairs)
    return [s for s in results.inputs.samples if out & {(s.source, key) for key in s.image_keys}]


def _dropped(results: Results, copies: Sequence[Sample]) -> list[Dropped]:
    """Return what was left out until the questions are asked."""
    prepared = [p.dropped for p in results.done.values() if p.dropped is not None]
    prepared += [one for p in results.prepared.values() for one in p.listed]
    crossing = [Dropped.of(s, "leakage", "copy_in_other_split") for s in copies]
    return [*results.inputs.dropped, *prepared, *results.divided.contradictory, *results.divided.moved, *crossing]


def _write_tables(out: Path, results: Results, pairs: Sequence[ImagePair]) -> None:
    rows = manifest.file_rows(results.divided.images, results.prepared)
    manifest.write_table(out / "files.csv", manifest.FILE_COLUMNS, rows)
    if pairs:
        manifest.write_table(out / "leakage.csv", manifest.LEAK_COLUMNS, (p.row() for p in pairs))


def _write_records(out: Path, asked: Questions) -> set[str]:
    """Write the records of every task and return the images that they show."""
    shown: set[str] = set()
    for name, questions in asked.by_task.items():
        records = records_of(questions)
        write_records(out / "records" / f"{name}.parquet", records)
        shown.update(image for r in records for image in (*r.image, *r.image_plain))
    return shown


def _sweep(out: Path, shown: set[str]) -> None:
    """Remove images that no record shows, and what a kill left half-written."""
    for file in list((out / "images").rglob("*")):
        if file.is_file() and file.relative_to(out).as_posix() not in shown:
            remove(file)
    for folder in sorted((f for f in (out / "images").rglob("*") if f.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            remove_empty(folder)
    for place in (out, out / "records"):
        sweep(place, older=0)
