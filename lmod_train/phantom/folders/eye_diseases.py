"""Phantoms in the folder shape of the four-class eye-diseases set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lmod_train.errors import BadArgument
from lmod_train.phantom.eye import DIAGNOSES, Eye, draw_eye
from lmod_train.phantom.shots import Shot, eye_seed, note, take
from lmod_train.phantom.truth import Truth
from lmod_train.types import Patient

_SOURCE = "eye_diseases"


def truth(n: int, seed: int) -> list[tuple[str, Eye]]:
    """Return the key the source yields and the truth of each of `n` phantoms, in the order of drawing.

    The four diagnoses come in turn. File numbers are shuffled, one patient each, and name the side as the real files
    do; beyond the folder they tell nothing.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> [(key.split("/")[0], eye.diagnosis) for key, eye in truth(2, seed=0)]
        [('cataract', 'cataract'), ('diabetic_retinopathy', 'diabetic retinopathy')]
    """
    eyes = (draw_eye(eye_seed(_SOURCE, seed, i), DIAGNOSES[i % 4]) for i in range(_count(n)))
    return [
        (f"{eye.diagnosis.replace(' ', '_')}/{number}_{eye.laterality}", eye)
        for number, eye in zip(_numbers(n, seed), eyes, strict=True)
    ]


def truths(n: int, seed: int) -> list[Truth]:
    """Return what must come back of each phantom that `write` draws with the same numbers; a photograph has no boxes.

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
    """Draw `n` phantoms to ``out/eye_diseases_classification/dataset/<class>/``; what is there already stays.

    Args:
        out: Folder to write below.
        n: Photographs, 0 or more.
        seed: From 0; the same seed writes the same files.
        size: Pixels a side.
        workers: Processes to start; 0 works in this one.

    Raises:
        BadArgument: `n` is negative, or the folder holds phantoms of other numbers.
    """
    root = Path(out) / "eye_diseases_classification"
    note(root, {"source": _SOURCE, "n": _count(n), "seed": seed, "size": size})
    shots = [Shot(eye.seed, eye.diagnosis, root / "dataset" / f"{key}.jpg") for key, eye in truth(n, seed)]
    take(shots, size, _SOURCE, workers)


def _numbers(n: int, seed: int) -> list[int]:
    """Return `n` different patient numbers in an order that does not follow the classes."""
    return [int(i) + 1 for i in np.random.default_rng([seed, n]).permutation(n)]


def _count(n: int) -> int:
    if n < 0:
        raise BadArgument("n", n, "0 or more photographs", "give a number from 0")
    return n
