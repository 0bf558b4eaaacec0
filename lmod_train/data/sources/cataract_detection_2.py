"""Cataract Detection 2 (SRM University Ramapuram 2023): photographs of eyes with and without cataract, a box each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.sources.base import UNPLACED
from lmod_train.data.sources.roboflow import Meaning, Roboflow
from lmod_train.data.sources.roboflow_labels import Annotation, LabelProblem
from lmod_train.data.sources.spelling import plain_class

LABELS: Mapping[str, str] = {
    **dict.fromkeys(("cataract", "cataracts", "cataract eye", "with cataract", "cataract detected"), "cataract"),
    **dict.fromkeys(("immature", "mature", "hypermature", "immature cataract", "mature cataract"), "cataract"),
    **dict.fromkeys(("normal", "normal eye", "healthy", "healthy eye", "no cataract", "non cataract"), "normal"),
    **dict.fromkeys(("without cataract", "not cataract", "no cataract detected"), "normal"),
}
"""Diagnosis by class name. The class names of the export are not published; these are likely ones."""

_YES_NO = {"cataract": "yes", "normal": "no"}
_TREE = """\
  YOLO flavour:
    <root>/data.yaml                                    names: such as cataract, normal
    <root>/{train,valid,test}/images/*.rf.<32 hex>.jpg
    <root>/{train,valid,test}/labels/*.rf.<32 hex>.txt
  COCO flavour:
    <root>/{train,valid,test}/*.rf.<32 hex>.jpg
    <root>/{train,valid,test}/_annotations.coco.json"""


class CataractDetection2(Roboflow):
    """1,015 photographs with one box around the eye (LMOD); the class of the box is the state of the lens.

    The class names are not published, so they are matched ignoring case, blanks, dashes and underscores. An export with
    an unknown class name is refused, as a guess could give wrong diagnoses.

    The web page of the dataset is not known either: LMOD states the workspace (SRM University Ramapuram), the title and
    September 2023. The reference is Roboflow Universe's search for this title; choose the result of that workspace.

    Args:
        root: See `Source`.
        labels: Class name -> ``cataract`` or ``normal``, or ``""`` for a class without a diagnosis; replaces `LABELS`.
        structure: Structure of the vocabulary that every box encloses; the whole eye in LMOD's figure. A word
            other than eye, iris or pupil must be in the task anatomy's `options` under cataract_detection_2.
        published: Whether the files are those of the published project, if they do not name it.

    Raises:
        BadArgument: `labels` or `structure` has a value that cannot be used.
    """

    name = "cataract_detection_2"
    modality = "LP"
    licence = "CC BY 4.0"
    redistributable = True
    reference = "https://universe.roboflow.com/search?q=cataract%20detection%202"  # LMOD states no URL
    tree = _TREE

    def __init__(
        self, root: Path = UNPLACED, labels: Mapping[str, str] = LABELS, structure: str = "eye", published: bool = False
    ) -> None:
        super().__init__(root, published)
        wrong = sorted(set(labels.values()) - {*_YES_NO, ""})
        if wrong:
            cure = "map every class name of the export to one of them"
            raise BadArgument("labels", dict(labels), f"'cataract', 'normal' or '', not {wrong[0]!r}", cure)
        if structure not in {term.name for term in STRUCTURES}:
            raise BadArgument("structure", structure, "a structure of the vocabulary", "leave it out for eye")
        self.labels = {plain_class(name): label for name, label in labels.items()}
        self.structure = structure

    @classmethod
    def _claims(cls, names: Sequence[str], project: str) -> bool:
        """Return whether the project has this name, or all class names are known, with cataract among them."""
        known = {plain_class(name): label for name, label in LABELS.items()}
        states = {known.get(plain_class(name)) for name in names}
        return plain_class(project).startswith("cataract detection 2") or ("cataract" in states and None not in states)

    def _accept(self, names: Sequence[str]) -> None:
        """Raise an error for class names that are not in `labels`."""
        unknown = sorted(name for name in names if plain_class(name) not in self.labels)
        if unknown:
            expected = f"every class name of the export ({', '.join(map(repr, names))}); {unknown[0]!r} is unknown"
            cure = "set `labels` in the source's configuration: class name -> 'cataract', 'normal' or '' (no diagnosis)"
            raise BadArgument("labels", sorted(self.labels), expected, cure)

    def _meaning(self, drawn: Sequence[Annotation]) -> Meaning:
        unknown = sorted({a.name for a in drawn if plain_class(a.name) not in self.labels})
        if unknown:
            raise LabelProblem("unknown class", f"{', '.join(unknown)}; the option labels has {', '.join(self.labels)}")
        found = {self.labels[plain_class(a.name)] for a in drawn} - {""}
        if len(found) > 1:
            raise LabelProblem("contradicting classes", f"one photograph has {' and '.join(sorted(found))}")
        labels = {"diagnosis": word} | {"cataract": _YES_NO[word]} if (word := next(iter(found), "")) else {}
        return Meaning(tuple(a.outline(self.structure) for a in drawn), labels)
