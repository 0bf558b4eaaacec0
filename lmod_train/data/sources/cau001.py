"""CAU001 (PupiUp 2023): photographs of eyes with boxes around the right and left eye, irises and pupils."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Patient, Sample, SampleStream
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.sources.base import UNPLACED
from lmod_train.data.sources.roboflow import Meaning, Roboflow
from lmod_train.data.sources.roboflow_labels import Annotation, LabelProblem

ALIASES: Mapping[str, str] = {"Iris": "iris", "Pupila": "pupil", "Ojo Der": "right eye", "Ojo Izq": "left eye"}
"""Structure by class name of version 1, in Spanish."""

_SIDES = {"right eye": "right", "left eye": "left"}
_TREE = """\
  YOLO flavour:
    <root>/data.yaml                                    names: Iris, Ojo Der, Ojo Izq, Pupila
    <root>/{train,valid,test}/images/*.rf.<32 hex>.jpg
    <root>/{train,valid,test}/labels/*.rf.<32 hex>.txt
  COCO flavour:
    <root>/{train,valid,test}/*.rf.<32 hex>.jpg
    <root>/{train,valid,test}/_annotations.coco.json"""


class Cau001(Roboflow):
    """1,492 photographs of version 1, with three augmented copies of each training image; LMOD counts 1,417.

    Most show one eye with its iris and pupil, some both eyes, and some only the iris. Right and left are the person's
    own; the laterality of the patient is set if exactly one eye has a box.

    Args:
        root: See `Source`.
        aliases: Class name of the export (ignoring case and surrounding blanks) -> structure of the vocabulary;
            replaces `ALIASES`. A photograph with another class is yielded without boxes and listed in dropped.csv.
        published: Whether the files are those of the published project, if they do not name it.
        at_most: Largest number of photographs with boxes, chosen by the SHA-256 of their keys; None keeps all. LMOD
            does not say which it left out.

    Raises:
        BadArgument: A value of `aliases` is not a structure of the vocabulary, or `at_most` is below 1.
    """

    name = "cau001"
    modality = "LP"
    licence = "CC BY 4.0"
    redistributable = True
    reference = "https://universe.roboflow.com/pupiup-rjvfv/cau001"
    tree = _TREE

    def __init__(
        self,
        root: Path = UNPLACED,
        aliases: Mapping[str, str] = ALIASES,
        published: bool = False,
        at_most: int | None = None,
    ) -> None:
        super().__init__(root, published)
        if at_most is not None and at_most < 1:
            raise BadArgument("at_most", at_most, "a number of photographs from 1, or null", "leave it out for all")
        self.at_most = at_most
        structures = {term.name for term in STRUCTURES}
        wrong = sorted(set(aliases.values()) - structures)
        if wrong:
            cure = f"use words such as {', '.join(ALIASES.values())}"
            raise BadArgument("aliases", dict(aliases), f"structures of the vocabulary, not {wrong[0]!r}", cure)
        self.aliases = {_plain(name): structure for name, structure in aliases.items()}

    def samples(self) -> SampleStream:
        """Yield as `Roboflow.samples`, and a `Dropped` in place of each photograph beyond `at_most`.

        Raises:
            SourceNotFound: As `verify`.
            BadArgument: As `verify`.
        """
        found = list(super().samples())
        boxed = [item.key for item in found if isinstance(item, Sample) and item.outlines]
        kept = set(sorted(boxed, key=lambda key: hashlib.sha256(key.encode()).digest())[: self.at_most])
        for item in found:
            if isinstance(item, Sample) and item.outlines and item.key not in kept:
                yield self._drop(item.own_image, "not counted", f"at_most is {self.at_most}", item.key)
            else:
                yield item

    @classmethod
    def _claims(cls, names: Sequence[str], project: str) -> bool:
        """Return whether the project is cau001, or all class names are known, with iris and pupil among them."""
        plain, known = {_plain(name) for name in names}, {_plain(name) for name in ALIASES}
        return _plain(project) == cls.name or {"iris", "pupila"} <= plain <= known

    def _meaning(self, drawn: Sequence[Annotation]) -> Meaning:
        unknown = sorted({a.name for a in drawn if _plain(a.name) not in self.aliases})
        if unknown:
            known = ", ".join(self.aliases)
            raise LabelProblem("unknown class", f"{', '.join(unknown)}; the option aliases has {known}")
        outlines = tuple(a.outline(self.aliases[_plain(a.name)]) for a in drawn)
        sides = [_SIDES[o.structure] for o in outlines if o.structure in _SIDES]
        return Meaning(outlines, patient=Patient(laterality=sides[0] if len(sides) == 1 else None))


def _plain(name: str) -> str:
    """Return a class name in lower case with single blanks.

    Example:
        >>> _plain(" Ojo  Der ")
        'ojo der'
    """
    return " ".join(name.casefold().split())
