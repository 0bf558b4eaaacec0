"""Raw samples in, a curated folder out: the stages of curation, its workers on a cluster, and what it writes.

The order is: read, per-image steps (box, filter, number, draw, write the images), join what belongs together into
families, split, ask, choose the images of probes, balance, write the records. Images are drawn while they are open,
before the balance is known; those no record shows are removed.
"""

from __future__ import annotations

import socket
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from jsonargparse.typing import NonNegativeInt
from tqdm import tqdm

from lmod_train.core.artifacts.manifest import read_manifest, write_json
from lmod_train.core.artifacts.records import write_records
from lmod_train.core.artifacts.schema import SCHEMA_VERSION
from lmod_train.core.csv_files import write_csv
from lmod_train.core.errors import BadArgument, CurationConflict, LmodError, check_one_of
from lmod_train.core.files import make_folder, remove, remove_empty, sha256_of, sweep
from lmod_train.core.types import FACTS_VERSION, Dropped, Region, Sample
from lmod_train.data.curation import foreign as abroad
from lmod_train.data.curation import manifest_files as manifest
from lmod_train.data.curation.accepted import Refusal
from lmod_train.data.curation.balance import Over
from lmod_train.data.curation.boxes import DEFAULT_RULE, BoxRule
from lmod_train.data.curation.division import Divided, divide, shown_images
from lmod_train.data.curation.evidence import TELLING, Shapes, shapes_of
from lmod_train.data.curation.families import account as family_account
from lmod_train.data.curation.filters import BoxFilter, cutoff_of
from lmod_train.data.curation.image_files import FORMAT, used_bits
from lmod_train.data.curation.inputs import Inputs, read_sources
from lmod_train.data.curation.journal import NAME, Journal, differing
from lmod_train.data.curation.leakage import account, copies_to_drop, find_pairs
from lmod_train.data.curation.orientation import Turned
from lmod_train.data.curation.prepare import Plan, Prepared, boxes_all, lost, prepare_all
from lmod_train.data.curation.question_records import Questions, ask
from lmod_train.data.curation.records import count, records_of
from lmod_train.data.curation.sharing import ImageIndex, images_of, prepared_sample
from lmod_train.data.curation.splits import Place, split
from lmod_train.data.curation.versions import versions
from lmod_train.data.curation.workers import Crew, local_crew, run
from lmod_train.data.sources.base import Source
from lmod_train.tasks.base import Task

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
    turned: Turned = "list",
    specks: float = 0.0,
    balance: Sequence[str] | None = None,
    balance_over: Over = "split",
    copies: Literal["report", "drop"] = "report",
    foreign: Path | None = None,
    workers: int = 2,
    scheduler: str | None = None,
    refusal: Refusal | None = None,
    missing: Sequence[Dropped] = (),
    command: str = "",
    progress: bool = True,
) -> dict[str, Any]:
    """Turn raw datasets into a curated folder; the same call again continues an interrupted curation.

    The same sources and settings give identical files, independent of the number of workers, of the machine and of
    interruptions, except for `command`, `root` and `from` in the manifest. If the folder is complete, its manifest is
    returned.

    Args:
        sources: Raw datasets, each only once.
        tasks: Tasks; each language of a task is a task of its own.
        out: Curated folder; new, empty, or from an earlier call with the same arguments.
        protocol: Name of the protocol, for the manifest.
        seed: Seed of splits, region numbers and balancing.
        ratios: Shares of train, val and test.
        split_by: ``group`` keeps a patient's images and copies of an image in one split; ``image`` is the published
            protocol, which does not, and prints a warning.
        longest_side: Maximum length of the longer side of curated images in pixels; smaller images keep their size, and
            None (null in YAML) keeps all sizes.
        box_filter: Filter of boxes that are too small.
        turned: Where annotations lie if the photograph has an EXIF orientation and their size does not show it:
            ``stored``, on the pixels as stored; ``upright``, on the upright picture; ``list`` leaves the boxes of such
            photographs out and lists them.
        specks: Leave connected components of a mask out of the box if they have fewer pixels than this share of the
            structure's largest, e.g. 0.01; 0 keeps all, as published. Far components are listed in either case.
        balance: Names of the tasks whose classes are balanced; None balances every task that supports it.
        balance_over: Draw equally many questions of each class within every split (``split``), within every source of
            every split, leaving out sources without all classes, so that the source does not predict the answer
            (``source``), or over the whole task, as in the published sets (``all``).
        copies: How to treat an image file that is in two splits: ``report`` it, or ``drop`` all copies but those in the
            test split (if none is in test: in val).
        foreign: Folder of photographs that do not show eyes, for probe questions; None uses two of scikit-learn.
        workers: Number of processes that read and write images; with 1, a file that crashes its decoder ends the
            curation.
        scheduler: Address of a running Dask scheduler whose workers read and write images instead; the raw folders and
            `out` must have the same paths there. Needs the extra ``cluster``.
        refusal: What must not be dropped; None permits everything, which is listed and counted.
        missing: Sources that were expected but not found, to be listed with the other drops.
        command: Command as typed, for the manifest.
        progress: Show a progress bar.

    Returns:
        The manifest, as written to ``manifest.json``.

    Raises:
        BadArgument: An argument is invalid, or `out` contains other files.
        CurationConflict: `out` was curated with other settings or inputs.
        LmodError: `refusal` refuses what was dropped; ``dropped.csv`` lists it.
    """
    check_arguments(tasks, out, balance, balance_over, copies, longest_side)
    rule = BoxRule(turned, specks)
    if scheduler:  # other machines have another working directory
        sources, out = [s.at(s.root.absolute()) for s in sources], out.absolute()
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
        **({"boxes": asdict(rule)} if rule != DEFAULT_RULE else {}),  # so that folders of before it continue
        "foreign": abroad.fingerprint(abroad.photographs_in(foreign)),
        "tasks": {f"{t.name}/{t.language}": manifest.task_settings(t) for t in tasks},
    }
    refusal = refusal or Refusal()
    inputs = read_sources(sources)
    inputs.dropped.extend(missing)
    refusal.raise_before(inputs.dropped, out)
    head = {"schema_version": SCHEMA_VERSION, "settings": settings, "inputs": inputs.listing, "versions": versions()}
    if (out / "manifest.json").exists():
        return _measured(finished(out, head, refusal), tasks, out)
    split((), ratios, by=split_by)  # refuses and warns before an hour of images
    make_folder(out)
    plan = Plan(out, seed, longest_side, box_filter, {}, tuple(tasks), rule)
    images = images_of(inputs.samples)
    journal = Journal(out, head)
    try:
        with cluster_crew(scheduler, out / NAME) if scheduler else local_crew(workers) as crew:
            _prepare(inputs, images, plan, journal, crew, progress)
    finally:
        journal.close()
    divided = divide(inputs.samples, images, journal.done, journal.thumbnails, ratios, seed, split_by)
    done = {(s.source, s.key): prepared_sample(s, journal.done) for s in inputs.samples}
    results = Results(inputs, images, done, journal.done, divided)
    written = write_results(sources, plan, results, settings, foreign, refusal)
    written |= {**head, "protocol": protocol, "command": command, "seed": seed}
    write_json(out / "manifest.json", written)
    journal.remove()
    return _measured(written, tasks, out)


def _measured(written: dict[str, Any], tasks: Sequence[Task], out: Path) -> dict[str, Any]:
    """Return the manifest, once the tasks have measured what belongs to the folder as a whole."""
    for task in tasks:
        task.measure(out)
    return written


def _prepare(inputs: Inputs, images: ImageIndex, plan: Plan, journal: Journal, crew: Crew, progress: bool) -> None:
    """Prepare every image that the journal does not hold: those that samples own with their boxes, the others bare."""
    owned = {(s.source, s.key) for s in inputs.samples if s.image is not None}
    plan = replace(plan, cutoffs=_cutoffs(inputs.samples, plan, crew), shapes=_shapes(inputs.samples, plan, crew))
    own = [s for s in images.samples if (s.source, s.key) in owned]
    shared = [s for s in images.samples if (s.source, s.key) not in owned]

    def is_done(image: Sample) -> bool:
        done = journal.done.get((image.source, image.key))
        return done is not None and all(
            (plan.out / name).is_file() and sha256_of(plan.out / name) == sha256
            for name, sha256 in done.curated.items()
        )

    left = {is_own: [s for s in of_kind if not is_done(s)] for is_own, of_kind in ((True, own), (False, shared))}
    before = len(images.samples) - sum(map(len, left.values()))
    with tqdm(total=len(images.samples), initial=before, desc="curate", unit="image", disable=not progress) as bar:
        for _ in range(2):  # the second time those that wait for the greys of their whole source
            waiting: dict[Place, int] = {}
            for is_own, samples in left.items():
                of_kind = plan if is_own else replace(plan, tasks=())
                for job in run(partial(prepare_all, plan=of_kind), samples, crew, lost=lost):
                    done = [p for p in job if not p.waits]
                    waiting |= {(p.source, p.key): p.grey for p in job if p.waits}
                    journal.append(done)
                    bar.update(len(done))
            left = {is_own: [s for s in of_kind if (s.source, s.key) in waiting] for is_own, of_kind in left.items()}
            plan = replace(plan, bits=_bits(waiting, journal))


def _bits(waiting: Mapping[Place, int], journal: Journal) -> dict[str, int]:
    """Return source -> bits that all its 16-bit greys use together, of the sources with images that wait."""
    greys = {place: p.grey for place, p in journal.done.items()} | dict(waiting)
    sources = {source for source, _ in waiting}
    return {source: used_bits(max(grey for (of, _), grey in greys.items() if of == source)) for source in sources}


def _cutoffs(samples: Sequence[Sample], plan: Plan, crew: Crew) -> dict[str, float]:
    """Return the measure a box must reach, by source; only ranks need a look at all boxes first."""
    measures: defaultdict[str, list[float]] = defaultdict(list)
    box_filter = plan.box_filter
    if box_filter.quantity == "percentile":
        for source, size, region in _boxes(samples, plan, crew):
            measures[source].append(box_filter.measure(region.box, size))
    return {source: cutoff_of(box_filter, measures[source]) for source in {s.source for s in samples}}


def _shapes(samples: Sequence[Sample], plan: Plan, crew: Crew) -> Shapes:
    """Return the shape that is filled over each structure whose outline tells the answer, if a task removes one."""
    telling = any(set(t.evidence) & set(TELLING) for t in plan.tasks)
    return shapes_of(_boxes(samples, plan, crew)) if telling else {}


def _boxes(samples: Sequence[Sample], plan: Plan, crew: Crew) -> Iterator[tuple[str, tuple[int, int], Region]]:
    """Yield source, size of the image and region of every box, of which some plans need to know before any other."""
    own = [s for s in samples if s.image is not None]
    for job in run(partial(boxes_all, rule=plan.boxes), own, crew, lost=lambda _: []):
        yield from job


def check_arguments(
    tasks: Sequence[Task], out: Path, balance: Sequence[str] | None, over: str, copies: str, side: int | None
) -> None:
    """Check the arguments of `curate` before an hour of images.

    Raises:
        BadArgument: One of them cannot be used, or `out` holds what is not a curated folder.
    """
    if not tasks:
        raise BadArgument("tasks", list(tasks), "at least one task", "`python -m lmod_train list tasks` names them")
    names = [(t.name, t.language) for t in tasks]
    if len(set(names)) < len(names):
        twice = sorted({name for name, language in names if names.count((name, language)) > 1})
        cure = f"leave `--tasks+` out, as the config has it; this task alone: `--tasks {twice[0]}`"
        raise BadArgument("tasks", ",".join(twice), "each task once a language", cure)
    unknown = sorted(set(balance or ()) - {t.name for t in tasks})
    if unknown:
        raise BadArgument("balance", unknown, f"names among {sorted({t.name for t in tasks})}", "use the tasks' names")
    if over not in ("split", "all", "source"):
        raise BadArgument("balance_over", over, "split, all or source", "`all` balances over the whole task")
    check_one_of("copies", copies, ("report", "drop"), "`report` counts and lists them in the manifest")
    if side is not None and side < 1:
        raise BadArgument("longest_side", side, "at least 1 pixel, or null for originals", "the default is 1024")
    check_out(out)


BEFORE = frozenset(
    {"table.yaml", "table_images.parquet", "device_images", "scans.csv", "understood.html", "losses.csv", "dropped.csv"}
    | {".lock"}
)
"""Files that a curation which stopped before its first image leaves in its folder."""


def check_out(out: Path) -> None:
    """Refuse a folder with other files: images that no record shows are removed from a curated folder.

    Raises:
        BadArgument: `out` holds what no curation has written.
    """
    is_begun = any((out / name).exists() for name in ("manifest.json", NAME))
    if out.exists() and not is_begun and (not out.is_dir() or {one.name for one in out.iterdir()} - BEFORE):
        expected = "a new or empty folder, or one begun by `curate`"
        raise BadArgument("out", str(out), expected, "name another folder with `--out DIR`")


def finished(out: Path, head: dict[str, Any], refusal: Refusal) -> dict[str, Any]:
    """Return the manifest of a finished folder, if it is what would be made again."""
    written = read_manifest(out)
    differences = differing(
        {k: written[k] for k in ("settings", "inputs")}, {k: head[k] for k in ("settings", "inputs")}
    )
    if differences:
        raise CurationConflict(out, differences)
    remove(out / NAME)  # a kill between the manifest and the journal's removal
    refusal.raise_for(manifest.read_dropped(out / "dropped.csv"), out / "dropped.csv")
    tqdm.write(f"{out} is finished: same settings and inputs, nothing to do", file=sys.stderr)
    return written


# What a curation leaves on the disk besides images: drops, leaks, files, records, and their account.


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
        LmodError: `refusal` refuses what was dropped; ``dropped.csv`` lists it and no record is written.
    """
    divided = results.divided
    pairs = find_pairs(shown_images(divided, results.images, results.prepared), divided.alike)
    twice = copies_to_drop(pairs) if settings["copies"] == "drop" else set()
    copies = [s for s in results.inputs.samples if twice & {(s.source, key) for key in s.image_keys}]
    out = {(s.source, s.key) for s in copies}
    kept = [s for s in divided.samples if (s.source, s.key) in divided.splits.keys() - out]
    asked = ask(plan, kept, results.done, divided.splits, results.prepared, settings, foreign, divided.alike)
    dropped = [*results.inputs.dropped, *(p.dropped for p in results.done.values() if p.dropped is not None)]
    dropped += [one for p in results.prepared.values() for one in p.listed]
    dropped += [*divided.contradictory, *divided.moved]
    dropped += [*(Dropped.of(s, "leakage", "copy_in_other_split") for s in copies), *asked.dropped]
    roots = {s.name: s.root for s in sources} | ({abroad.NAME: foreign} if foreign else {})
    manifest.write_dropped(plan.out / "dropped.csv", dropped, roots)
    refusal.raise_for(dropped, plan.out / "dropped.csv")
    usable = (image for image in divided.images if results.prepared[image.source, image.key].dropped is None)
    rows = (manifest.file_row(image, results.prepared[image.source, image.key]) for image in usable)
    write_csv(plan.out / "files.csv", manifest.FILE_COLUMNS, rows)
    if pairs:
        write_csv(plan.out / "leakage.csv", manifest.LEAK_COLUMNS, (p.row().values() for p in pairs))
    shown = _write_records(plan.out, asked)
    measured = Counter(fact.name for done in results.done.values() for fact in done.facts)
    _sweep(plan.out, shown)
    used = [p for p in asked.photographs if p.image in shown]
    return {
        "sources": manifest.source_notes(sources, results.done.values(), results.prepared, kept),
        "counts": {name: count(questions) for name, questions in asked.by_task.items()},
        "dropped": manifest.nested((d.source, d.step, d.reason) for d in dropped),
        "dropped_extents": manifest.extent_counts(dropped),
        "dropped_boxes": manifest.nested((p.source, *lost) for p in results.done.values() for lost in p.lost),
        "balance": asked.balanced,
        "families": {**family_account(divided.images, divided.alike), "contradictory": len(divided.contradictory)},
        "leakage": account(pairs),
        "facts": {"version": FACTS_VERSION, "images": dict(sorted(measured.items()))},
        "images": {**FORMAT, "longest_side": plan.longest_side, "files": len(shown)},
        **({"joined_parts": [asdict(one) for one in asked.joined]} if asked.joined else {}),
        **({"accounts": asked.accounts} if asked.accounts else {}),
        **({"foreign": abroad.note(foreign, used)} if used else {}),
    }


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


# Run jobs on a Dask cluster that is already running: other machines, the same folders, the same bytes.
TIMEOUT = 20.0
"""Seconds in which the scheduler must answer and show a worker."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a worker sends back: the result, and what it did not see on its machine."""

    result: Any
    machine: str
    unseen: tuple[str, ...]


@contextmanager
def cluster_crew(address: str, beacon: Path, timeout: float = TIMEOUT) -> Iterator[Crew]:
    """Give the workers of a running Dask scheduler.

    Every worker must have this package in the same versions and see the raw and the curated folder under the same
    absolute paths; the first is checked now, the second with every job, as workers come and go.

    Args:
        address: Of the scheduler, as `dask scheduler` prints it, e.g. ``tcp://10.0.0.1:8786``.
        beacon: A file of the curated folder, absolute: a worker that does not see it would write images elsewhere.
        timeout: Seconds to wait for the scheduler and for the first worker.

    Raises:
        BadArgument: `distributed` is not installed, nobody answers at the address, or there is no worker.
        LmodError: A worker has other versions or cannot import this package.
    """
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        expected = "the package `distributed`, which is not installed"
        raise BadArgument("scheduler", address, expected, "`pip install lmod-train[cluster]`") from error
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        expected = f"a Dask scheduler that answers within {timeout:g} s ({type(error).__name__}: {error})"
        cure = (
            "start one with `dask scheduler` and give its address, or leave `--scheduler` out to work on this machine"
        )
        raise BadArgument("scheduler", address, expected, cure) from error
    try:
        _check_workers(client, address, timeout)
        message = (
            f"scheduler={address!r}: the cluster was lost, or a job killed its workers again and again.\n"
            f"Next: look into the workers' logs (memory?) and run the same command again; what is done is kept"
        )
        yield Crew(
            client.get_executor(pure=False),  # a job writes files: never take a result of earlier for it
            2 * max(1, sum(client.nthreads().values())),
            send=lambda job: partial(_look, job=job, beacon=str(beacon)),
            take=_taken,
            fallen=(distributed.KilledWorker, distributed.comm.CommClosedError, CancelledError),
            message=message,
        )
    finally:
        client.close(timeout=timeout)


def _check_workers(client: Any, address: str, timeout: float) -> None:
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError as error:
        expected = f"a cluster with at least one worker after {timeout:g} s"
        raise BadArgument("scheduler", address, expected, f"start some: `dask worker {address}`") from error
    for worker, answer in client.run(_versions_there, on_error="return").items():
        if isinstance(answer, BaseException):
            raise LmodError(
                f"scheduler={address!r}: worker {worker} cannot use this package ({type(answer).__name__}: {answer}).\n"
                f"Next: install the same version of lmod-train in the workers' environment"
            )
        if lines := differing(versions(), answer):
            raise LmodError(
                f"scheduler={address!r}: worker {worker} has other versions (here -> there): {'; '.join(lines)}; "
                f"its images would have other bytes.\nNext: start workers from the same environment as this command"
            )


def _versions_there() -> dict[str, str]:
    return versions()


def _look(things: Sequence[Sample], job: Callable[[Sequence[Sample]], Any], beacon: str) -> Done:
    """Run a job where the curated folder is seen, and list the raw files that are not.

    Raises:
        LmodError: It is not seen: images would be written where nobody finds them.
    """
    machine = socket.gethostname()
    if not Path(beacon).exists():
        raise LmodError(_blind(machine, beacon))
    raw = (file for s in things for file in (s.own_image, *(m.path for m in s.masks)))
    unseen = tuple(str(file) for file in raw if not file.is_file())
    return Done(job(things), machine, unseen)


def _taken(done: Done) -> Any:
    """Return the result of a job, unless a file that is here was not there."""
    for file in done.unseen:
        if Path(file).is_file():
            raise LmodError(_blind(done.machine, file))
    return done.result


def _blind(machine: str, file: str) -> str:
    return (
        f"a worker on {machine} does not see {file}, which is there on this machine.\n"
        f"Next: give every worker the raw folders and `--out` under the same paths (a shared file system), "
        f"or leave `--scheduler` out; what is done is kept"
    )
