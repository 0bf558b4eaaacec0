"""The contact sheet of phantoms drawn by `phantom --sheet`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from lmod_train.core.types import Dropped, Sample
from lmod_train.data.curation.images import open_image
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.discovery import discover, source_classes
from lmod_train.phantom.contact_sheet import Tile, contact_sheet
from lmod_train.phantom.truth import Truth

A_SOURCE = 3
"""Number of phantoms per source on the sheet."""


def draw_sheet(folder: Path, names: Sequence[str], n: int, seed: int, out: Path) -> int:
    """Write a PNG with phantoms of each source, with their names, labels and true boxes.

    Args:
        folder: Folder written by `phantom`; its files are read as in curation.
        names: Sources, in the order of the sheet.
        n: Number of phantoms per source that were drawn.
        seed: Seed they were drawn with.
        out: File to write.

    Returns:
        Number of phantoms on the sheet.
    """
    known = source_classes()
    sources = {s.name: s for s in discover(folder, wanted=[known[name]() for name in names]).sources}
    tiles = [tile for name in names if name in sources for tile in _tiles(sources[name], n, seed)]
    contact_sheet(tiles, out, columns=2 * A_SOURCE if len(names) > 1 else A_SOURCE)
    return len(tiles)


def _tiles(source: Source, n: int, seed: int) -> Iterator[Tile]:
    """Yield the tiles of a source, with labels as different as possible."""
    samples = {item.key: item for item in source.samples() if isinstance(item, Sample)}
    truths: list[Truth] = import_module(f"lmod_train.phantom.folders.{source.name}").truths(n, seed)
    for truth in _various([truth for truth in truths if truth.key in samples])[:A_SOURCE]:
        opened = open_image(samples[truth.key])
        if not isinstance(opened, Dropped):
            words = tuple(filter(None, (truth.key, labels_of(truth))))
            yield Tile(opened.image, f"{source.name} · {source.modality}", words, truth.boxes)


def _various(truths: Sequence[Truth]) -> list[Truth]:
    """Return truths ordered so that different patients come first, and among these different labels."""
    groups: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    order = []
    for place, truth in enumerate(truths):
        order.append((groups[truth.group], labels[labels_of(truth)], place))
        groups[truth.group] += 1
        labels[labels_of(truth)] += 1
    return [truths[place] for *_, place in sorted(order)]


def labels_of(truth: Truth) -> str:
    """Return a phantom's labels other than ``no``, in words.

    Example:
        >>> labels_of(Truth("1", "1", {"diagnosis": "cataract", "cataract": "yes", "glaucoma": "no", "icdr": "2"}))
        'cataract, icdr 2'
    """
    words = [
        word if concept == "diagnosis" else concept if word == "yes" else f"{concept} {word}"
        for concept, word in truth.labels.items()
        if word != "no"
    ]
    return ", ".join(dict.fromkeys(words)).replace("_", " ")
