"""One raw set in every variant of spelling and folders that copies have gives the same samples, for every source."""

import shutil

import pytest

from lmod_train.core.types import Dropped, Sample
from lmod_train.data.sources.clutter import files_below
from lmod_train.data.sources.discovery import discover
from tests.drawn import drawn_sources
from tests.tabled import tabled

NAMES = [*drawn_sources()]


def content(raw):
    """Return what is read below a folder: keys, groups, labels and how much is outlined; and reasons of drops."""
    (source,) = discover(raw).sources
    items = list(source.samples())
    samples = [item for item in items if isinstance(item, Sample)]
    read = {s.key.casefold(): (s.group.casefold(), s.labels, s.patient, len(s.masks), len(s.outlines)) for s in samples}
    return read, sorted(d.reason for d in items if isinstance(d, Dropped))


def folders(raw):
    return sorted((p for p in raw.rglob("*") if p.is_dir()), key=lambda p: -len(p.parts))


def in_capitals(raw):
    for folder in folders(raw):
        folder.rename(folder.with_name(folder.name.upper()))


def in_small_letters(raw):
    for folder in folders(raw):
        folder.rename(folder.with_name(folder.name.lower()))


def with_blanks_behind(raw):
    for folder in folders(raw):
        folder.rename(folder.with_name(f"{folder.name} "))


def endings_in_capitals(raw):
    for file in [p for p in raw.rglob("*") if p.is_file() and p.suffix in (".jpg", ".png", ".bmp", ".tif")]:
        file.rename(file.with_suffix(file.suffix.upper()))


def with_what_archives_leave(raw):
    for folder in folders(raw):
        (folder / "__MACOSX").mkdir()
        for file in [*files_below(folder)][:1]:
            shutil.copy(file, folder / "__MACOSX" / file.name)
            (folder / f"._{file.name}").write_bytes(b"\0")
        (folder / "Thumbs.db").write_bytes(b"\0")


def doubled(raw):
    (root,) = raw.iterdir()
    root.rename(raw / "aside")
    root.mkdir()
    (raw / "aside").rename(root / root.name)


def tables_of(raw):
    return [p for p in raw.rglob("*.csv") if p.name != "data_summary.csv"]


def with_byte_order_mark_and_windows_lines(raw):
    for table in tables_of(raw):
        table.write_bytes("\r\n".join([*table.read_text(encoding="utf-8").splitlines(), "", ""]).encode("utf-8-sig"))


def with_semicolons_and_blanks(raw):
    for table in tables_of(raw):
        lines = table.read_text(encoding="utf-8").splitlines()
        if '"' not in "".join(lines):
            table.write_text("\n".join(" ; ".join(line.split(",")) for line in lines), encoding="utf-8")


DRESSES = [
    in_capitals,
    in_small_letters,
    with_blanks_behind,
    endings_in_capitals,
    with_what_archives_leave,
    doubled,
    with_byte_order_mark_and_windows_lines,
    with_semicolons_and_blanks,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_variant_of_the_folders_gives_the_same_samples(eight, tmp_path, name):
    before = content(eight / f"of {name}")
    assert before[0]
    wrong = []
    for dress in DRESSES:
        copy = shutil.copytree(eight / f"of {name}", tmp_path / dress.__name__)
        dress(copy)
        if content(copy) != before:
            wrong.append(dress.__name__)
    assert wrong == []


@tabled("name", NAMES)
def test_an_empty_cell_drops_at_most_one_photograph_and_is_then_listed(eight, tmp_path, name):
    copy = shutil.copytree(eight / f"of {name}", tmp_path / "raw")
    (samples, reasons) = content(copy)
    for table in tables_of(copy):
        text = table.read_text(encoding="utf-8")
        if '"' in text:
            continue
        lines = text.splitlines()
        for column in range(len(lines[0].split(","))):
            cells = lines[1].split(",")
            cells[column] = ""
            table.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]), encoding="utf-8")
            left, now = content(copy)
            assert len(left) >= len(samples) - 1
            changed = [key for key in samples if left.get(key, (None, {}))[1] != samples[key][1]]
            assert len(changed) <= 1 and (not changed or now != reasons), (table.name, column)
        table.write_text(text, encoding="utf-8")
