"""Whether a filled region still tells the answer: a small classifier that sees nothing but the filled crops.

Where the evidence was removed and the classifier still finds the answer, by colour, place or size of the fill, an
answer that stays may be read from there. It is tried on patients that it was not fitted on. In the fit all patients
with an answer count the same: where a few hold many images, what these have in common is otherwise taken for an answer,
and without any leak it reaches 0.65 to 0.70 of 0.50.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lmod_train.core.artifacts.shortcuts import FILE, Shortcut, read_shortcuts, write_shortcuts
from lmod_train.core.curated import Curated
from lmod_train.core.types import Record, own_part
from lmod_train.scoring.grounding import AS_IS, EVIDENCE, fill_of, variant_parts
from lmod_train.scoring.items import group_of
from lmod_train.scoring.macro import macro_mean

NAME = "filled_crop"
"""Name of the rows in ``audit.csv``, followed by a point and the fill."""
METRIC = "balanced_accuracy"
FOLDS, SIDE = 5, 16
"""Folds of patients; side in pixels of the crops that the classifier sees."""
_CHANGED = 12  # difference of grey values above which a pixel was filled, and not only coded differently


def write_filled_crops(curated: Path, records: Iterable[Record]) -> list[Shortcut]:
    """Return the rows of `filled_crops`, after writing them to ``audit.csv`` in the place of earlier ones."""
    several = list(records)
    rows, tasks = filled_crops(curated, several), {record.task for record in several}
    kept = [row for row in read_shortcuts(curated) if not (row.shortcut.startswith(f"{NAME}.") and row.task in tasks)]
    if rows:
        write_shortcuts(curated / FILE, [*kept, *rows])
    return rows


def filled_crops(curated: Path, records: Iterable[Record]) -> list[Shortcut]:
    """Return the balanced accuracy for each task and fill, over all splits; an empty list without removed evidence.

    Args:
        curated: Folder with the images.
        records: Of that folder.

    Raises:
        CuratedDamaged: An image is missing or damaged.
    """
    whole: dict[tuple[str, ...], str] = {}
    filled: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        own, shown = variant_parts(record.variant)
        if shown == AS_IS and record.image:
            whole[_question(record, own)] = record.image[0]
        elif shown.startswith(f"{EVIDENCE}.") and record.choices:
            filled[record.task, fill_of(shown)].append(record)
    images = Curated(curated)
    return [
        _row(
            task, fill, [(r, _seen(images, whole[_question(r, variant_parts(r.variant)[0])], r.image[0])) for r in own]
        )
        for (task, fill), own in sorted(filled.items())
    ]


def _question(record: Record, own: str) -> tuple[str, ...]:
    return record.task, record.source, record.key, record.language, record.chain_step, own


def _seen(images: Curated, whole: str, filled: str) -> NDArray[np.float64]:
    """Return the colours of the filled region, and its place and size as shares of the image."""
    before, after = images.rgb(whole), images.rgb(filled)
    changed = np.abs(np.asarray(before, dtype=np.int16) - np.asarray(after, dtype=np.int16)).max(axis=2) > _CHANGED
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    if not len(rows):
        return np.zeros(3 * SIDE**2 + 4)
    box = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
    crop = np.asarray(after.crop(box).resize((SIDE, SIDE), Image.Resampling.BOX), dtype=np.float64).ravel()
    place = np.array([box[0] / after.width, box[1] / after.height, box[2] / after.width, box[3] / after.height])
    return np.concatenate([crop, 100 * place])


def _row(task: str, fill: str, seen: Sequence[tuple[Record, NDArray[np.float64]]]) -> Shortcut:
    truths = np.array([own_part(record.answer, record.choices) for record, _ in seen])
    groups = np.array([group_of(record) for record, _ in seen])
    name = f"{NAME}.{fill}"
    patients, patient = np.unique(groups, return_inverse=True)
    answers, answer = np.unique(truths, return_inverse=True)
    images = np.zeros((len(patients), len(answers)), dtype=int)
    np.add.at(images, (patient, answer), 1)
    with_answer = (images > 0).sum(axis=0)
    if len(answers) < 2 or min(with_answer) < FOLDS:
        return Shortcut(task, name, "all", METRIC, 0, None)
    features = np.array([values for _, values in seen])
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))
    weights = len(answer) / len(answers) / (images[patient, answer] * with_answer[answer])
    found = cross_val_predict(
        model,
        features,
        truths,
        cv=PredefinedSplit(_folds(images)[patient]),
        params={"logisticregression__sample_weight": weights},
    )
    score = macro_mean(task, METRIC, (found == truths).astype(float).tolist(), truths.tolist(), groups.tolist())[0]
    return Shortcut(task, name, "all", METRIC, score.n, score.value, score.low, score.high)


def _folds(images: NDArray[np.int_]) -> NDArray[np.int_]:
    """Return the fold of each patient: those with the same answers are dealt out in turn.

    Args:
        images: Numbers of images, patients by answers.
    """
    drawn = np.random.default_rng(0).random(len(images))
    folds = np.empty(len(images), dtype=int)
    folds[np.lexsort((drawn, *(images > 0).T))] = np.arange(len(images)) % FOLDS
    return folds
