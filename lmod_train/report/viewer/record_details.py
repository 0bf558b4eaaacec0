"""What the viewer shows of a record, whichever model was asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmod_train.core.types import Record, fields_of
from lmod_train.core.vocabulary.phantoms import DRAWN
from lmod_train.report.viewer.outcome_text import answer_text
from lmod_train.report.viewer.store import Store
from lmod_train.report.viewer.texts import Numbered
from lmod_train.scoring.items import Item
from lmod_train.scoring.subset_names import age_group

_OWN: Mapping[str, str] = {}


def record_details(
    item: Item,
    record: Record,
    curated: Path | None,
    store: Store,
    texts: Numbered[str],
    names: Mapping[str, str] = _OWN,
) -> dict[str, Any]:
    """Return the values of a record as JSON holds them; texts of messages are numbers in `texts`.

    Args:
        item: The item it is scored as, with the truth.
        record: The record.
        curated: Folder of its images; None if unknown.
        store: Keeps the images.
        texts: Numbers the texts of messages, which many records share.
        names: Path of an image -> the one that is shown in its place.
    """
    return {
        "id": record.id,
        "task": record.task,
        "source": source_name(record),
        "modality": modality_name(record),
        "split": record.split,
        "language": record.language,
        "messages": [
            [m.role, [texts.number(part_text(part.type, part.text)) for part in m.parts]] for m in record.messages
        ],
        "truth": answer_text(item.truth),
        "reference": record.answer,
        "choices": list(record.choices),
        "regions": _regions(record),
        "images": [_image(record, i, curated, store, names) for i in range(len(record.image))],
        "chain": record.chain,
        "about": [[key, value] for key, value in groups_of(record)],
        "licence": record.licence,
    }


def part_text(kind: str, text: str) -> str:
    """Return the text of a part of a message; of an image its placeholder."""
    return text if kind == "text" else "[image]"


def source_name(record: Record) -> str:
    """Return the source of a record, with a remark if it is a phantom."""
    return f"{record.source} ({DRAWN})" if record.phantom else record.source


def modality_name(record: Record) -> str:
    """Return the modality of a record, with a remark if it was asked without an image."""
    return record.modality if record.image else f"{record.modality}, asked without an image"


def groups_of(record: Record) -> list[tuple[str, str]]:
    """Return the (key, value) pairs that predictions can be filtered by, besides task, source and modality."""
    patient = fields_of(record.patient)
    age = patient.pop("age")
    stated = {"split": record.split, "language": record.language, "age": age_group(age), **patient, **record.tags}
    return [(key, str(value)) for key, value in stated.items() if value]


def _regions(record: Record) -> list[list[Any]]:
    """Return id, structure and box of each region, in pixels of the curated image."""
    return [
        [r.id, r.structure, *(round(side * record.scale, 1) for side in (r.box.x0, r.box.y0, r.box.x1, r.box.y1))]
        for r in record.regions
    ]


def _image(record: Record, place: int, curated: Path | None, store: Store, names: Mapping[str, str]) -> dict[str, Any]:
    """Return an image as the model was shown it and, where it was marked, without marks; empty addresses if missing."""
    name = record.image[place]
    plain = record.image_plain[place] if place < len(record.image_plain) else name
    sent, bare = store.image(curated, name), store.image(curated, plain)
    size = bare or sent
    return {
        "name": names.get(name, name),
        "sent": sent.address if sent else "",
        "plain": bare.address if bare else "",
        "width": size.width if size else 0,
        "height": size.height if size else 0,
    }
