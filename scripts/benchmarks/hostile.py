"""Replace input files by hostile ones and check the result: each must be listed or harmless, the others curated.

    python scripts/benchmarks/hostile.py --out FOLDER [--files 400] [--n 80] [--seed 0]

Phantoms of every source are drawn and curated. Then, in a copy, images, masks and annotations are replaced by files
that are made to crash, slow down or exhaust the program that reads them, with alternating kinds, and the copy is
curated: dropped.csv must list each of these samples (a harmless kind may be curated instead), and the records of the
others must be unchanged. Each hostile file is also read alone in its own process, to measure processor time and peak
memory. Finally each table is replaced in each way and its source read again, also in its own process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from damage import TABLES, dropped_reasons, notes_of, shown, tables_of
from hostile_files import ARRAYS, HARMLESS, IMAGES, LINES, MASKS, NO_FILES, NOTES, SHEETS, Harm
from tqdm import tqdm

from lmod_train.cli.phantoms import drawn_folders
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import LmodError
from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.filters import BoxFilter
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.curation.prepare import Plan, prepare
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.discovery import discover, source_classes
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma

SECONDS, MEGABYTES = 2.0, 500.0


@dataclass(frozen=True, slots=True)
class Case:
    """One hostile file of one sample."""

    sample: Sample
    file: Path
    kind: str


def harms_of(sample: Sample) -> Iterator[tuple[Path, str, Harm]]:
    """Yield (file, kind, harm) for every possible replacement in one sample."""
    arrays = sample.own_image.suffix == ".npz"
    yield from ((sample.own_image, f"image: {k}", h) for k, h in (ARRAYS if arrays else IMAGES).items())
    for mask in sample.masks:
        if mask.path != sample.image:
            yield from ((mask.path, f"mask: {k}", h) for k, h in MASKS.items())
    note = next((n for n in notes_of(sample.own_image) if sample.outlines and n.is_file()), None)
    if note is not None:
        yield from ((note, f"note: {k}", h) for k, h in (LINES if note.suffix == ".txt" else NOTES).items())


def plant(sources: tuple[Source, ...], files: int, rng: np.random.Generator) -> list[Case]:
    """Replace files of the samples by hostile ones, rarest kinds first, and return the replaced files."""
    turn: Counter[str] = Counter()
    used: set[Path] = set()
    done: list[Case] = []
    waiting = [[s for s in source.samples() if isinstance(s, Sample)] for source in sources]
    for samples in waiting:
        rng.shuffle(samples)
        del samples[len(samples) // 2 :]  # an empty folder would not be recognised as a source
    while len(done) < files and any(waiting):
        for samples in [w for w in waiting if w][: files - len(done)]:
            sample = samples.pop()
            possible = [p for p in harms_of(sample) if p[0] not in used and p[0].is_file()]
            if possible:
                file, kind, harm = min(possible, key=lambda p: (turn[p[1]], p[1]))
                turn[kind] += 1
                used.add(file)
                harm(file)
                done.append(Case(sample, file, kind))
    return done


def measured(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of `work` (picklable), run in its own process, with processor seconds and peak memory in MB."""
    context = multiprocessing.get_context("forkserver")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(work, there))
    process.start()
    there.close()
    try:
        found: tuple[Any, float, float] = here.recv()
    except EOFError:
        found = (None, float("inf"), float("inf"))  # the process died
    process.join()
    return found


def _measure(work: Callable[[], Any], there: Any) -> None:
    began = time.process_time()
    try:
        result = work()
    except LmodError as error:
        result = error
    seconds = time.process_time() - began
    there.send((result, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def read_alone(case: Case, plan: Plan) -> tuple[float, float]:
    """Return seconds and MB needed to prepare one sample with a hostile file."""
    _, seconds, size = measured(partial(prepare, case.sample, plan))
    return seconds, size


def samples_of(source: Source) -> list[Sample | Dropped]:
    """Return samples and drops of a source from a new object, as a source may cache what it has read."""
    return list(source.at(source.root).samples())


def hostile_tables(source: Source) -> Iterator[tuple[str, str, bool, float, float]]:
    """Yield (table, kind, whether it was listed, seconds, MB) for each table of a source, replaced in each way."""
    undamaged = list(source.samples())
    for table in tables_of(source):
        before = table.read_bytes()
        for kind, harm in SHEETS.items():
            if not fits(kind, table.suffix):
                continue
            harm(table)
            now, seconds, size = measured(partial(samples_of, source))
            lines = [d for d in now or () if isinstance(d, Dropped)] if not isinstance(now, LmodError) else []
            named = any(table.name in d.file or table.stem in d.detail for d in lines) or isinstance(now, LmodError)
            if named or now != undamaged:  # skip tables that are not read
                yield table.relative_to(source.root).as_posix(), f"table: {kind}", named, seconds, size
            shutil.rmtree(table) if table.is_dir() and not table.is_symlink() else table.unlink()
            table.write_bytes(before)


def fits(kind: str, suffix: str) -> bool:
    """Return whether a kind of file is relevant for the reader of such files."""
    words = {"YAML": ".yaml", "class of": ".yaml", "lists in each": ".json", "MB of": ".json", "ids of": ".json"}
    only = next((ending for word, ending in words.items() if word in kind), None)
    if only is not None:
        return suffix == only
    return suffix in (".csv", ".xlsx") or (kind in NO_FILES and suffix in TABLES)


def print_worst(costs: list[tuple[float, float, str]]) -> None:
    """Print the files that took the most time, then those that took the most memory."""
    for seconds, size, kind in [*sorted(costs)[:-6:-1], *sorted(costs, key=lambda c: c[1])[:-6:-1]]:
        print(f"slowest and largest: {seconds:6.2f} s {size:6.0f} MB  {kind}", flush=True)


def main() -> int:
    """Run the trial and print the counts; return 0 if nothing was lost silently, slow or large."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(["lmod_train.data.curation.prepare", "damage"])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a new folder; a temporary one where left out")
    parser.add_argument("--files", type=int, default=400, help="hostile files among the samples; tables come on top")
    parser.add_argument("--n", type=int, default=80, help="phantoms a source; half of them are harmed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", default="", help="names, separated by commas; all where left out")
    given = parser.parse_args()
    if given.out and given.out.exists() and any(given.out.iterdir()):
        parser.error(
            f"--out {given.out}: expected a new folder, as phantoms of an earlier trial have hostile files in them"
        )
    with tempfile.TemporaryDirectory() as scratch:
        names = [s for s in given.sources.split(",") if s]
        return trial(given.out or Path(scratch), given.files, given.n, given.seed, names)


def trial(out: Path, files: int, n: int, seed: int, names: list[str]) -> int:
    """Draw, curate, plant, measure, curate again, compare and print; returns 1 where anything went wrong."""
    for name in tqdm(names or list(source_classes()), desc="draw", unit="source"):
        import_module(drawn_folders()[name]).write(out / "raw", n, seed)
    tasks: list[Task] = [Anatomy(), Glaucoma(), FourWay()]
    curate(discover(out / "raw").sources, tasks, out / "undamaged", balance=(), longest_side=96)
    shutil.copytree(out / "raw", out / "harmed")
    cases = plant(discover(out / "harmed").sources, files, np.random.default_rng(seed))
    plan = Plan(out / "alone", seed, 96, BoxFilter(), dict.fromkeys(source_classes(), 0.0), tuple(tasks))
    costs: list[tuple[float, float, str]] = [
        (*read_alone(case, plan), case.kind) for case in tqdm(cases, desc="read alone", unit="file")
    ]
    began = time.perf_counter()
    curate(discover(out / "harmed").sources, tasks, out / "curated", balance=(), longest_side=96)
    print(f"curated {len(cases)} hostile files among the others in {time.perf_counter() - began:.1f} s")

    listed = dropped_reasons(out / "curated" / "dropped.csv")
    roots = {s.name: s.root for s in discover(out / "raw").sources}
    after = shown(read_records(out / "curated" / "records"))
    before = shown(read_records(out / "undamaged" / "records"))
    places = {r.id: (r.source, r.key) for r in read_records(out / "undamaged" / "records")}
    asked = set(places.values())
    kept = {(r.source, r.key) for r in read_records(out / "curated" / "records")}
    account: Counter[str] = Counter()
    wrong = []
    for case in cases:
        place = case.sample.source, case.sample.key
        file = case.file.relative_to(out / "harmed" / roots[place[0]].relative_to(out / "raw")).as_posix()
        named = place in listed or (place[0], file) in listed
        harmless = case.kind.partition(": ")[2] in HARMLESS
        unasked = harmless and place not in asked
        fine = "harmless, curated" if place in kept else "harmless, of no question" if unasked else ""
        account["listed" if named else (harmless and fine) or "lost"] += 1
        if not named and not (harmless and fine):
            wrong.append(f"{place[0]} {place[1]}: {case.kind}")
    hurt = {(c.sample.source, c.sample.key) for c in cases}
    changed = [i for i, place in places.items() if place not in hurt and after.get(i) != before[i]]
    print(", ".join(f"{name} {number}" for name, number in account.items()), flush=True)
    print(f"records of the other samples: {sum(p not in hurt for p in places.values())}, changed {len(changed)}")
    print_worst(costs)
    for source in tqdm(discover(out / "raw").sources, desc="tables", unit="source"):
        for table, kind, named, seconds, size in hostile_tables(source):
            account["tables listed" if named else "tables lost"] += 1
            costs.append((seconds, size, f"{source.name} {kind}"))
            if not named:
                wrong.append(f"{source.name} {table}: {kind}")
    print(", ".join(f"{name} {number}" for name, number in account.items()))
    print_worst(costs)
    over = [c for c in costs if c[0] > SECONDS or c[1] > MEGABYTES]
    for line in [*wrong, *(f"changed: {i}" for i in changed), *(f"over: {c}" for c in over)]:
        print(f"  {line}")
    return int(bool(wrong or changed or over))


if __name__ == "__main__":
    sys.exit(main())
