"""Sections of the papers: their tables with rows for the runs, published scores, and images and boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lmod_train.core.artifacts.model_facts import PAPERS
from lmod_train.core.artifacts.records import rows_of
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.tables import Cell, Column, Estimate, Heads, Table, table
from lmod_train.core.types import Score
from lmod_train.core.vocabulary.error_types import type_called
from lmod_train.extensions.papers.ledger import (
    find_score,
    images_of_sources,
    items_of_part,
    manifest_of,
    protocol_of,
    source_of,
    subgroup_p,
)
from lmod_train.extensions.papers.printed import STATES, Printed, find, printed, state_of
from lmod_train.extensions.papers.shapes import SHAPES, Line, Shape
from lmod_train.report.contents import Part, Text, heads, texts
from lmod_train.report.origin import not_as_published, phantom_tasks
from lmod_train.report.published import HERE, published_beside
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sorted_errors import sample_of_errors
from lmod_train.scoring.share import share_score

_TEXTS, _HEADS = texts(__file__), heads(__file__)


MARKS: Mapping[str, str] = package_data(__file__, "words.yaml")["sections"]["marks"]

ERRORS_OF, ERRORS = "glaucoma", 100
"""Task and number of the wrong replies that LMOD+'s Table 9 sorts."""

DRAWN = _TEXTS["drawn"]


class PaperTables(Section):
    """Tables of the papers, each with the printed rows and a row per run; none of a task that a run asks of phantoms.

    Args:
        tables: Names of the tables, in this order (see `SHAPES`); None shows all.
    """

    title: ClassVar[str] = "Tables of the papers"
    name: ClassVar[str] = "paper_tables"

    def __init__(self, tables: list[str] | None = None) -> None:
        unknown = [name for name in tables or () if name not in SHAPES]
        if unknown:
            raise BadArgument("tables", unknown, f"names among {', '.join(SHAPES)}", "correct the report's config")
        self.shapes = [SHAPES[name] for name in (tables or SHAPES)]

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield each table, and the states of single cells that differ from the state of their row."""
        drawn = phantom_tasks(results.outcomes)
        beside = [shape for shape in self.shapes if drawn.isdisjoint(_tasks(shape))]
        if hidden := [shape.title for shape in self.shapes if shape not in beside]:
            yield Text(DRAWN.format(tables="; ".join(hidden)))
        if beside:
            yield Text(
                _TEXTS["note"] + "; ".join(f"{mark} {state} ({STATES[state]})" for state, mark in MARKS.items()) + "."
            )
        left_out = not_as_published(results.outcomes)
        for shape in beside:
            found = _table(shape, results, left_out)
            yield found if found.rows else Text(f"{shape.title}. {shape.note}")
            states = list(_states(shape))
            if states:
                yield table(f"{shape.name}_states", ["state", "why", "columns", "rows"], states)


def _tasks(shape: Shape) -> set[str]:
    """Return the tasks of this package that a table is about; all of its paper where a column has none of its own."""
    cells = [shape.at(place, line) for place in shape.places for line in shape.lines]
    if not all(map(protocol_of, cells)):
        cells = list(printed(cells[0].paper))
    return {protocol.task for cell in cells if (protocol := protocol_of(cell))}


def _table(shape: Shape, results: Results, left_out: set[str]) -> Table:
    several = len(shape.lines) > 1
    line = [Column("line")] if several else []
    is_p, is_types = shape.unit == "p_value", shape.places[0].cell.task == "error_type_share"
    heads = [Column("model"), *line, *(Column(p.head, "p" if is_p else "estimate") for p in shape.places)]
    rows = [row for model in shape.models() for row in _printed(shape, model)]
    measured = _p_values if is_p else _error_types if is_types else _measured
    rows += [row for line in shape.lines for row in measured(shape, line, results, left_out)]
    return table(shape.name, [*heads, Column("state")], rows, shape.title, shape.note)


def _row_state(cells: Sequence[Printed]) -> str:
    """Return the state of a row: the most frequent one of its numbers, rather one of the model than of the cell."""
    counts = Counter(state_of(cell).name for cell in cells if cell.value)
    of_model = Counter({s: n for s, n in counts.items() if s in ("reproducible", "different snapshot", "retired")})
    return (of_model or counts or Counter(["no numbers"])).most_common(1)[0][0]


def _of_model(shape: Shape, model: str) -> list[Printed]:
    return [shape.at(place, line, model) for line in shape.lines for place in shape.places]


def _printed(shape: Shape, model: str) -> Iterator[list[Cell]]:
    state = _row_state(_of_model(shape, model))
    for line in shape.lines:
        cells = [_marked(shape.at(place, line, model), state) for place in shape.places]
        yield [model, *([line[0]] if len(shape.lines) > 1 else []), *cells, state]


def _marked(cell: Printed, of_row: str) -> Cell:
    if not cell.value:
        return None
    state = state_of(cell).name
    return cell.value if state == of_row else f"{cell.value} {MARKS[state]}"


def _measured(shape: Shape, line: Line, results: Results, left_out: set[str]) -> Iterator[list[Cell]]:
    for name, run in zip(results.names, results.runs, strict=True):
        cells: list[Cell] = []
        for place in shape.places:
            cell = shape.at(place, line)
            protocol = protocol_of(cell)
            if protocol is None or protocol.task in left_out:
                cells.append(None)
                continue
            items = results.outcomes[name].items.get(protocol.task, [])
            score = find_score(run, protocol, len(items_of_part(items, protocol.asked)), len(items))
            cells.append(None if score is None or score.value is None else _estimate(cell, score))
        if any(cell is not None for cell in cells):
            yield [name, *([line[0]] if len(shape.lines) > 1 else []), *cells, HERE]


def _p_values(shape: Shape, line: Line, results: Results, left_out: set[str]) -> Iterator[list[Cell]]:
    for name, tasks in results.items.items():
        for task, items in tasks.items():
            p = subgroup_p(items, shape.places[0].cell.task) if task not in left_out else None
            if p is not None:
                yield [f"{name}, {task}", p, HERE]


def _error_types(shape: Shape, line: Line, results: Results, left_out: set[str]) -> Iterator[list[Cell]]:
    """Yield the error types of a sample of the wrong replies of a run, if rules or a judge have looked at each."""
    for name, outcomes in results.outcomes.items():
        errors = sample_of_errors(outcomes, ERRORS_OF, ERRORS) if ERRORS_OF not in left_out else []
        if errors and all(error.decided for error in errors):
            groups = [error.item.group for error in errors]
            cells: list[Cell] = []
            for place in shape.places:
                held = [error.kind == type_called(place.head) for error in errors]
                score, cell = share_score("share", held, groups), shape.at(place, line)
                cells.append(sum(held) if cell.unit == "count" else _estimate(cell, score))
            yield [f"{name}, {len(errors)} wrong replies", line[0], *cells, HERE]


def _estimate(cell: Printed, score: Score) -> Estimate:
    """Return a score in the unit of a printed cell."""
    value, low, high = (None if v is None else v * cell.scale for v in (score.value, score.low, score.high))
    return Estimate(value, low, high, score.n)


def _states(shape: Shape) -> Iterator[list[Cell]]:
    """Yield the marked cells, those with the same reason and columns together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for model in shape.models():
        for (state, why), places in _marked_places(shape, model).items():
            found.setdefault((state, why, ", ".join(places)), []).append(model)
    for (state, why, columns), models in found.items():
        yield [state, why, columns, ", ".join(models)]


def _marked_places(shape: Shape, model: str) -> dict[tuple[str, str], list[str]]:
    """Return state and reason -> columns of the cells of a row that have another state than the row."""
    of_row, found = _row_state(_of_model(shape, model)), dict[tuple[str, str], list[str]]()
    for line in shape.lines:
        for place in shape.places:
            cell = shape.at(place, line, model)
            state = state_of(cell)
            if cell.value and state.name != of_row:
                found.setdefault((state.name, state.why), []).append(f"{place.head} {line[0]}".strip())
    return found


# Published scores for the tasks of the runs.


class PublishedScores(Section):
    """Scores printed in the papers, measured on real data."""

    title: ClassVar[str] = "Published"
    name: ClassVar[str] = "published"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; nothing if there are none for the tasks of the runs, or the runs are of phantoms."""
        rows = [
            [p.task, p.model, f"{p.modality} {p.metric}".strip(), p.printed, p.ours, p.where, p.note]
            for p in published_beside(results)
        ]
        columns: Heads = ["task", "published model", "metric", Column("score", "number"), "most similar metric here"]
        if rows:
            yield Text(_TEXTS["note_published"])
            yield table("published", [*columns, "where", "note"], rows)


# Images and boxes by modality and source, as in LMOD's Table 3 and LMOD+'s Table 2, and shares beside printed ones.
TABLES = {"lmod_naacl": "Table 3", "lmod_v1": "Table 2", "lmod_plus": "Table 2", "xpcr": "text"}
"""Paper -> its table of images and boxes; X-PCR states numbers of images in its text."""

TASKS = {"xpcr": "chain"}
"""Paper -> task whose images are counted; of others that with numbered boxes."""

DRAWN_IMAGES_AND_BOXES = "The printed numbers are not shown: these images are phantoms."

TASK = "anatomy"

_SHARE = {"share_of_images": "images", "share_of_patients": "patients"}


class ImagesAndBoxes(Section):
    """Number of images and of boxes per image, by modality and source, beside the printed ones.

    Args:
        paper: Whose numbers are shown: ``lmod_naacl``, ``lmod_v1``, ``lmod_plus`` or ``xpcr``.
    """

    title: ClassVar[str] = "Images and boxes"
    name: ClassVar[str] = "images_and_boxes"

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
            note = _TEXTS["of_chains"] if self.paper in TASKS else _TEXTS["note_images_and_boxes"]
            yield Text(
                DRAWN_IMAGES_AND_BOXES if drawn else note.format(paper=PAPERS[self.paper], table=TABLES[self.paper])
            )
            title = f"Protocol {manifest_of(folder).get('protocol') or 'not recorded'}"
            name = f"images_and_boxes-{number}" if len(folders) > 1 else "images_and_boxes"
            yield _table_images_and_boxes(
                name, title, images, boxes, {} if drawn else _printed_images_and_boxes(self.paper)
            )
            shares = [] if drawn else list(_shares(folder, self.paper))
            if shares:
                note = _TEXTS["shares"].format(paper=PAPERS[self.paper])
                yield table(name.replace("images_and_boxes", "shares"), _HEADS["shares"], shares, "Shares", note)


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


def _printed_images_and_boxes(paper: str) -> dict[Place, dict[str, Printed]]:
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


def _table_images_and_boxes(
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
