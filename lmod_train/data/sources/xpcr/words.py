"""Spellings of the names in X-PCR's files: fields, stages, kinds of cross-modality questions, levels, modalities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmod_train.data.sources.spellings import plain, shown, spellings

ROW_FIELDS = ("id", "modality", "image", "image_path", "qa_pairs")
"""Fields of a row, as seen in the released files; an image is in one of the two image fields."""

PAIR_FIELDS = ("category", "question", "answer", "sub_label", "question_type", "options", "level", "impact")
"""Fields of a question; the last three were not seen in the release. The meaning of ``sub_label`` is not known."""

CASE_FIELDS = ("id", "images", "qa_pairs", "group")
"""Fields of a case with several images; ours, as the released layout was not seen."""

STAGES: Mapping[str, tuple[str, ...]] = {
    "IQA": ("QA", "quality", "image quality", "image quality assessment", "quality assessment"),
    "AL": ("localization", "localisation", "anatomical localization", "anatomical localisation", "location"),
    "LC": ("PF", "lesion", "lesion characterization", "lesion characterisation", "pathological features"),
    "DD": ("DR", "diagnosis", "disease diagnosis", "disease recognition", "differential diagnosis"),
    "SG": ("severity", "grading", "severity grading", "severity assessment", "risk assessment"),
    "CD": ("decision", "clinical decision", "clinical decision making", "management", "treatment"),
}
"""Stage -> further spellings of a question's category; the spelling in the release is not known."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "correspondence": ("correspondence identification", "cross modality correspondence", "lesion correspondence"),
    "integration": ("diagnostic integration", "cross modality integration"),
    "selection": ("modality selection", "cross modality selection"),
}
"""Kind of a cross-modality question (supplement, section 6.2) -> further spellings of its category."""

LEVELS: Mapping[str, tuple[str, ...]] = {
    "R": ("resident", "residents", "easy"),
    "A": ("attending", "attendings", "medium"),
    "S": ("specialist", "specialists", "hard"),
}
IMPACTS: Mapping[str, tuple[str, ...]] = {str(n): () for n in range(1, 6)}
MODALITIES: Mapping[str, tuple[str, ...]] = {
    "CFP": ("fundus", "color fundus", "color fundus photography", "colour fundus photograph", "fundus photograph"),
    "OCT": ("optical coherence tomography",),
    "EP": ("external eye", "external eye photograph", "eye photo", "eyephotos", "external"),
    "RetCam": ("ret cam",),
    "FFA": ("FA", "fluorescein angiography", "fundus fluorescein angiography"),
    "ICGA": ("ICG", "indocyanine green angiography"),
    "SLO": ("laser scan", "scanning laser ophthalmoscopy"),
    "SS": ("surgical scene", "surgical frame"),
}
"""Modality -> further spellings; the last two are not in the release: drawn rows have them, a user's rows may."""
TYPES: Mapping[str, tuple[str, ...]] = {
    "single choice": ("single", "multiple choice", "mcq", "choice", "closed", "closed ended", "single choice question"),
}
"""The question type that is read; the spelling in the release is not known."""


@dataclass(frozen=True, slots=True)
class Words:
    """Every table of `spellings` that rows and questions are read with."""

    fields: Mapping[str, str]
    stages: Mapping[str, str]
    kinds: Mapping[str, str]
    types: Mapping[str, str]
    modalities: Mapping[str, str]
    levels: Mapping[str, str]
    impacts: Mapping[str, str]


def words(
    categories: Mapping[str, str] | None = None,
    fields: Mapping[str, str] | None = None,
    question_types: Mapping[str, str] | None = None,
    modalities: Mapping[str, str] | None = None,
    levels: Mapping[str, str] | None = None,
) -> Words:
    """Return the tables with the user's spellings; arguments are those of `lmod_train.data.sources.xpcr.source.Xpcr`.

    Raises:
        BadArgument: A spelling stands for no name.
    """
    both = spellings({**STAGES, **KINDS}, "categories", categories)
    named = dict.fromkeys((*ROW_FIELDS, *PAIR_FIELDS, *CASE_FIELDS), ())
    return Words(
        fields=spellings(named, "fields", fields),
        stages={word: name for word, name in both.items() if name in STAGES},
        kinds={word: name for word, name in both.items() if name in KINDS},
        types=spellings(TYPES, "question_types", question_types),
        modalities=spellings(MODALITIES, "modalities", modalities),
        levels=spellings(LEVELS, "levels", levels),
        impacts=spellings(IMPACTS, "impacts", None),
    )


def renamed(given: Mapping[object, object], expected: tuple[str, ...], known: Mapping[str, str]) -> dict[str, object]:
    """Return a row or question with our names of its fields; of two fields of one name the first.

    Fields that have no name among `expected` are left out; see `unknown_fields`.

    Example:
        >>> renamed({"ID": 3, "colour": 1}, ROW_FIELDS, words().fields)
        {'id': 3}
    """
    found: dict[str, object] = {}
    for name, value in given.items():
        ours = known.get(plain(name)) if isinstance(name, str) else None
        if ours in expected:
            found.setdefault(ours, value)
    return found


def unknown_fields(given: Mapping[object, object], expected: tuple[str, ...], known: Mapping[str, str]) -> list[str]:
    """Return the fields of a row or question that `renamed` leaves out, cut at 60 characters."""
    return [shown(name) for name in given if not isinstance(name, str) or known.get(plain(name)) not in expected]


def names_of(field: str, known: Mapping[str, str]) -> frozenset[str]:
    """Return the plain spellings of a field.

    Example:
        >>> sorted(names_of("image", words(fields={"The Photo": "image"}).fields))
        ['image', 'thephoto']
    """
    return frozenset(word for word, name in known.items() if name == field)
