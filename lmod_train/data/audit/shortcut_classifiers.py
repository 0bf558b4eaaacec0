"""What a benchmark's images give away without medicine: their source, black border, coarse colours and raw files.

A score that lies no higher than one of these rows need not have seen a single lesion. Each shortcut is a classifier
fitted on the training split and measured on val and test; like every classifier here it may only be better than it
looks, so a low row proves nothing and a high one does.

Source, border mask and file facts are read by a logistic regression; thumbnails by their nearest neighbour, which finds
copies, and by a random forest (Breiman 2001), which finds what colours and places have in common.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy.stats import binomtest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from lmod_train.core.artifacts.shortcuts import Shortcut
from lmod_train.core.csv_files import read_csv
from lmod_train.core.curated import Curated
from lmod_train.core.errors import ArtifactError, CuratedDamaged
from lmod_train.core.pixels import UNREADABLE, open_picture
from lmod_train.core.types import Record, own_part
from lmod_train.data.curation.copies import DARK

MASK_SIDE, THUMBNAIL_SIDE = 32, 24

BYTES_STEPS = 8
"""Steps of the size in bytes within a doubling; a file twice as large is this many apart."""

TREES = 100
"""Trees of the random forest, scikit-learn's default."""

Floats = npt.NDArray[np.float32]

Look = Callable[[Record], Sequence[float]]

Learner = Callable[[int], Any]
"""Function of the number of classes in training that returns a classifier to fit."""


def shortcuts(curated: Path, records: Iterable[Record]) -> list[Shortcut]:
    """Return a row a task, shortcut and split, for tasks that choose one answer about an image.

    Each kind of question (variant, language, choices, number of images) has a classifier of its own, which sees all
    images of a question in their order. Tasks about numbered regions or without choices, and questions without an
    image, are left out.

    Args:
        curated: Folder with the images, and ``files.csv`` where `curate` wrote one; without it there are no file facts.
        records: Of that folder.

    Raises:
        ArtifactError: An image is missing or damaged.
    """
    by_task: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.choices and record.image_plain and not record.regions:
            by_task[record.task].append(record)
    pictures, facts = _Pictures(curated), _facts(Curated(curated).file("files.csv"))
    sources = sorted({r.source for several in by_task.values() for r in several})
    tried: dict[str, tuple[Look, Learner]] = {
        "source": (lambda r: [float(r.source == s) for s in sources], _regression),
        "border_mask": (pictures.mask, _regression),
        "thumbnail": (pictures.thumbnail, _nearest),
        "thumbnail_forest": (pictures.thumbnail, _forest),
    }
    if facts:
        tried["file_facts"] = _listed_in(facts), _regression
    return [
        row
        for task, several in sorted(by_task.items())
        for shortcut, (look, learner) in tried.items()
        for row in _rows(task, shortcut, several, look, learner)
    ]


def accuracy_row(task: str, shortcut: str, split: str, n: int, hits: int) -> Shortcut:
    """Return the row of a share with its interval; nothing asked has neither.

    Example:
        >>> row = accuracy_row("glaucoma", "source", "test", 10, 5)
        >>> row.value, round(row.low, 3), round(row.high, 3)
        (0.5, 0.187, 0.813)
    """
    if not n:
        return Shortcut(task, shortcut, split, "accuracy", 0, None)
    interval = binomtest(hits, n).proportion_ci(0.95, "exact")
    return Shortcut(task, shortcut, split, "accuracy", n, hits / n, float(interval.low), float(interval.high))


def _rows(task: str, shortcut: str, records: Sequence[Record], look: Look, learner: Learner) -> Iterator[Shortcut]:
    kinds: defaultdict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: r.id):
        images = str(len(record.image_plain))
        kinds[" ".join((record.variant, record.language, *record.choices, images))].append(record)
    right: dict[str, list[bool]] = {"val": [], "test": []}
    for kind in kinds.values():
        for split, hits in _right(kind, look, learner).items():
            right[split] += hits
    for split, hits in (*right.items(), ("val+test", right["val"] + right["test"])):
        yield accuracy_row(task, shortcut, split, len(hits), sum(hits))


def _right(records: Sequence[Record], look: Look, learner: Learner) -> dict[str, list[bool]]:
    """Return which answers of val and test the classifier gets right; none where there is nothing to learn from."""
    parts = {split: [r for r in records if r.split == split] for split in ("train", "val", "test")}
    taught = [own_part(r.answer, r.choices) for r in parts["train"]]
    if not taught:
        return {"val": [], "test": []}
    model = learner(len(set(taught))).fit(_matrix(parts["train"], look), taught)
    return {
        split: [
            bool(predicted == own_part(r.answer, r.choices))
            for r, predicted in zip(parts[split], model.predict(_matrix(parts[split], look)), strict=True)
        ]
        if parts[split]
        else []
        for split in ("val", "test")
    }


def _regression(classes: int) -> Any:
    return LogisticRegression(max_iter=2000) if classes > 1 else DummyClassifier()


def _nearest(classes: int) -> Any:
    return KNeighborsClassifier(n_neighbors=1)


def _forest(classes: int) -> Any:
    return RandomForestClassifier(TREES, random_state=0)


def _matrix(records: Sequence[Record], look: Look) -> Floats:
    return np.array([look(r) for r in records], np.float32)


class _Pictures:
    """Border masks and thumbnails of curated images, each image opened once."""

    def __init__(self, curated: Path) -> None:
        self._images = Curated(curated)
        self._seen: dict[str, tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]] = {}

    def mask(self, record: Record) -> Sequence[float]:
        """Return 1 where an image is black, 0 elsewhere, row by row, image by image."""
        return _of_all(record, lambda name: (self._of(name)[0] <= DARK).astype(np.float32).ravel().tolist())

    def thumbnail(self, record: Record) -> Sequence[float]:
        """Return the colours of the images, 0 to 255, row by row, image by image."""
        return _of_all(record, lambda name: self._of(name)[1].astype(np.float32).ravel().tolist())

    def _of(self, name: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        if name not in self._seen:
            self._seen[name] = coarse_views(self._images.file(name))
        return self._seen[name]


def coarse_views(file: Path) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return an image in grey, (32, 32), whose dark part is the border mask, and as a thumbnail, (24, 24, 3).

    Raises:
        ArtifactError: It is missing or damaged.
    """
    colours = _coarse(file)
    grey = colours.convert("L").resize((MASK_SIDE, MASK_SIDE), Image.Resampling.BOX)
    small = colours.resize((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Image.Resampling.BOX)
    return np.asarray(grey), np.asarray(small)


def _of_all(record: Record, look: Callable[[str], Sequence[float]]) -> list[float]:
    """Return what is seen of each image of a record, one behind the other."""
    return [number for image in record.image_plain for number in look(image)]


def _listed_in(facts: Mapping[tuple[str, str], Sequence[float]]) -> Look:
    """Return what `facts` list of each image of a record."""
    return lambda record: _of_all(record, lambda image: facts.get(_place(image), facts["", ""]))


def _place(image: str) -> tuple[str, str]:
    """Return source and key of a curated image, from its path.

    Example:
        >>> _place("images/refuge/train/g0001.jpg")
        ('refuge', 'train/g0001')
    """
    source, _, file = image.removeprefix("images/").partition("/")
    return source, file.rpartition(".")[0]


def _coarse(file: Path) -> Image.Image:
    try:
        return open_picture(file, coarse=4 * MASK_SIDE).convert("RGB")
    except UNREADABLE as error:
        cure = "bring it back, or curate into another folder: `python -m lmod_train curate --raw RAW --out OTHER`"
        raise ArtifactError(file, f"cannot be read ({type(error).__name__})", cure) from error


def _facts(path: Path) -> Mapping[tuple[str, str], Sequence[float]]:
    """Return for each image its raw file's type, size in pixels and size in bytes, as columns of 0 and 1.

    Under an empty source and key stand the zeros of a file that is not listed.

    Raises:
        CuratedDamaged: The table is no text, or has other columns.
    """
    if not path.exists():
        return {}
    try:
        facts_of = {(row["source"], row["key"]): _facts_in(row) for row in read_csv(path)}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise CuratedDamaged(path, f"is no table of raw files ({str(error).splitlines()[0]})") from error
    names = {name: i for i, name in enumerate(sorted({name for facts in facts_of.values() for name in facts}))}
    if not names:
        return {}
    table: dict[tuple[str, str], Sequence[float]] = {("", ""): np.zeros(len(names), np.float32).tolist()}
    for place, facts in facts_of.items():
        columns = np.zeros(len(names), np.float32)
        columns[[names[name] for name in facts]] = 1
        table[place] = columns.tolist()
    return table


def _facts_in(row: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the facts of one row of ``files.csv``."""
    bytes_ = f"bytes {round(BYTES_STEPS * math.log2(1 + int(row['bytes'])))}"
    return f"type {row['type']}", f"{row['width']} x {row['height']}", bytes_
