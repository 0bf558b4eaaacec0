"""Raw samples in, a curated folder out: the one place of curation that writes records.

The order is: read, per-sample steps (box, filter, number, draw, write the images), join copies of a photograph into
families, split, ask, choose the images of probes, balance, write the records. Images are drawn while they are open,
before the balance is known; those no record shows are removed.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from jsonargparse.typing import NonNegativeInt
from tqdm import tqdm

from lmod_train.artifacts.manifest import read_manifest, write_json
from lmod_train.artifacts.records import write_records
from lmod_train.curation import foreign as abroad
from lmod_train.curation import manifest
from lmod_train.curation.accepted import Named, Refusal
from lmod_train.curation.balance import Over
from lmod_train.curation.cluster import cluster_crew
from lmod_train.curation.families import Likeness, contradictions, families, likenesses, same_files
from lmod_train.curation.families import account as family_account
from lmod_train.curation.filters import BoxFilter, cutoff_of
from lmod_train.curation.images import FORMAT
from lmod_train.curation.inputs import Inputs, read_sources
from lmod_train.curation.journal import NAME, Journal, differing
from lmod_train.curation.leakage import Shown, account, find_pairs, torn_copies
from lmod_train.curation.prepare import Plan, Prepared, image_path, lost, measure_all, prepare_all
from lmod_train.curation.records import Asked, ask_all, count, draw_balanced, left_out, records_of
from lmod_train.curation.showing import show_all
from lmod_train.curation.splits import Place, split
from lmod_train.curation.workers import Crew, local_crew, run
from lmod_train.errors import BadArgument, CurationConflict
from lmod_train.files import sha256_of, sweep
from lmod_train.lock import is_empty
from lmod_train.sources.base import Source
from lmod_train.tasks.base import Task
from lmod_train.types import Dropped, Sample, Split

DEFAULT_FILTER = BoxFilter()


def curate(
    sources: Sequence[Source],
    tasks: Sequence[Task],
    out: Path,
    *,
    protocol: str = "lmod_v1",
    seed: NonNegativeInt = 0,
    ratios: Sequence[float] = (0.8, 0.15, 0.05),
    split_by: Literal["group", "image"] = "group",
    longest_side: int | None = 1024,
    box_filter: BoxFilter = DEFAULT_FILTER,
    balance: Sequence[str] | None = None,
    balance_over: Over = "split",
    copies: Literal["report", "drop"] = "report",
    foreign: Path | None = None,
    workers: int = 2,
    scheduler: str | None = None,
    strict: bool = False,
    accepted: Counter[Named] | None = None,
    missing: Sequence[Dropped] = (),
    command: str = "",
    progress: bool = True,
) -> dict[str, Any]:
    """Turn raw datasets into a curated folder; start it again after a kill and it goes on where it was.

    The same sources and settings give the same bytes, whatever the number of workers, on this machine or a cluster, and
    however often it was killed (but for the manifest's `command`, `root` and `from`, which say what was typed). A
    finished folder is returned at once.

    Args:
        sources: Raw datasets, each once.
        tasks: What to ask; several languages of a task are several tasks.
        out: The curated folder; new, empty, or begun by an earlier start.
        protocol: Name of the protocol, for the manifest.
        seed: Of splits, numbers and balance.
        ratios: Shares of train, val and test.
        split_by: ``image`` is the published protocol, with a warning.
        longest_side: Pixels of the curated images' longer side; never enlarged; None keeps originals.
        box_filter: Which boxes are too small to be asked about.
        balance: Names of the tasks to balance; None balances every task whose questions carry a stratum.
        balance_over: ``split`` balances every split by itself; ``source`` every source within every split, so that the
            source answers nothing, and leaves out sources without all classes; ``all`` lets the smallest class over all
            splits set the number for the whole task, as the published sets count, and the drawn keep their splits.
        copies: What to do with one image file in two splits: ``report`` it, or ``drop`` the copies that are not in the
            test split (else not in val).
        foreign: Folder of photographs that are not eyes, for probes that show one; None takes two that come with
            scikit-learn.
        workers: Processes that read and draw; 1 works in this process, which a file that crashes its decoder then ends.
        scheduler: Address of a running Dask scheduler whose workers read and draw instead; they must see the raw
            folders and `out` under the same paths. Needs the extra ``cluster``.
        strict: Raise when anything was dropped that is not accepted.
        accepted: Drops that `strict` lets pass, see `lmod_train.curation.accepted.read_accepted`.
        missing: Sources that should be there and are not, to be listed with the other drops.
        command: What was typed, for the manifest.
        progress: Show a progress bar.

    Returns:
        The manifest, as written to ``manifest.json``.

    Raises:
        BadArgument: An argument cannot be used, or `out` holds something else.
        CurationConflict: `out` was begun with other settings or inputs.
        StrictDrops: Something was dropped that is not accepted, and `strict` is set; ``dropped.csv`` lists it.
    """
    _check(tasks, out, balance, balance_over, copies, longest_side)
    if scheduler:  # other machines have another working directory
        sources, out = [s.at(s.root.absolute()) for s in sources], out.absolute()
    photographs = abroad.photographs_in(foreign)
    settings = {
        "protocol": protocol,
        "seed": seed,
        "ratios": list(ratios),
        "split_by": split_by,
        "longest_side": longest_side,
        "box_filter": {"quantity": box_filter.quantity, "threshold": box_filter.threshold},
        "balance": sorted(balance) if balance is not None else None,
        "balance_over": balance_over,
        "copies": copies,
        "foreign": abroad.fingerprint(photographs),
        "tasks": {f"{t.name}/{t.language}": manifest.task_settings(t) for t in tasks},
    }
    refusal = Refusal(strict, accepted or Counter(), command)
    inputs = read_sources(sources)
    inputs.dropped.extend(missing)
    head = manifest.header(settings, inputs.listing)
    if (out / "manifest.json").exists():
        return _finished(out, head, refusal)
    split((), ratios, by=split_by)  # refuses and warns before an hour of images
    out.mkdir(parents=True, exist_ok=True)
    journal = Journal(out, head)
    try:
        with cluster_crew(scheduler, out / NAME) if scheduler else local_crew(workers) as crew:
            cutoffs = _cutoffs(inputs.samples, box_filter, crew)
            plan = Plan(out, seed, longest_side, box_filter, cutoffs, tuple(tasks))
            _prepare(inputs.samples, plan, journal, crew, progress)
    finally:
        journal.close()
    divided = _divide(inputs.samples, journal, ratios, seed, split_by)
    written = _write(sources, inputs, plan, journal, divided, settings, foreign, refusal)
    written |= {**head, "protocol": protocol, "command": command, "seed": seed}
    write_json(out / "manifest.json", written)
    journal.remove()
    return written


@dataclass(frozen=True, slots=True)
class _Divided:
    """All samples, families as their groups; which are one photograph; what contradicts itself; and the splits."""

    samples: list[Sample]
    alike: list[Likeness]
    contradictory: list[Dropped]
    splits: dict[Place, Split]


def _divide(
    samples: Sequence[Sample], journal: Journal, ratios: Sequence[float], seed: int, by: Literal["group", "image"]
) -> _Divided:
    """Find families of copies and divide the samples; families stay together, but for the published split."""
    usable = {place: done for place, done in journal.done.items() if done.dropped is None}
    alike = same_files(samples, {place: done.files[0] for place, done in usable.items()})
    alike += likenesses(samples, {place: done.thumbnail for place, done in usable.items()})
    contradictory = contradictions(samples, alike)
    out = {(d.source, d.key) for d in contradictory}
    joined, spanning = families(samples, alike) if by == "group" else (list(samples), {})
    left = [s for s in joined if (s.source, s.key) not in out]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said at the start
        return _Divided(joined, alike, contradictory, split(left, ratios, seed=seed, by=by, spanning=spanning))


def _check(
    tasks: Sequence[Task], out: Path, balance: Sequence[str] | None, over: str, copies: str, side: int | None
) -> None:
    if not tasks:
        raise BadArgument("tasks", list(tasks), "at least one task", "`python -m lmod_train list tasks` names them")
    names = [(t.name, t.language) for t in tasks]
    if len(set(names)) < len(names):
        raise BadArgument("tasks", names, "each task once a language", "remove the repeated one")
    unknown = sorted(set(balance or ()) - {t.name for t in tasks})
    if unknown:
        raise BadArgument("balance", unknown, f"names among {sorted({t.name for t in tasks})}", "use the tasks' names")
    if over not in ("split", "all", "source"):
        raise BadArgument("balance_over", over, "split, all or source", "`all` balances over the whole task")
    if copies not in ("report", "drop"):
        raise BadArgument("copies", copies, "report or drop", "`report` counts and lists them in the manifest")
    if side is not None and side < 1:
        raise BadArgument("longest_side", side, "at least 1 pixel, or null for originals", "the default is 1024")
    ours = (out / "manifest.json").exists() or (out / NAME).exists()
    if out.exists() and not ours and (not out.is_dir() or not is_empty(out)):
        expected = "a new or empty folder, or one begun by `curate`"  # images that no record shows are removed there
        raise BadArgument("out", str(out), expected, "name another folder with `--out DIR`")


def _finished(out: Path, head: dict[str, Any], refusal: Refusal) -> dict[str, Any]:
    """Return the manifest of a finished folder, if it is what would be made again."""
    written = read_manifest(out)
    differences = differing(
        {k: written[k] for k in ("settings", "inputs")}, {k: head[k] for k in ("settings", "inputs")}
    )
    if differences:
        raise CurationConflict(out, differences)
    (out / NAME).unlink(missing_ok=True)  # a kill between the manifest and the journal's removal
    refusal.raise_for(manifest.read_dropped(out / "dropped.csv"), out / "dropped.csv")
    tqdm.write(f"{out} is finished: same settings and inputs, nothing to do", file=sys.stderr)
    return written


def _cutoffs(samples: Sequence[Sample], box_filter: BoxFilter, crew: Crew) -> dict[str, float]:
    """Return the measure a box must reach, by source; only ranks need a look at all boxes first."""
    measures: defaultdict[str, list[float]] = defaultdict(list)
    if box_filter.quantity == "percentile":
        for errand in run(partial(measure_all, box_filter=box_filter), samples, crew, lost=lambda _: []):
            for source, measure in errand:
                measures[source].append(measure)
    return {source: cutoff_of(box_filter, measures[source]) for source in {s.source for s in samples}}


def _prepare(samples: Sequence[Sample], plan: Plan, journal: Journal, crew: Crew, progress: bool) -> None:
    def is_done(sample: Sample) -> bool:
        done = journal.done.get((sample.source, sample.key))
        return done is not None and all(_holds(plan.out / image, sha256) for image, sha256 in _images(done).items())

    left = [s for s in samples if not is_done(s)]
    bar = tqdm(total=len(samples), initial=len(samples) - len(left), desc="curate", unit="image", disable=not progress)
    with bar:
        for errand in run(partial(prepare_all, plan=plan), left, crew, lost=lost):
            journal.append(errand)
            bar.update(len(errand))


def _write(
    sources: Sequence[Source],
    inputs: Inputs,
    plan: Plan,
    journal: Journal,
    divided: _Divided,
    settings: Mapping[str, Any],
    foreign: Path | None,
    refusal: Refusal,
) -> dict[str, Any]:
    """Write drops, leaks and records, remove images that none shows, and return the manifest's account of it."""
    done = {(s.source, s.key): journal.done[s.source, s.key] for s in inputs.samples}
    pairs = find_pairs(_shown(divided, done), divided.alike)
    torn = torn_copies(pairs) if settings["copies"] == "drop" else set()
    dropped = [*inputs.dropped, *(d for p in done.values() for d in (p.dropped, p.unmarked) if d is not None)]
    dropped += divided.contradictory
    dropped += [
        Dropped(s.source, s.key, str(s.image), "leakage", "copy_in_other_split")
        for s in inputs.samples
        if (s.source, s.key) in torn
    ]
    kept = [s for s in divided.samples if (s.source, s.key) in divided.splits.keys() - torn]
    drawn = _draw(plan, kept, done, divided.splits, settings, foreign)
    dropped += drawn.dropped
    roots = {s.name: s.root for s in sources} | ({abroad.NAME: foreign} if foreign else {})
    manifest.write_dropped(plan.out / "dropped.csv", dropped, roots)
    refusal.raise_for(dropped, plan.out / "dropped.csv")
    manifest.write_table(plan.out / "files.csv", manifest.FILE_COLUMNS, manifest.file_rows(divided.samples, done))
    if pairs:
        manifest.write_table(plan.out / "leakage.csv", manifest.LEAK_COLUMNS, (p.row() for p in pairs))
    shown: set[str] = set()
    for name, asked in drawn.asked.items():
        records = records_of(asked)
        write_records(plan.out / "records" / f"{name}.parquet", records)
        shown.update(image for r in records for image in (*r.image, *r.image_plain))
    _sweep(plan.out, shown)
    used = [p for p in drawn.photographs if p.image in shown]
    return {
        "sources": manifest.source_notes(sources, done.values()),
        "counts": {name: count(asked) for name, asked in drawn.asked.items()},
        "dropped": manifest.drop_counts(dropped),
        "dropped_extents": manifest.extent_counts(dropped),
        "dropped_boxes": manifest.box_counts(done.values()),
        "balance": drawn.balanced,
        "families": {**family_account(divided.samples, divided.alike), "contradictory": len(divided.contradictory)},
        "leakage": account(pairs),
        "images": {**FORMAT, "longest_side": plan.longest_side, "files": len(shown)},
        **({"foreign": abroad.note(foreign, used)} if used else {}),
    }


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Questions by task after the balance, its accounts, questions that found no image, and photographs curated."""

    asked: dict[str, list[Asked]]
    balanced: dict[str, Any]
    dropped: list[Dropped]
    photographs: list[abroad.Photograph]


def _draw(
    plan: Plan,
    samples: Sequence[Sample],
    done: Mapping[Place, Prepared],
    splits: Mapping[Place, Split],
    settings: Mapping[str, Any],
    foreign: Path | None,
) -> _Drawn:
    """Ask every task, choose the images of probes, and balance."""
    drawn = _Drawn({}, {}, [], [])

    def photographs() -> list[abroad.Photograph]:
        if not drawn.photographs:
            curated, unreadable = abroad.curate_foreign(abroad.photographs_in(foreign), plan.out, plan.longest_side)
            drawn.photographs.extend(curated)
            drawn.dropped.extend(unreadable)
        return drawn.photographs

    for name in sorted({t.name for t in plan.tasks}):
        asked = ask_all([t for t in plan.tasks if t.name == name], samples, done, splits)
        asked, imageless = show_all(asked, photographs, plan.seed)
        drawn.dropped.extend(imageless)
        if settings["balance"] is None or name in settings["balance"]:
            asked, drawn.balanced[name] = draw_balanced(asked, plan.seed, settings["balance_over"])
            drawn.dropped.extend(left_out(drawn.balanced[name]))
        drawn.asked[name] = asked
    return drawn


def _shown(divided: _Divided, done: Mapping[Place, Prepared]) -> list[Shown]:
    """Return the images as the check of leaks sees them, those dropped for their labels among them."""
    shown = []
    for s in divided.samples:
        made, labels = done[s.source, s.key], tuple(sorted(s.labels.items()))
        if made.dropped is None:
            placed: Split | Literal[""] = divided.splits.get((s.source, s.key), "")
            shown.append(Shown(s.source, s.key, placed, s.group, made.files[0], labels))
    return shown


def _images(done: Prepared) -> dict[str, str]:
    """Return the curated images of a sample with their SHA-256."""
    kinds = ((done.plain, False), (done.marked, True))
    return {image_path(done.source, done.key, marked=marked): sha256 for sha256, marked in kinds if sha256}


def _holds(image: Path, sha256: str) -> bool:
    return image.is_file() and sha256_of(image) == sha256


def _sweep(out: Path, shown: set[str]) -> None:
    """Remove images that no record shows, and what a kill left half-written."""
    for file in list((out / "images").rglob("*")):
        if file.is_file() and file.relative_to(out).as_posix() not in shown:
            file.unlink()
    for folder in sorted((f for f in (out / "images").rglob("*") if f.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    for place in (out, out / "records"):
        sweep(place, older=0)
