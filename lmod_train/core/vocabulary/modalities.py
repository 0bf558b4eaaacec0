"""Imaging modalities, listed and combined in the order of the rows; to add a modality, add a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


MODALITIES: tuple[Modality, ...] = (
    Modality("CFP", "colour fundus photograph", "LMOD; X-PCR; OphthalWeChat"),
    Modality("SLO", "scanning laser ophthalmoscopy", "LMOD (FairSeg)"),
    Modality("OCT", "optical coherence tomography", "LMOD; X-PCR; OphthalWeChat"),
    Modality("LP", "lens photograph", "LMOD"),
    Modality("SS", "surgical scene", "LMOD (Cataract-1K)"),
    Modality("EP", "external eye photograph", "X-PCR"),
    Modality("RetCam", "wide-field fundus photograph of an infant", "X-PCR"),
    Modality("FFA", "fundus fluorescein angiography", "X-PCR; OphthalWeChat"),
    Modality("ICGA", "indocyanine green angiography", "X-PCR; OphthalWeChat"),
    Modality("FAF", "fundus autofluorescence", "OphthalWeChat, supplementary table 6"),
    Modality("IR", "infrared reflectance of the fundus", "OphthalWeChat, supplementary table 6"),
    Modality("Red-free", "fundus photograph without red light", "OphthalWeChat, supplementary table 6"),
    Modality("Red-channel", "red channel of a fundus image", "OphthalWeChat, supplementary table 6"),
    Modality("Green-channel", "green channel of a fundus image", "OphthalWeChat, supplementary table 6"),
    Modality("Blue-channel", "blue channel of a fundus image", "OphthalWeChat, supplementary table 6"),
    Modality("Retro-mode", "retro-mode scanning laser ophthalmoscopy", "OphthalWeChat, supplementary table 6"),
    Modality("OCTA", "OCT angiography", "OphthalWeChat, supplementary table 6"),
    Modality("AS-OCT", "OCT of the anterior segment", "OphthalWeChat, supplementary table 6"),
    Modality("PS-OCT", "polarisation-sensitive OCT", "OphthalWeChat, supplementary table 6"),
    Modality("Slit-lamp", "slit-lamp photograph", "OphthalWeChat, supplementary table 6"),
    Modality("Gonioscope", "gonioscopic photograph", "OphthalWeChat, supplementary table 6"),
    Modality("UBM", "ultrasound biomicroscopy", "OphthalWeChat, supplementary table 6"),
    Modality("A-scan", "ultrasound, A-scan", "OphthalWeChat, supplementary table 6"),
    Modality("B-scan", "ultrasound, B-scan", "OphthalWeChat, supplementary table 6"),
    Modality("Corneal-topography", "corneal topography", "OphthalWeChat, supplementary table 6"),
    Modality("Corneal-confocal", "confocal microscopy of the cornea", "OphthalWeChat, supplementary table 6"),
    Modality("Meibography", "meibography", "OphthalWeChat, supplementary table 6"),
    Modality("IOLMaster", "biometry, printout of an IOLMaster", "OphthalWeChat, supplementary table 6"),
    Modality("iTrace", "aberrometry, printout of an iTrace", "OphthalWeChat, supplementary table 6"),
    Modality("Visual-field", "perimetry", "OphthalWeChat, supplementary table 6"),
    Modality("VEP", "visual evoked potential, printout", "OphthalWeChat, supplementary table 6"),
    Modality("CT", "computed tomography", "OphthalWeChat, supplementary table 6"),
    Modality("MRI", "magnetic resonance imaging", "OphthalWeChat, supplementary table 6"),
)

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


_PICTURE = r"(?:photograph(?:y|s)?|photos?|images?|pictures?)"
_EYE = r"(?:a|an|the|one|someone's) (?:(?:human|person's|patient's|left|right|single|open) ){0,2}eyes?"
_OF_EYE = rf"(?:(?:close-?up )?(?:view|shot|{_PICTURE})|close-?up) of {_EYE}"
_SURGERY = r"(?:surgery|operation|surgical procedure)"

SEEN: dict[str, tuple[str, ...]] = {
    "surgical scene": (
        rf"{_OF_EYE} (?:during|undergoing) (?:an? )?(?:(?:cataract|eye) )?{_SURGERY}",
        r"surgical (?:scene|field|view|procedure)s?",
        rf"(?:scene of (?:an? )?)?(?:cataract|eye|ophthalmic|ocular|intraocular) {_SURGERY}",
    ),
    "scanning laser ophthalmoscopy": (
        rf"(?:(?:confocal )?scanning laser ophthalmoscop(?:y|e|ic)|c?slo)(?: \(c?slo\))?(?: (?:fundus )?{_PICTURE})?",
    ),
    "optical coherence tomography": (
        rf"(?:optical coherence tomograph(?:y|ic)|oct)(?: \(oct\))?(?: (?:b-?)?scans?| {_PICTURE})?",
    ),
    "colour fundus photograph": (
        rf"(?:colou?r(?:ed)? )?(?:retinal )?fundus {_PICTURE}(?: \(cfp\))?",
        r"retinal photo(?:graph(?:y|s)?|s)?",
        r"photo(?:graph)?s? of (?:a|an|the) (?:human )?(?:retina|(?:ocular )?fundus)",
        "cfp",
    ),
    "photograph of an eye": (
        rf"(?:slit[- ]lamp|external eye|anterior segment|lens|eye) {_PICTURE}(?: of {_EYE})?",
        _OF_EYE,
    ),
}
"""Kind of image of an eye -> patterns of its names in lower case, in the order in which they are looked for."""

KIND_SEEN = {
    "SS": "surgical scene",
    "SLO": "scanning laser ophthalmoscopy",
    "OCT": "optical coherence tomography",
    "CFP": "colour fundus photograph",
    "LP": "photograph of an eye",
    "EP": "photograph of an eye",
}
"""Modality -> its kind in `SEEN`."""
