"""A caption of an image, of which a model writes questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption with its image. Texts come from a user's table.

    Attributes:
        key: Name of the caption, unique.
        image: Path of the image, relative to the folder of the drafts.
        text: The caption.
        sha256: SHA-256 of the image file.
        group: Patient; the image if none is stated.
        modality: A name of `lmod_train.core.vocabulary.modalities`, or a combination; empty if unknown.
        licence: Licence of the image.
        tags: ``subspecialty`` and ``text_in_image`` where they are stated.
        phantom: Whether the image is drawn.
    """

    key: str
    image: str
    text: str
    sha256: str = ""
    group: str = ""
    modality: str = ""
    licence: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    phantom: bool = False
