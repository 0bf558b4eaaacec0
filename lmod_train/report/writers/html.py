"""The page of a report: one HTML file with scores, figures, and predictions with their images."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmod_train.escaping import without_folders
from lmod_train.files import write_durably
from lmod_train.report.comparisons import merit
from lmod_train.report.contents import Contents
from lmod_train.report.results import Outcomes, Results
from lmod_train.report.thumbnails import licences, thumbnail
from lmod_train.report.writers.cells import RIGHT, cell_text
from lmod_train.report.writers.naming import file_name
from lmod_train.report.writers.template import render
from lmod_train.scoring.items import Item
from lmod_train.scoring.judged import PENDING
from lmod_train.shuffling import shuffle_key
from lmod_train.types import Answer, Prediction, Record, Unparsed
from lmod_train.vocabulary.phantoms import DRAWN

CAP = 500


@dataclass(frozen=True, slots=True)
class Shown:
    """A prediction with the label of its run and the item it is scored as."""

    run: str
    prediction: Prediction
    item: Item


def write_html(contents: Contents, results: Results, out: Path, cap: int) -> None:
    """Write ``index.html`` to the folder of the figures; it loads no other files.

    Replies are escaped, and the page's content security policy forbids loading and sending anything. If there are more
    than `cap` predictions, a fixed sample over runs and tasks is shown, with the same ids in every run.

    Args:
        contents: What the report shows.
        results: The runs with their predictions.
        out: Folder of the report.
        cap: Maximum number of predictions shown.
    """
    with write_durably(out / "index.html") as beside:
        beside.write_text(_page(contents, results, out / "figures", cap), encoding="utf-8")


def _page(contents: Contents, results: Results, figures: Path, cap: int) -> str:
    runs, curated = results.outcomes, results.images
    every = [s for label, outcomes in runs.items() for s in _all_of(label, outcomes)]
    shown = sample(every, cap)
    images: dict[tuple[Path | None, str], str] = {}
    cards = [_card(s, curated[s.run], images) | {"verdicts": _verdicts(s, runs[s.run])} for s in shown]
    notes = {n.source: n for label in runs for n in licences(curated[label], _records(shown, label))}
    return render(
        contents=contents,
        kind=lambda part: type(part).__name__,
        cell_text=cell_text,
        right=RIGHT,
        picture=lambda figure: _png(figures / f"{file_name(figure.name)}.png"),
        cards=cards,
        total=len(every),
        notes=[notes[source] for source in sorted(notes)],
        tasks=sorted({s.prediction.record.task for s in shown}),
        runs=list(runs),
        statuses=sorted({c["status"] for c in cards}),
        images=list(images.values()),
    )


def _png(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode("ascii")


def sample(every: Sequence[Shown], cap: int) -> list[Shown]:
    """Return at most `cap` predictions, equally many per run and task, selected by a hash of the id."""
    parts: dict[tuple[str, str], list[Shown]] = {}
    for s in every:
        parts.setdefault((s.run, s.prediction.record.task), []).append(s)
    each = cap if len(every) <= cap else max(1, cap // len(parts))
    chosen = {
        id(s) for part in parts.values() for s in sorted(part, key=lambda s: shuffle_key(s.prediction.record.id))[:each]
    }
    return [s for s in every if id(s) in chosen][:cap]


def _all_of(label: str, outcomes: Outcomes) -> list[Shown]:
    items = {i.id: i for part in outcomes.items.values() for i in part}
    found = [Shown(label, p, items[p.record.id]) for p in outcomes.predictions]
    return sorted(found, key=lambda s: s.prediction.record.id)


def _records(shown: Sequence[Shown], label: str) -> list[Any]:
    return [s.prediction.record for s in shown if s.run == label]


def _card(shown: Shown, curated: Path | None, images: dict[tuple[Path | None, str], str]) -> dict[str, Any]:
    """Return the values of one prediction for the template; images are indices into the page's list of images."""
    record, item, missing, places = shown.prediction.record, shown.item, [], []
    for image in record.image:
        key = (curated, image)
        if key not in images:
            images[key] = thumbnail(curated, image) if curated else ""
        places.append(list(images).index(key)) if images[key] else missing.append(image)
    right = merit(item)
    status = (
        item.status if item.status != "answered" else "right" if right == 1 else "partly right" if right else "wrong"
    )
    return {
        "run": shown.run,
        "task": record.task,
        "id": record.id,
        "status": status,
        "source": f"{record.source} ({DRAWN})" if record.phantom else record.source,
        "modality": record.modality if record.image else f"{record.modality}, asked without an image",
        "question": _question(record),
        "truth": _words(item.truth),
        "answer": _words(item.answer),
        "reply": shown.prediction.reply.reply or without_folders(shown.prediction.reply.error),
        "images": places,
        "missing": missing,
    }


def _verdicts(shown: Shown, outcomes: Outcomes) -> str:
    """Return the verdict of each judge on a reply, empty if there is none."""
    found = [(judge.judge, judge.verdicts.get(shown.prediction.record.id, PENDING)) for judge in outcomes.judged]
    return "; ".join(f"{judge}: {_words(verdict)}" for judge, verdict in found if verdict != PENDING)


def _question(record: Record) -> str:
    """Return the text of the messages; of several, each after its role."""
    texts = [(m.role, "\n".join(part.text for part in m.parts if part.type == "text")) for m in record.messages]
    return "\n".join(f"{role}: {text}" for role, text in texts) if len(texts) > 1 else texts[0][1]


def _words(answer: Answer | Unparsed) -> str:
    if isinstance(answer, Unparsed):
        return f"none ({answer.reason}{': ' + answer.detail if answer.detail else ''})"
    if isinstance(answer, Mapping):
        return "; ".join(f"{region}: {structure}" for region, structure in sorted(answer.items()))
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, float) else answer
