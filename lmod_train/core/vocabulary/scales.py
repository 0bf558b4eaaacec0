"""Ordered scales of the staging tasks; to add a scale, add a row to `scales.toml`."""

from __future__ import annotations

from dataclasses import dataclass

from lmod_train.core.vocabulary import rows


@dataclass(frozen=True, slots=True)
class Scale:
    """An ordered scale of whole numbers.

    Attributes:
        name: The project's own spelling; the key of a sample's label and the name of the task.
        disease: Disease whose stage a prompt asks for.
        levels: From the least to the most severe.
        meanings: Meaning of each level, in the order of `levels`.
        reference: Definition of the scale, and the dataset with its labels.
        words: Names of each level in a reply, in the order of `levels`, as phrases (see `lmod_train.core.vocabulary`);
            for level 0 the disease itself, as its denial means level 0. Empty: numbers only.
    """

    name: str
    disease: str
    levels: tuple[str, ...]
    meanings: tuple[str, ...]
    reference: str
    words: tuple[tuple[str, ...], ...] = ()


SCALES = rows("scales.scales", Scale)
