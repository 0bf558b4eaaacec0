"""Ordered scales of the staging tasks; to add a scale, add a row."""

from __future__ import annotations

from dataclasses import dataclass


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


_RETINOPATHY = "(?:diabetic )?retinopathy|d\\.?r\\.?|diabetic retinal disease"
_NON = r"non-?\s?(?:proliferative|pdr)|npdr|background"
_KIND = rf"(?:(?:{_NON})(?: (?:{_RETINOPATHY})(?: \(npdr\))?)?|{_RETINOPATHY})"
_HAN = "(?:糖尿病性?视网膜病变|糖网|dr(?![a-z]))"
_NON_HAN = f"(?:(?:非增殖|非增生)[期性型]?(?:的)?{_HAN}?|npdr(?![a-z])|{_HAN})"
_APART = r"(?<!mild\sto\s)(?<!moderate\sto\s)(?<!mild\sor\s)(?<!moderate\sor\s)"


def _severity(english: str, chinese: str) -> tuple[str, ...]:
    """Return phrases for a degree of retinopathy without new vessels: "moderate NPDR", "NPDR, moderate", 中度NPDR."""
    return (
        rf"{_APART}{english}[ -](?:{_KIND})",
        rf"(?:{_NON})(?: (?:{_RETINOPATHY}))?(?:, | \(|: | - ){english}",
        f"{chinese}(?:的)?{_NON_HAN}",
    )


_ICDR_WORDS = (
    (_RETINOPATHY, _HAN), _severity("mild", "轻度"), _severity("moderate", "中度"),
    _severity("(?:very )?severe", "(?:重度|严重)"),
    (rf"(?<!non-)(?<!non\s)proliferative (?:{_RETINOPATHY})", r"(?<!non-)(?<!non\s)pdr",
    f"(?<!非)(?:增殖|增生)[期性型]?的?{_HAN}"),
)  # fmt: skip


SCALES: tuple[Scale, ...] = (
    Scale(
        "macular_hole_stage", "macular hole", ("1", "2", "3", "4"),
        ("impending hole, foveal detachment without a full-thickness defect", "full-thickness hole below 400 um",
         "full-thickness hole of 400 um or more, vitreous still attached to the disc",
         "full-thickness hole with complete posterior vitreous detachment"),
        "Gass 1995; OIMHS (Stage, 1-4; no stage 0 in the data)",
    ),
    Scale(
        "icdr", "diabetic retinopathy", ("0", "1", "2", "3", "4"),
        ("no apparent retinopathy", "mild NPDR", "moderate NPDR", "severe NPDR", "PDR"),
        "International Clinical Diabetic Retinopathy scale, Wilkinson et al. 2003; BRSET DR_ICDR, IDRiD grading",
        _ICDR_WORDS,
    ),
    Scale(
        "sdrg", "diabetic retinopathy", ("0", "1", "2", "3", "4"),
        ("none (R0)", "mild background (R1)", "moderate background, observable (R2)",
         "severe background, referable (R3)", "proliferative (R4)"),
        "Scottish Diabetic Retinopathy Grading, Scottish DRS Collaborative 2007; BRSET DR_SDRG",
    ),
    Scale(
        "macular_edema_risk", "diabetic macular edema", ("0", "1", "2"),
        ("no apparent hard exudate", "hard exudate beyond one disc diameter of the fovea", "hard exudate within it"),
        "IDRiD, Porwal et al. 2018 (Risk of macular edema)",
    ),
)  # fmt: skip
