"""Phantoms in the folder layout of the four-class eye-diseases dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lmod_train.core.types import Patient
from lmod_train.phantom.checks import check_count
from lmod_train.phantom.eye import DIAGNOSES, Eye, draw_eye
from lmod_train.phantom.shots import Shot, eye_seed, note, take
from lmod_train.phantom.truth import Truth

_SOURCE = "eye_diseases"


def truth(n: int, seed: int) -> list[tuple[str, Eye]]:
    """Return key and eye of each of `n` phantoms, in the order of drawing.

    The four diagnoses alternate. File names have shuffled numbers, one per patient, and the side of the eye, as the
    published ones; they do not depend on the diagnosis.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> [(key.split("/")[0], eye.diagnosis) for key, eye in truth(2, seed=0)]
        [('cataract', 'cataract'), ('diabetic_retinopathy', 'diabetic retinopathy')]
    """
    eyes = (draw_eye(eye_seed(_SOURCE, seed, i), DIAGNOSES[i % 4]) for i in range(check_count(n)))
    return [
        (f"{eye.diagnosis.replace(' ', '_')}/{number}_{eye.laterality}", eye)
        for number, eye in zip(_numbers(n, seed), eyes, strict=True)
    ]


def truths(n: int, seed: int) -> list[Truth]:
    """Return the truth of each phantom that `write` draws with the same options, without boxes.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> [(t.key.split("/")[0], t.labels["diagnosis"]) for t in truths(1, seed=0)]
        [('cataract', 'cataract')]
    """
    return [
        Truth(
            key=key,
            group=key.partition("/")[2].partition("_")[0],
            labels={"diagnosis": eye.diagnosis},
            patient=Patient(laterality=eye.laterality),
        )
        for key, eye in truth(n, seed)
    ]


def write(out: Path, n: int, seed: int, size: int = 384, workers: int = 2) -> None:
    """Draw `n` phantoms to ``out/eye_diseases_classification/dataset/<class>/``; existing files are kept.

    Args:
        out: Folder to write below.
        n: Number of photographs, from 0.
        seed: Seed, from 0; the same seed writes the same files.
        size: Side of the images in pixels.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: `n` is negative, or the folder contains phantoms drawn with other options.
    """
    root = Path(out) / "eye_diseases_classification"
    note(root, {"source": _SOURCE, "n": check_count(n), "seed": seed, "size": size})
    shots = [Shot(eye, root / "dataset" / f"{key}.jpg") for key, eye in truth(n, seed)]
    take(shots, size, _SOURCE, workers)


def _numbers(n: int, seed: int) -> list[int]:
    """Return `n` different patient numbers in an order independent of the classes."""
    return [int(i) + 1 for i in np.random.default_rng([seed, n]).permutation(n)]
