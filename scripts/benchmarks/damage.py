"""Damage many input files and check the result: each must be listed with its reason, and the others must be kept.

    python scripts/benchmarks/damage.py --out FOLDER [--n 150] [--seed 0]

Phantoms of every source are drawn and curated. Then, in a copy, a file of about every second sample is damaged
(truncated, emptied, overwritten, resized, without a structure, with an unknown value or class, in another encoding) and
the copy is curated: dropped.csv must list each damaged sample, and the records of the others must be unchanged. Finally
each table of each source is damaged and the source read again: the source must list the table, or stop with an error
that names it.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from openpyxl import load_workbook
from PIL import Image
from tqdm import tqdm

from lmod_train.cli.phantoms import drawn_folders
from lmod_train.core.artifacts.records import read_records
from lmod_train.core.errors import BadArgument, LmodError
from lmod_train.core.types import OTHER, Dropped, Record, Sample
from lmod_train.data.curation.pipeline import curate
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.discovery import discover
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.base import Task
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma

Harm = Callable[[Path, np.random.Generator], None]
TABLES = {".csv", ".xlsx", ".json", ".yaml", ".txt"}
SIZE = {"eye_diseases": 48, "refuge": 64}


@dataclass(frozen=True, slots=True)
class Damaged:
    """One damaged file of one sample."""

    source: str
    key: str
    file: Path
    kind: str


def cut_short(path: Path, rng: np.random.Generator) -> None:
    """Truncate a file to between 10 % and 90 % of its bytes; a YOLO file loses its last number."""
    data = path.read_bytes()
    path.write_bytes(
        data.rpartition(b" ")[0] if path.suffix == ".txt" else data[: int(len(data) * rng.uniform(0.1, 0.9))]
    )


def emptied(path: Path, rng: np.random.Generator) -> None:
    """Empty a file."""
    path.write_bytes(b"")


def overwritten(path: Path, rng: np.random.Generator) -> None:
    """Replace a file by noise."""
    path.write_bytes(rng.bytes(200))


def text_instead(path: Path, rng: np.random.Generator) -> None:
    """Replace a file by a web page, as after a failed download."""
    path.write_text("<html><body>404 not found</body></html>", encoding="utf-8")


def other_size(path: Path, rng: np.random.Generator) -> None:
    """Add a column of pixels."""
    with Image.open(path) as image:
        wider = Image.new(image.mode, (image.width + 1, image.height), image.getpixel((0, 0)))
        if image.mode == "P":
            wider.putpalette(image.getpalette() or [])
        wider.paste(image, (0, 0))
        kind = image.format
    wider.save(path, format=kind)


def blank(path: Path, rng: np.random.Generator) -> None:
    """Fill an image with the value of its corner."""
    with Image.open(path) as image:
        plain = Image.new(image.mode, image.size, image.getpixel((0, 0)))
        if image.mode == "P":
            plain.putpalette(image.getpalette() or [])
        kind = image.format
    plain.save(path, format=kind)


def alien_value(path: Path, rng: np.random.Generator) -> None:
    """Paint a few pixels in the right half with an unknown value."""
    with Image.open(path) as image:
        kind, loaded = image.format, image.copy()
    strange = 77 if len(loaded.getbands()) == 1 else (12, 34, 56)
    loaded.paste(strange, (loaded.width - 9, 3, loaded.width - 5, 7))
    loaded.save(path, format=kind)


def alien_class(path: Path, rng: np.random.Generator) -> None:
    """Replace a class in an annotation by an unknown one."""
    if path.suffix == ".txt":
        path.write_text("99 0.5 0.5 0.2 0.2\n", encoding="utf-8")
        return
    note = json.loads(path.read_text(encoding="utf-8"))
    for shape in note.get("shapes") or note.get("objects") or []:
        shape["label"] = shape["classTitle"] = "teapot"
    path.write_text(json.dumps(note), encoding="utf-8")


def other_encoding(path: Path, rng: np.random.Generator) -> None:
    """Write bytes that are invalid in every usual encoding."""
    path.write_bytes(b"\xff\xfe\x00\xd8" + rng.bytes(64))


def rows_lost(path: Path, rng: np.random.Generator) -> None:
    """Keep only the first half of a table's rows."""
    if path.suffix == ".csv":
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    elif path.suffix == ".xlsx":
        book = load_workbook(path)
        sheet = book.worksheets[0]
        sheet.delete_rows(sheet.max_row // 2, sheet.max_row)
        book.save(path)


FILE_HARMS: dict[str, Harm] = {
    "cut short": cut_short,
    "emptied": emptied,
    "overwritten": overwritten,
    "web page": text_instead,
}
MASK_HARMS: dict[str, Harm] = {**FILE_HARMS, "other size": other_size, "blank": blank}
NOTE_HARMS: dict[str, Harm] = {**FILE_HARMS, "unknown class": alien_class, "other encoding": other_encoding}
TABLE_HARMS: dict[str, Harm] = {**FILE_HARMS, "other encoding": other_encoding, "rows lost": rows_lost}


def harms_of(sample: Sample) -> Iterator[tuple[Path, str, Harm]]:
    """Yield (file, kind, harm) for every possible damage of one sample."""
    yield from ((sample.own_image, f"image {kind}", harm) for kind, harm in FILE_HARMS.items())
    if sample.cut.half:
        yield sample.own_image, "mask unknown value", alien_value
    for mask in sample.masks:
        if mask.path == sample.image or mask.path.suffix == ".mat":
            continue
        yield from ((mask.path, f"mask {kind}", harm) for kind, harm in MASK_HARMS.items())
        if not any(OTHER in coding.values() for coding in mask.codings):
            yield mask.path, "mask unknown value", alien_value
    note = next((n for n in notes_of(sample.own_image) if sample.outlines and n.is_file()), None)
    if note is not None:
        kinds = {
            kind for kind in NOTE_HARMS if (note.suffix, kind) != (".txt", "emptied")
        }  # an empty YOLO file is valid
        yield from ((note, f"note {kind}", NOTE_HARMS[kind]) for kind in sorted(kinds))


def notes_of(image: Path) -> tuple[Path, ...]:
    """Return the possible annotation files of one image: LabelMe beside it, or YOLO."""
    return image.with_suffix(".json"), image.parent.parent / "labels" / f"{image.stem}.txt"


def damage(sources: tuple[Source, ...], share: float, rng: np.random.Generator) -> list[Damaged]:
    """Damage one file of a share of the samples, with alternating kinds, and return the damaged files."""
    done = []
    for source in sources:
        samples = [s for s in source.samples() if isinstance(s, Sample)]
        chosen = rng.permutation(len(samples))[: int(share * len(samples))]
        turn: Counter[str] = Counter()
        for i in sorted(chosen.tolist()):
            possible = list(harms_of(samples[i]))
            file, kind, harm = min(possible, key=lambda p: (turn[p[1]], p[1]))
            turn[kind] += 1
            harm(file, rng)
            done.append(Damaged(source.name, samples[i].key, file, kind))
    return done


def dropped_reasons(listing: Path) -> dict[tuple[str, str], str]:
    """Return reason by (source, key) and by (source, file) from a dropped.csv."""
    found = {}
    with listing.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            beside = row["detail"].partition(" is another file")[0]  # for two differing files of a photograph
            for name in (row["key"], row["file"], beside):
                found[row["source"], name] = row["reason"]
    return found


def shown(records: list[Record]) -> dict[str, tuple[object, ...]]:
    """Return the content of each record by id, without its split, which may change if others are dropped."""
    return {r.id: (r.messages, r.choices, r.answer, r.regions, r.image_sha256, r.scale, r.patient) for r in records}


def tables_of(source: Source) -> list[Path]:
    """Return the files with labels or annotations of more than one image."""
    images = [s.own_image for s in source.samples() if isinstance(s, Sample)]
    own = {note for image in images for note in notes_of(image)} | set(images)
    files = (p for p in sorted(source.root.rglob("*")) if p.is_file() and p.suffix.lower() in TABLES and p not in own)
    return [p for p in files if not p.name.lower().startswith(("readme", "phantom.json", "license", "data_desc"))]


def damaged_tables(source: Source, rng: np.random.Generator) -> Iterator[tuple[str, str, bool]]:
    """Yield (table, kind, whether it was listed) for each table that a source reads, damaged in each way."""
    undamaged = list(source.samples())
    for table in tables_of(source):
        before = table.read_bytes()
        for kind, harm in TABLE_HARMS.items():
            harm(table, rng)
            try:
                now = list(source.samples())
                drops = [d for d in now if isinstance(d, Dropped)]
                named = any(table.name in d.file or table.stem in d.detail for d in drops)
            except LmodError as error:  # the folder is refused; the error names the table or its class names
                now, named = [], table.name in str(error) or isinstance(error, BadArgument)
            if named or now != undamaged:  # skip tables that are not read
                yield table.relative_to(source.root).as_posix(), kind, named
            table.write_bytes(before)


def main() -> int:
    """Run the trial and print the counts; return 0 if nothing was lost silently."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a new folder; a temporary one where left out")
    parser.add_argument("--n", type=int, default=190, help="phantoms a source")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", default="", help="names, separated by commas; all where left out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return trial(given.out or Path(scratch), given.n, given.seed, [s for s in given.sources.split(",") if s])


def trial(out: Path, n: int, seed: int, names: list[str]) -> int:
    """Draw, curate, damage, curate again, compare and print; return 1 if anything was lost silently, else 0."""
    from lmod_train.data.sources.discovery import source_classes

    rng = np.random.default_rng(seed)
    for name in tqdm(names or list(source_classes()), desc="draw", unit="source"):
        import_module(drawn_folders()[name]).write(out / "raw", n, seed)
    tasks: list[Task] = [Anatomy(), Glaucoma(), FourWay()]
    curate(discover(out / "raw").sources, tasks, out / "undamaged", balance=(), longest_side=96)
    shutil.copytree(out / "raw", out / "harmed")
    done = damage(discover(out / "harmed").sources, 0.55, rng)
    harmed = discover(out / "harmed").sources  # new objects, as a source may cache what it has read
    curate(harmed, tasks, out / "curated", balance=(), longest_side=96)

    listed = dropped_reasons(out / "curated" / "dropped.csv")
    roots = {s.name: s.root for s in harmed}
    account: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    silent = []
    for one in done:
        named = (one.source, one.key) in listed or (
            one.source,
            one.file.relative_to(roots[one.source]).as_posix(),
        ) in listed
        account[one.source, one.kind][0] += 1
        account[one.source, one.kind][1] += named
        if not named:
            silent.append(f"{one.source} {one.key}: {one.kind} ({one.file.name})")
    before, after = shown(read_records(out / "undamaged" / "records")), shown(read_records(out / "curated" / "records"))
    places = {r.id: (r.source, r.key) for r in read_records(out / "undamaged" / "records")}
    hurt = {(d.source, d.key) for d in done}
    lost = [i for i, place in places.items() if place not in hurt and after.get(i) != before[i]]
    for source in tqdm(discover(out / "raw").sources, desc="tables", unit="source"):
        for table, kind, named in damaged_tables(source, rng):
            account[source.name, f"table {kind}"][0] += 1
            account[source.name, f"table {kind}"][1] += named
            if not named:
                silent.append(f"{source.name} {table}: {kind}")
    for (name, kind), (total, named_of) in sorted(account.items()):
        print(f"{name:22} {kind:24} damaged {total:4}  listed {named_of:4}")
    total = sum(t for t, _ in account.values())
    kept = sum(place not in hurt for place in places.values())
    print(
        f"damaged {total}, listed {total - len(silent)}; records of the undamaged samples {kept}, changed {len(lost)}"
    )
    for line in [*silent[:40], *(f"changed: {i}" for i in lost[:20])]:
        print(f"  {line}")
    return int(bool(silent or lost))


if __name__ == "__main__":
    sys.exit(main())
