"""Imaging modalities, listed and combined in the order of the rows of `modalities.toml`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lmod_train.core.vocabulary import entry, rows

JOINT = "+"
"""Separator of a combination: several images of a sample, or a composite image, of different modalities."""


@dataclass(frozen=True, slots=True)
class Modality:
    """An imaging modality.

    Attributes:
        name: Name in samples and records.
        meaning: Full name.
        reference: Dataset or paper with such images.
    """

    name: str
    meaning: str
    reference: str


MODALITIES = rows("modalities.modalities", Modality)
_PLACES = {modality.name: place for place, modality in enumerate(MODALITIES)}


def words_of(modality: str) -> tuple[str, ...]:
    """Return the names in a modality or combination, in the order written; empty for the empty text.

    Example:
        >>> words_of("CFP+OCT"), words_of("")
        (('CFP', 'OCT'), ())
    """
    return tuple(modality.split(JOINT)) if modality else ()


def combined(words: Iterable[str]) -> str:
    """Return the combination of modalities: each name once, in the order of `MODALITIES`, unknown names last.

    Example:
        >>> combined(["OCT", "CFP", "OCT"]), combined([])
        ('CFP+OCT', '')
    """
    return JOINT.join(sorted(set(words), key=lambda word: (_PLACES.get(word, len(_PLACES)), word)))


def unknown_words(modality: str) -> list[str]:
    """Return the names in a modality or combination that are not in `MODALITIES`, in the order written.

    Example:
        >>> unknown_words("CFP+fundus"), unknown_words("")
        (['fundus'], [])
    """
    return [word for word in words_of(modality) if word not in _PLACES]


def in_order(modalities: Iterable[str]) -> list[str]:
    """Return distinct modalities and combinations in the order of `MODALITIES`, combinations after their first name.

    Example:
        >>> in_order(["OCT", "CFP+OCT", "CFP"])
        ['CFP', 'CFP+OCT', 'OCT']
    """
    return sorted(set(modalities), key=lambda m: ([_PLACES.get(w, len(_PLACES)) for w in words_of(m)], m))


SEEN: dict[str, tuple[str, ...]] = entry("modalities.seen")
"""Kind of image of an eye -> patterns of its names in lower case, in the order in which they are looked for."""
KIND_SEEN: dict[str, str] = entry("modalities.kind_seen")
"""Modality -> its kind in `SEEN`."""
