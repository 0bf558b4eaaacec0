"""The flow diagram: what was read, what dropped, what curated, what asked of each model, and what it replied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.records import number_of_records
from lmod_train.core.artifacts.run import Run
from lmod_train.core.csv_files import read_csv
from lmod_train.core.tables import Cell, Table, table
from lmod_train.core.types import Status
from lmod_train.extensions.manuscript.characteristics import SPLITS
from lmod_train.extensions.manuscript.cohort import Question, patients_in, photographs
from lmod_train.report.contents import Figure, heads, texts
from lmod_train.report.figures.sheet import LINE, sheet
from lmod_train.report.figures.wrapped import wrapped
from lmod_train.report.results import Outcomes

_TEXTS, _HEADS = texts(__file__), heads(__file__)

Row = tuple[int, str, str, int | None, int | None, int | None, int | None]
"""Number of a box, its side (``main``, ``beside``), what is counted, samples, images, patients, and images of none."""

STATUSES: tuple[Status, ...] = ("answered", "unparsed", "refused", "truncated", "failed")


def flow(name: str, rows: Sequence[Row]) -> Figure:
    """Return the figure of rows, drawn in the order of their boxes."""
    return Figure(name, _TEXTS["title"], _TEXTS["alt"], table(name, _HEADS["flow"], rows), _draw)


def read_rows(curated: Path, manifest: Mapping[str, Any], questions: Sequence[Question]) -> Iterator[Row]:
    """Yield the boxes of what was read, dropped and curated.

    Args:
        curated: The curated folder.
        manifest: Its manifest.
        questions: Its questions.
    """
    listed = read_csv(curated / "dropped.csv") if (curated / "dropped.csv").is_file() else []
    gone = [row for row in listed if row["extent"] == "gone"]
    kept = {name: int(source.get("samples", 0)) for name, source in manifest.get("sources", {}).items()}
    asked, total = {(one.source, one.key) for one in questions}, sum(kept.values())
    if total < len(asked):
        yield 0, "main", "samples found: not stated by the curated folder", None, None, None, None
        yield from _reasons(0, "left out", gone)
    else:
        yield from _found(kept, gone)
        yield 1, "main", "samples that can be read", total, None, None, None
        yield 1, "beside", "no question is asked about", total - len(asked), None, None, None
        yield from _reasons(1, "used in part", [row for row in listed if row["extent"] != "gone"])
    yield 2, "main", "samples with questions", len(asked), *_counted(questions)
    for split, said in SPLITS.items():
        own = [one for one in questions if one.split == split]
        if own:
            yield 2, "main", f"{said}: {len(own):,} questions", None, *_counted(own)


def _found(kept: Mapping[str, int], gone: Sequence[Mapping[str, str]]) -> Iterator[Row]:
    """Yield the box of what was found, in all and by source, and that of what was left out."""
    lost = Counter(row["source"] for row in gone)
    yield 0, "main", "samples and files found", sum(kept.values()) + len(gone), None, None, None
    for source in sorted(kept.keys() | lost):
        yield 0, "main", source, kept.get(source, 0) + lost[source], None, None, None
    yield from _reasons(0, "left out", gone)


def asked_rows(
    runs: Mapping[str, Path],
    outcomes: Mapping[str, Outcomes],
    asked: Sequence[Question],
    everything: Sequence[Question],
) -> Iterator[Row]:
    """Yield the boxes of what was asked and of each run's replies.

    Args:
        runs: Label of a run -> its folder.
        outcomes: Label of a run -> its outcomes.
        asked: Questions of the runs together.
        everything: Questions of the curated folder; empty where it is gone.
    """
    yield 3, "main", "asked of a model", None, *_counted(asked)
    names = {image for one in asked for image in one.images}
    others = [one for one in everything if not names & set(one.images)]
    if everything:
        yield 3, "beside", "not asked of a model", None, *_counted(others)
    for name, run in runs.items():
        statuses = Counter(p.status for p in outcomes[name].predictions)
        whole = number_of_records(Run(run).records) or statuses.total()
        told = [f"{statuses[s]:,} {s}" for s in STATUSES if statuses[s]]
        missing = whole - statuses.total()
        told += [f"{missing:,} without a reply"] if missing > 0 else []
        yield 4, "main", f"{name}: {whole:,} questions: {', '.join(told)}", None, None, None, None


def _reasons(box: int, said: str, rows: Sequence[Mapping[str, str]]) -> Iterator[Row]:
    if rows or not box:
        yield box, "beside", said, len(rows), None, None, None
    for (source, reason), n in sorted(Counter((row["source"], row["reason"]) for row in rows).items()):
        yield box, "beside", f"{source}: {reason.replace('_', ' ')}", n, None, None, None


def _counted(questions: Iterable[Question]) -> tuple[int, int, int]:
    """Return the numbers of images, of stated patients, and of images whose patient is not stated."""
    images = photographs(questions)
    return len(images), len(patients_in(images)), sum(not image.patient for image in images)


_LONG, _GAP, _PLACES = 50, 0.28, {"main": 0.27, "beside": 0.6}
"""Characters of a line of a box, inches between boxes, and where boxes are: the middle, the left end."""


def _draw(shown: Table, out: Path) -> None:
    boxes = {key: [_line(row) for row in rows] for key, rows in groupby(shown.rows, key=lambda row: (row[0], row[1]))}
    numbers = sorted({int(str(number)) for number, _ in boxes})
    heights = [max(_height(boxes.get((number, side), [])) for side in _PLACES) for number in numbers]
    total = sum(heights) + _GAP * len(heights)
    with sheet(shown, out, total + _GAP) as panels:
        axes = panels[0, 0]
        axes.set(xlim=(0, 1), ylim=(0, total))
        axes.axis("off")
        top, above = total, 0.0
        for number, height in zip(numbers, heights, strict=True):
            middle, own = top - height / 2, _height(boxes[number, "main"]) / 2
            if number != numbers[0]:
                axes.annotate("", (_PLACES["main"], middle + own), (_PLACES["main"], above), arrowprops=_ARROW)
            for side, x in _PLACES.items():
                if lines := boxes.get((number, side)):
                    place = "center" if side == "main" else "left"
                    axes.text(
                        x, middle, "\n".join(lines), ha=place, va="center", bbox=_FRAME, linespacing=1.3, zorder=2
                    )
            if (number, "beside") in boxes:
                axes.annotate(
                    "", (_PLACES["beside"] - 0.006, middle), (_PLACES["main"], middle), arrowprops=_ARROW, zorder=0
                )
            above, top = middle - own, top - height - _GAP


_FRAME: Any = {"boxstyle": "square,pad=0.4", "facecolor": "white", "edgecolor": "black", "linewidth": 0.8}
_ARROW: Any = {"arrowstyle": "-|>", "color": "black", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}


def _height(lines: Sequence[str]) -> float:
    """Return the height of a box in inches."""
    return LINE * 0.98 * sum(line.count("\n") + 1 for line in lines) + 0.1


def _line(row: Sequence[Cell]) -> str:
    """Return a line of a box: what is counted, and its numbers."""
    _, _, said, samples, images, patients, none = row
    counts = {"images": images, "patients": patients, "images of no stated patient": none or None}
    counted = ", ".join(f"{n:,} {what}" for what, n in counts.items() if n is not None)
    told = f"{said}: {samples:,}" if samples is not None else str(said)
    return wrapped(f"{told} ({counted})" if counted else told, _LONG, 4)
