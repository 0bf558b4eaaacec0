"""Time of `curate --table` beside reading the table and decoding its images alone, and memory.

    python scripts/benchmarks/table.py --rows 30000 --work build/table

The baseline reads the same file with openpyxl or `csv` and decodes every image with Pillow, in one process. Images are
noise, so that none is a copy of another. Each figure is of one run in a process of its own; memory is its maximum.
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from openpyxl import Workbook, load_workbook
from PIL import Image
from tqdm import tqdm

HEADER = ["Bild", "Patient", "Auge", "Diagnose", "Alter", "Geschlecht", "Visus", "Bemerkung"]
WORDS = ["Glaukom", "gesund", "Katarakt", "DR"]
LIMITS = {"understand": 1.0, "curate": 18.0}
"""Largest ratios to the baseline: reading and understanding the table; the whole curation, which writes images too."""


def write(work: Path, rows: int, kind: str) -> Path:
    """Write a table of rows and an image for each; return the table."""
    (work / "images").mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    cells = []
    for n in tqdm(range(rows), desc="write", disable=None):
        file = work / "images" / f"{n:05}.jpg"
        if not file.exists():
            Image.fromarray(random.integers(0, 255, (128, 128, 3), dtype=np.uint8)).save(file, quality=80)
        person = n // 2
        told = [f"P{person:05}", "RL"[n % 2], WORDS[person % 4], str(30 + person % 50), "wm"[person % 2], f"0,{n % 10}"]
        cells.append([file.name, *told, "ohne Besonderheiten"])
    table = work / f"patients.{kind}"
    if kind == "csv":
        with table.open("w", newline="", encoding="utf-8") as opened:
            csv.writer(opened, delimiter=";").writerows([HEADER, *cells])
    else:
        book = Workbook(write_only=True)
        sheet = book.create_sheet()
        for row in [HEADER, *cells]:
            sheet.append(row)
        book.save(table)
    return table


def baseline(table: Path) -> None:
    """Read the table and decode the images that it names."""
    if table.suffix == ".csv":
        with table.open(newline="", encoding="utf-8") as opened:
            names = [row[0] for row in csv.reader(opened, delimiter=";")][1:]
    else:
        sheet = load_workbook(table, read_only=True).worksheets[0]
        names = [str(row[0]) for row in sheet.iter_rows(values_only=True)][1:]
    for name in names:
        with Image.open(table.parent / "images" / name) as image:
            image.load()


def understand(table: Path) -> None:
    """Read the table, understand it and list its samples, without decoding images."""
    from lmod_train.data.cells.image_names import folder_of
    from lmod_train.data.sources.grid import read_grid
    from lmod_train.extensions.table.columns import understand as understood
    from lmod_train.extensions.table.meanings import Answers
    from lmod_train.extensions.table.plan import Plan, tasks_of
    from lmod_train.extensions.table.source import OwnTable

    grid, folder = read_grid(table), folder_of(table.parent / "images")
    columns = understood(grid, folder, Answers())
    plan = Plan(table, folder.root, "clinic", "CFP")
    assert len(list(OwnTable(plan, grid, columns, folder, tasks_of(columns, (), "CFP")).samples())) == len(grid.rows)


def curate(table: Path) -> None:
    """Curate the table in one process."""
    from lmod_train import cli

    command = ["curate", "--table", str(table), "--images", str(table.parent / "images"), "--modality", "CFP"]
    assert cli.main([*command, "--out", str(table.parent / f"OUT-{table.suffix[1:]}"), "--workers", "1"]) == 0


def measured(step: str, table: Path) -> tuple[float, float]:
    """Return seconds and MiB of a step in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--step", step, "--table", str(table)], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    seconds, memory = done.stdout.split()[-2:]
    return float(seconds), float(memory)


def main() -> None:
    """Write the tables, measure every step, and print the figures beside the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/table"))
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--step", choices=("baseline", *LIMITS))
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    if given.step:
        start = time.perf_counter()
        globals()[given.step](given.table)
        print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    for kind in ("csv", "xlsx"):
        table = write(given.work, given.rows, kind)
        alone, _ = measured("baseline", table)
        print(f"{kind}: {given.rows} rows; read and decoded alone in {alone:.1f} s")
        for step, most in LIMITS.items():
            seconds, memory = measured(step, table)
            ratio = seconds / alone
            said = f"{given.rows / seconds:.0f} rows/s, {ratio:.2f} of the baseline (at most {most}), {memory:.0f} MiB"
            print(f"  {step}: {seconds:.1f} s, {said}{'' if ratio <= most else '  ABOVE THE LIMIT'}")


if __name__ == "__main__":
    main()
