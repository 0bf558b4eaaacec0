"""Questions and answers about one training image: its description, and its findings one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from box_description import FORMS, HELD, ask_of_box, ask_what_boxes_hold
from description import LOOKS, Turn, ask_of_sign, describe
from fundi import fundus_of, slo_of
from marked import VARIANTS
from others import photograph_of, scan_of, scene_of
from pictures import modality_of, seed_of
from scene_description import describe_photograph, describe_scan, describe_surgery

from lmod_train.core.types import Box, Region

_FINE = 10_000  # units per image side in which boxes are given


def turns_of(row: int, boxes: npt.NDArray[np.float32]) -> list[Turn]:
    """Return the turns about one training image, the complete description first.

    A fundus has one more question, about a condition that is present in half of the cases.
    """
    index = row // VARIANTS
    rng = np.random.default_rng([7, row])
    language = language_of(row)
    turns = _described(index, regions_of(boxes), language)
    if modality_of(index) == "CFP":
        signs = fundus_of(seed_of(index)).signs
        name = str(rng.choice(signs if signs and rng.random() < 0.5 else list(LOOKS)))
        turns = (*turns, ask_of_sign(name, signs, language))
    return list(turns)


def language_of(row: int) -> str:
    """Return the language of the turns about a training image: English for about three in four."""
    return "en" if np.random.default_rng([8, row]).random() < 0.75 else "zh"


def boxes_turn_of(row: int, held: npt.NDArray[np.int8], rng: np.random.Generator) -> Turn | None:
    """Return a turn about the content of the image's boxes in a random form, one in six about a single box.

    Half of the others offer options, as many as a task does. None if no box has named content.
    """
    names, language = list(HELD), language_of(row)
    named = {number: names[place] for number, place in enumerate(held.tolist(), 1) if place >= 0}
    if not named:
        return None
    if rng.random() < 1 / 6:
        number = int(rng.choice(list(named)))
        return ask_of_box(number, named[number], language)
    offered: list[str] = []
    if rng.random() < 0.5:
        others = rng.choice(names, int(rng.integers(1, 10)), replace=False)
        offered = rng.permutation(sorted({*named.values(), *others.tolist()})).tolist()
    return ask_what_boxes_hold(named, language, int(rng.integers(len(FORMS[language]))), offered)


def regions_of(boxes: npt.NDArray[np.float32]) -> tuple[Region, ...]:
    """Return the drawn boxes without names of structures."""
    drawn = [(n, row) for n, row in enumerate(boxes.tolist(), 1) if row[0] == row[0]]
    return tuple(Region("", Box(*(round(_FINE * edge) for edge in row)), n) for n, row in drawn)


def _described(index: int, regions: tuple[Region, ...], language: str) -> tuple[Turn, ...]:
    seed, modality = seed_of(index), modality_of(index)
    if modality == "CFP":
        truth = fundus_of(seed)
        return describe(truth.eye, regions, language, truth.signs, _FINE)
    if modality == "SLO":
        return describe(slo_of(seed), regions, language, side=_FINE, laser=True)
    if modality == "OCT":
        return describe_scan(scan_of(seed), regions, language, _FINE)
    if modality == "LP":
        return describe_photograph(photograph_of(seed), regions, language, _FINE)
    return describe_surgery(scene_of(seed), regions, language, _FINE)
