"""Images and boxes by modality and source, as in LMOD's Table 3 and LMOD+'s Table 2, and shares beside printed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from lmod_train.core.artifacts.model_facts import PAPERS
from lmod_train.core.artifacts.records import rows_of
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.tables import Cell, Column, Heads, Table, table
from lmod_train.report.contents import Part, Text
from lmod_train.report.papers.measured import manifest_of
from lmod_train.report.papers.printed import Printed, find
from lmod_train.report.papers.protocols import images_of_sources, source_of
from lmod_train.report.results import Results
from lmod_train.report.section import Section

TABLES = {"lmod_naacl": "Table 3", "lmod_v1": "Table 2", "lmod_plus": "Table 2", "xpcr": "text"}
"""Paper -> its table of images and boxes; X-PCR states numbers of images in its text."""
TASKS = {"xpcr": "chain"}
"""Paper -> task whose images are counted; of others that with numbered boxes."""

NOTE = """Images with numbered boxes in the curated folder of the runs, all splits, and their boxes per image; printed
are {paper}, {table}, and for sources the numbers in its text. Which boxes were removed cannot be told from the papers,
and boxes are printed by modality only."""
DRAWN = "The printed numbers are not shown: these images are phantoms."
TASK = "anatomy"
OF_CHAINS = """Images with a chain in the curated folder of the runs, all splits; printed are the numbers in the text of
{paper}. That of RetCam is 600 in the paper's figure 2, whose numbers sum to the printed total."""
SHARES = """Of all records of the folder: share of images by modality, and of patients of known sex. How {paper} counted
is not stated, and sexes are known of some sources only."""
_SHARE = {"share_of_images": "images", "share_of_patients": "patients"}
_SHARES: Heads = ["of", "group", Column("n", "count"), Column("here", "percent"), Column("printed", "percent")]


class ImagesAndBoxes(Section):
    """Number of images and of boxes per image, by modality and source, beside the printed ones.

    Args:
        paper: Whose numbers are shown: ``lmod_naacl``, ``lmod_v1``, ``lmod_plus`` or ``xpcr``.
    """

    title: ClassVar[str] = "Images and boxes"

    def __init__(self, paper: str = "lmod_naacl") -> None:
        if paper not in TABLES:
            raise BadArgument("paper", paper, f"one of {', '.join(TABLES)}", "correct the report's config")
        self.paper = paper

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table for each curated folder of the runs that has numbered boxes."""
        folders = [folder for folder in dict.fromkeys(results.images.values()) if folder]
        for number, folder in enumerate(folders, 1):
            images, boxes, drawn = _counted(folder, TASKS.get(self.paper, TASK))
            if not images:
                continue
            note = OF_CHAINS if self.paper in TASKS else NOTE
            yield Text(DRAWN if drawn else note.format(paper=PAPERS[self.paper], table=TABLES[self.paper]))
            title = f"Protocol {manifest_of(folder).get('protocol') or 'not recorded'}"
            name = f"images_and_boxes-{number}" if len(folders) > 1 else "images_and_boxes"
            yield _table(name, title, images, boxes, {} if drawn else _printed(self.paper))
            shares = [] if drawn else list(_shares(folder, self.paper))
            if shares:
                note = SHARES.format(paper=PAPERS[self.paper])
                yield table(name.replace("images_and_boxes", "shares"), _SHARES, shares, "Shares", note)


Place = tuple[str, str]
"""Modality and source; the source is empty for all of a modality, and both for everything."""


def _shares(folder: Path, paper: str) -> Iterator[list[Cell]]:
    """Yield the shares of modalities and sexes that a paper prints, with those of the records of a folder."""
    printed = [c for c in find(paper, "text", task="dataset_statistics") if c.metric in _SHARE]
    if not printed:
        return
    members: dict[str, dict[str, set[str]]] = {"images": {}, "patients": {}}
    for row in rows_of(folder / "records", ("modality", "image_plain", "group", "patient")):
        members["images"].setdefault(row["modality"], set()).update(row["image_plain"])
        members["patients"].setdefault((row["patient"] or {}).get("sex") or "", set()).add(row["group"])
    members["patients"].pop("", None)
    for cell in printed:
        kind, group = _SHARE[cell.metric], cell.stage_or_class or cell.modality
        counts = {name: len(found) for name, found in members[kind].items()}
        n, total = counts.get(group, 0), sum(counts.values())
        yield [kind, group, n, n / total if total else None, float(cell.value) / 100]


def _counted(folder: Path, task: str) -> tuple[Counter[Place], Counter[Place], bool]:
    """Return the numbers of images and of boxes in each place, and whether an image is a phantom."""
    images: dict[Place, set[str]] = {}
    boxes: Counter[Place] = Counter()
    drawn = False
    for row in _rows(folder, task):
        shown = set(row["image_plain"])
        for place in ((row["modality"], row["source"]), (row["modality"], ""), ("", "")):
            new = shown - images.setdefault(place, set())  # a probe asks of an image again
            images[place] |= shown
            boxes[place] += len(row["regions"]) if new else 0
        drawn |= row["phantom"]
    return Counter({place: len(names) for place, names in images.items()}), boxes, drawn


def _rows(folder: Path, task: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a task; none if the folder has none that can be read."""
    try:
        columns = ("modality", "source", "image_plain", "regions", "phantom")
        yield from rows_of(folder / "records" / f"{task}.parquet", columns)
    except ArtifactError:
        return


def _printed(paper: str) -> dict[Place, dict[str, Printed]]:
    """Return place -> metric -> printed number of a paper; of everything, the sum of the modalities' images.

    The numbers that X-PCR states by modality do not sum to its total, so that there is none of everything.
    """
    found: dict[Place, dict[str, Printed]] = {}
    for cell in find(paper, TABLES[paper], task="dataset_statistics"):
        if cell.metric not in ("num_images", "avg_boxes_per_image") or cell.modality in ("", "all"):
            continue
        found.setdefault((cell.modality, ""), {})[cell.metric] = cell
    if paper in TASKS:
        return found
    total = sum(int(cells["num_images"].value) for cells in found.values())
    found["", ""] = {"num_images": Printed(paper, TABLES[paper], value=str(total), unit="count")}
    for cell in images_of_sources(paper):
        found[cell.modality, source_of(cell)] = {"num_images": cell}
    return found


def _table(
    name: str, title: str, images: Counter[Place], boxes: Counter[Place], printed: Mapping[Place, Mapping[str, Printed]]
) -> Table:
    rows = []
    for place in sorted({*images, *printed}, key=lambda place: (not place[0], place[0], not place[1], place[1])):
        n, cells = images[place], printed.get(place, {})
        count, mean = cells.get("num_images"), cells.get("avg_boxes_per_image")
        own: list[Cell] = [place[0] or "all", place[1] or "all", n, boxes[place] / n if n and boxes[place] else None]
        beside: list[Cell] = [int(count.value) if count else None, n - int(count.value) if count else None]
        rows.append([*own, *([*beside, mean.value if mean else None] if printed else [])])
    columns: list[str | Column] = ["modality", "source", Column("images", "count"), Column("boxes per image", "number")]
    if printed:
        columns += [Column("printed images", "count"), Column("more here", "count"), Column("printed boxes", "number")]
    return table(name, columns, rows, title)
