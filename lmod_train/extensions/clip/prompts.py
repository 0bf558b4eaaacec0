"""Prompts of zero-shot classification: several sentences for each choice of a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Record
from lmod_train.core.vocabulary.modalities import MODALITIES

_SHIPPED: dict[str, Any] = package_data(__file__, "words.yaml")

IMAGES: dict[str, str] = {m.name: f"a picture ({m.meaning})" for m in MODALITIES} | _SHIPPED["images"]
"""Modality -> how a picture of it is called in a prompt."""

Classes = tuple[tuple[str, ...], ...]
"""Prompts of each choice, in the order of the choices."""


@dataclass(frozen=True)
class Prompts:
    """Words of the choices, and the sentences around them.

    Attributes:
        words: Task, or ``task/variant`` -> choice -> phrases. They replace the shipped words of that task; a phrase may
            contain ``{variant}``, the question's variant, such as a condition.
        templates: Sentences with ``{class}``, the phrase, and ``{image}``, the kind of image.

    Example:
        >>> Prompts(words={"quality": {"good": ["good quality"]}}, templates=["{image} of {class}"]).templates
        ['{image} of {class}']
    """

    words: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)
    templates: list[str] = field(default_factory=lambda: list(_SHIPPED["templates"]))

    def __post_init__(self) -> None:
        if not self.templates or not all("{class}" in template for template in self.templates):
            expected = "sentences that each contain {class}"
            raise BadArgument("prompts.templates", self.templates, expected, "set templates: ['{image} of {class}']")

    def of(self, record: Record) -> Classes:
        """Return the prompts of each choice of a record.

        Raises:
            BadArgument: A choice has no words.
        """
        known = next(
            (self._every[key] for key in (f"{record.task}/{record.variant}", record.task) if key in self._every), {}
        )
        lacking = [choice for choice in record.choices if not known.get(choice)]
        if lacking:
            added = {choice: list(known.get(choice, ["WORDS"])) for choice in record.choices}
            words = f"prompts: {{words: {{{record.task}: {added}}}}}"
            cure = f"add them below init_args of the model's config, in the language of the model: {words}"
            raise BadArgument("prompts.words", f"{record.task}: {', '.join(lacking)}", "words for every choice", cure)
        return tuple(tuple(self._sentences(known[choice], record)) for choice in record.choices)

    @property
    def _every(self) -> dict[str, Mapping[str, list[str]]]:
        return {**_SHIPPED["words"], **self.words}

    def _sentences(self, phrases: list[str], record: Record) -> list[str]:
        filled = [phrase.replace("{variant}", record.variant.replace("_", " ")) for phrase in phrases]
        image = IMAGES.get(record.modality, "a picture")
        return [t.replace("{image}", image).replace("{class}", phrase) for phrase in filled for t in self.templates]

    def settings(self) -> dict[str, Any]:
        """Return all that decides the prompts, shipped words included."""
        return {
            "words": {task: dict(words) for task, words in self._every.items()},
            "templates": self.templates,
            "images": IMAGES,
        }
