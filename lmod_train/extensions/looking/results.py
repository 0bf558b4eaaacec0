"""What runs of the grounding audit show: questions in all variants, verdicts, and one eye to look at, as a strip."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.core.tables import Cell, Heads, Table, table
from lmod_train.core.types import Fact, Record
from lmod_train.extensions.looking.scores import (
    AGAIN,
    AS_IS,
    SHOWN,
    Asked,
    Judged,
    findings,
    in_order,
    judged,
    said,
    variant_parts,
)
from lmod_train.report.figures.lines import Line, distinct, lines, parts
from lmod_train.report.figures.qualitative import COLUMNS as QUALITATIVE
from lmod_train.report.figures.qualitative import boxes_of, fitted, inches
from lmod_train.report.figures.sheet import LINE, SMALL, WIDTH, sheet
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.sorted_errors import GROUNDING
from lmod_train.report.thumbnails import picture_of
from lmod_train.scoring.items import Item

NAMED = 2
"""Number of models whose verdicts a sentence names."""

SHEET = 4
"""Number of images on a contact sheet."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one model was asked, and the verdicts on it.

    Attributes:
        items: Task -> items of everything that was shown.
        judged: Verdicts, a task and true answer each.
    """

    items: Mapping[str, Sequence[Item]]
    judged: Sequence[Judged]


def looks_of(results: Results) -> dict[str, Look]:
    """Return label -> what each run of the audit shows; no entry for other runs."""
    asked = {name: _items(outcomes) for name, outcomes in results.outcomes.items()}
    return {
        name: Look(tasks, judged([found for task, items in tasks.items() for found in findings(task, items)]))
        for name, tasks in asked.items()
        if any(tasks.values())
    }


def _items(outcomes: Outcomes) -> dict[str, list[Item]]:
    tasks = (task for task in outcomes.items if task.endswith(GROUNDING))
    return {task: [*outcomes.items[task], *outcomes.beside.get(task, ())] for task in tasks}


def cautions(results: Results) -> dict[str, str]:
    """Return task -> the verdicts on it in a sentence, for the first screen."""
    looks = looks_of(results)
    return {task: sentence(looks, task) for task in results.tasks}


def sentence(looks: Mapping[str, Look], task: str) -> str:
    """Return the verdicts on a task in a sentence; empty for a task that is not of the audit."""
    told = []
    for name, look in looks.items():
        own = [f"{one.verdict} ({': '.join(filter(None, (one.finding.truth, stated(one))))})" for one in look.judged
               if one.finding.task == task]  # fmt: skip
        told += [f"{name}: {', '.join(own)}"] if own else []
    rest = [f"{len(told) - NAMED} more below"] if len(told) > NAMED else []
    return f"Does it look? {'; '.join([*told[:NAMED], *rest])}." if told else ""


def stated(one: Judged) -> str:
    """Return what a verdict rests on, the least effect over fills and the least share; empty for other verdicts."""
    found = one.finding
    if one.default:
        return f"removal leads to {one.default}"
    effects = [e.value for e in found.specific.values() if e.value is not None]
    if one.verdict not in ("looks at the evidence", "reacts to the removal, does not follow it") or not effects:
        return ""
    shares = [e.value for e in found.grounded.values() if e.value is not None]
    grounded = f", grounded share {100 * min(shares):.0f} %" if shares else ""
    return f"specific effect {100 * min(effects):+.0f} points{grounded}"


def one_eye(asked: Mapping[str, Sequence[Asked]], records: Mapping[str, Record]) -> list[list[Cell]]:
    """Return the rows of a strip (`COLUMNS`): an eye that the first model answers rightly, the first by a hash.

    Args:
        asked: Label of each model -> its questions.
        records: Id -> record, for the images.
    """
    names = [name for name, own in asked.items() if own]
    if not names:
        return []
    chosen = min(asked[names[0]], key=_order)
    question = chosen.shown[AS_IS].id
    same = {name: next((a for a in asked[name] if a.shown[AS_IS].id == question), None) for name in names}
    rows: list[list[Cell]] = []
    for shown in (one for one in in_order(chosen.shown.keys() - {AGAIN}) if one.partition(".")[0] in SHOWN):
        image = next(iter(records[chosen.shown[shown].id].image), "")
        for name, own in same.items():
            if own is not None and shown in own.shown:
                changed = "yes" if own.changed(shown) else "no"
                rows.append([question, shown, image, name, said(own.shown[shown]), changed])
    return rows


def _order(asked: Asked) -> tuple[bool, int, str]:
    """Return the sort key: right as it is, with the most variants, then by the SHA-256 of the id."""
    item = asked.shown[AS_IS]
    return said(item) != asked.truth, -len(asked.shown), hashlib.sha256(item.id.encode()).hexdigest()


def contact_sheets(records: Iterable[Record]) -> Iterator[Table]:
    """Yield for each task of the audit a table of a few images in their variants, without replies (`draw_strip`)."""
    tasks: dict[str, dict[str, dict[str, Record]]] = {}
    for record in records:
        if record.task.endswith(GROUNDING) and record.image:
            own, shown = variant_parts(record.variant)
            question = record.id.removesuffix(record.variant) + own
            tasks.setdefault(record.task, {}).setdefault(question, {})[shown] = record
    for task, questions in sorted(tasks.items()):
        chosen = sorted(questions, key=lambda q: (-len(questions[q]), hashlib.sha256(q.encode()).hexdigest()))[:SHEET]
        rows = [
            [question, shown, questions[question][shown].image[0], "", "", "no"]
            for question in chosen
            for shown in in_order(questions[question].keys() - {AGAIN})
        ]
        yield table(f"variants-{task}", COLUMNS, rows, task.removesuffix(GROUNDING))


def fact_sheets(records: Iterable[Record]) -> Iterator[Table]:
    """Yield for each source a table of a few images with boxes and facts, without replies (`draw_qualitative`)."""
    sources: dict[str, dict[str, Record]] = {}
    for record in records:
        if record.facts and record.image_plain:
            images = sources.setdefault(record.source, {})
            if record.key not in images or len(record.regions) > len(images[record.key].regions):
                images[record.key] = record
    for source, images in sorted(sources.items()):
        chosen = sorted(images, key=lambda key: hashlib.sha256(key.encode()).hexdigest())[:SHEET]
        rows = [_measured(images[key]) for key in chosen]
        yield table(f"facts-{source}", QUALITATIVE, rows, f"{source}: facts")


def _measured(record: Record) -> list[Cell]:
    facts = "; ".join(map(_written, record.facts))
    return [record.source, record.key, record.image_plain[0], boxes_of(record), facts, "", "", ""]


def _written(fact: Fact) -> str:
    if isinstance(fact.value, str):
        return f"{fact.name} {fact.value}"
    error = f" ± {fact.error:.2g}" if fact.error else ""
    return f"{fact.name} {fact.value:.3g}{error}{f' {fact.unit}' if fact.unit not in ('', 'ratio') else ''}"


# A strip: one eye in its variants, with the answers of each model beneath.
COLUMNS: Heads = ["record", "shown", "image", "model", "answer", "changed"]
"""Columns of the table: a row for each record, what is shown, and model. `image` is a path within the curated folder;
`model` is empty on a sheet without replies; `changed` is ``yes`` where the answer is not that to the image as it is."""

CHANGED, STAYED = "#B34700", "#0072B2"

_SIDE = 320  # longest side of a drawn image in pixels


def draw_strip(table: Table, out: Path, curated: Path | None = None) -> None:
    """Draw a row for each ``record``: what is shown, and below each image the answer of each model.

    Args:
        table: Columns as `COLUMNS`.
        out: Folder to write to.
        curated: Folder of the images; None if unknown.
    """
    rows = lines(table)
    shown, models = distinct(rows, "shown"), [name for name in distinct(rows, "model") if name]
    each = WIDTH / max(len(shown), 1)
    below = LINE * (3 * len(models) + 0.5)
    records = list(parts(rows, "record"))
    height = len(records) * (each + below) + 3 * LINE
    with sheet(table, out, height, len(records), max(len(shown), 1)) as axes:
        for line, (_, own) in zip(axes, records, strict=True):
            for axis, name in zip(line, shown, strict=True):
                _tile(axis, [row for row in own if row["shown"] == name], curated, each)
        for axis, name in zip(axes[0], shown, strict=False):
            axis.set_title("\n".join(_words(name, each)), fontsize=SMALL)


def _words(shown: str, width: float) -> list[str]:
    return fitted(shown.replace("_", " ").replace(".", ": "), width, 3, inches(SMALL))


def _tile(axis: Any, rows: Sequence[Line], curated: Path | None, width: float) -> None:
    """Draw an image, and below it the answers; nothing where it was not shown."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    if not rows:
        return
    picture = picture_of(curated, rows[0]["image"]) if curated and rows[0]["image"] else None
    if picture is None:
        axis.text(0.5, 0.5, "image not found", ha="center", va="center", fontsize=SMALL)
    else:
        picture.thumbnail((_SIDE, _SIDE))
        axis.imshow(picture)
    place = 0
    for row in rows:
        colour = CHANGED if row["changed"] == "yes" else STAYED
        text = f"{row['model']}: {row['answer']}" if row["model"] else ""
        for line in fitted(text, width * 0.9, 3, inches(SMALL)) if text else ():
            axis.annotate(
                line, (0, 0), (0, -2 - 9 * place), xycoords="axes fraction", textcoords="offset points", va="top",
                fontsize=SMALL, color=colour,
            )  # fmt: skip
            place += 1
