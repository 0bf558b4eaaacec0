"""Reads the true class at each place of a dissected run, and keeps what was read beside its states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import softmax
from tqdm import tqdm

from lmod_train.core.artifacts.records import read_run_column
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Unparsed
from lmod_train.extensions.dissection.prior import prior_biases
from lmod_train.extensions.dissection.scores import (
    ABSENT,
    BEST,
    CORRECTED,
    LAST,
    LIKELIHOOD,
    READ,
    REPLY,
    TOWER,
    balanced,
)
from lmod_train.extensions.dissection.state_files import Dissected
from lmod_train.extensions.dissection.states import LIKELIHOODS, nothing_to_read
from lmod_train.scoring.classification import label_of
from lmod_train.scoring.items import Item
from lmod_train.scoring.linear_probe import (
    Classes,
    DividedRecords,
    Floats,
    Probe,
    best_of,
    divided,
    permuted,
    probe,
)

PERMUTATIONS = 10
"""Number of times that the labels of whole patients are permuted, for the probe of the tower."""


def read_places(
    run: Path,
    items: Sequence[Item],
    ceilings: Mapping[str, Mapping[str, Answer | Unparsed]] | None = None,
    permutations: int = PERMUTATIONS,
    progress: bool = False,
) -> pd.DataFrame:
    """Return what is read at each place for each record of a dissected run, and write it to the run's folder.

    Args:
        run: Folder of the run, with the states that `Dissection` stored.
        items: Items of one task of the run; those without states take no part, and are listed.
        ceilings: `CEILING` or `CHEAP` -> record id -> answer of this supervised model; None without one.
        permutations: Number of probes of permuted labels; 0 for none.
        progress: Whether a progress bar is shown.

    Returns:
        Columns id, group, truth (index of the class), place, read (index, -1 for none, -2 for not asked), and
        probabilities, a list a record, None where the place has none.

    Raises:
        BadArgument: No record has states, or too few patients.
    """
    dissected, asked = Dissected(run), read_run_column(Run(run).records, "asked")
    kept = [item for item in items if dissected.has(asked[item.id])]
    lost = {item.id for item in items} - {item.id for item in kept} - dissected.left_out().keys()
    dissected.list_left_out(dict.fromkeys(sorted(lost), "its states are missing"), 0)
    if not kept:
        left = next(iter(dissected.left_out().values()), "its states are missing")
        raise nothing_to_read(items[0].id.partition("/")[0] if items else "none", left)
    choices = kept[0].choices
    index = {choice: i for i, choice in enumerate(choices)}
    truth = np.array([index[label_of(item.truth)] for item in kept], dtype=np.intp)
    own = divided(truth, [item.group for item in kept])
    names = [asked[item.id] for item in kept]
    found = _probed(dissected, names, own, len(choices), progress)
    read = {place: one.probabilities for place, one in found.items()}
    logits = np.asarray(dissected.states(names, dissected.places()[LIKELIHOODS]), float)
    layers = [place for place in found if place.partition(".")[0] in ("image", "decision")] + [LAST]
    best, chosen = best_of([found[place] for place in layers], own)
    read |= {
        BEST: best.probabilities,
        LIKELIHOOD: softmax(logits, axis=1),
        CORRECTED: softmax(_corrected(logits, own), axis=1),
    }
    classes = {place: probabilities.argmax(1) for place, probabilities in read.items()}
    classes[REPLY] = np.array([_class_of(item.answer, index) for item in kept])
    for place, answers in (ceilings or {}).items():
        classes[place] = np.array([_class_of(answers[i.id], index) if i.id in answers else ABSENT for i in kept])
    table = pd.concat([_rows(kept, truth, place, classes[place], read.get(place)) for place in classes])
    controls: list[tuple[str, int, str | float]] = [("best layer", i, layers[which]) for i, which in enumerate(chosen)]
    controls += [("permuted labels", i, value) for i, value in _null(dissected, names, own, len(choices), permutations)]
    dissected.keep(dissected.controls, pd.DataFrame(controls, columns=["control", "number", "value"]))
    dissected.keep(dissected.answers, table)  # the last: a report reads the controls of a run that has answers
    return table


def _probed(
    dissected: Dissected, names: Sequence[str], own: DividedRecords, classes: int, progress: bool
) -> dict[str, Probe]:
    """Return the probe of each place; only the states of one are in memory at a time."""
    places = tqdm(dissected.places().items(), "probes", disable=not progress)
    return {
        READ if place == LIKELIHOODS else place: probe(dissected.states(names, part), own, classes)
        for place, part in places
    }


def _corrected(logits: Floats, own: DividedRecords) -> Floats:
    """Return log-likelihoods with the biases that were chosen on the other folds."""
    made = logits.copy()
    for fit, read in own.folds:
        made[read] += prior_biases(logits[fit], own.truth[fit])
    return made


def _null(
    dissected: Dissected, names: Sequence[str], own: DividedRecords, classes: int, count: int
) -> list[tuple[int, float]]:
    """Return the balanced accuracies of the tower's probe where the labels of whole patients are permuted."""
    states, found = dissected.states(names, dissected.places()[TOWER]), []
    for i in range(count):
        try:
            mixed = permuted(own, i)
        except BadArgument:  # too few patients of a class were drawn apart
            continue
        read = probe(states, mixed, classes).probabilities.argmax(1)
        value = balanced("", TOWER, mixed.truth, read, own.groups.tolist(), classes).value
        found.append((i, float(value or 0.0)))
    return found


def _class_of(answer: Answer | Unparsed, index: Mapping[str, int]) -> int:
    return -1 if isinstance(answer, Unparsed) else index.get(label_of(answer), -1)


def _rows(
    items: Sequence[Item], truth: Classes, place: str, read: Classes, probabilities: Floats | None
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": [item.id for item in items],
            "group": [item.group for item in items],
            "truth": truth,
            "place": place,
            "read": read,
            "probabilities": [None] * len(items) if probabilities is None else probabilities.tolist(),
        }
    )
