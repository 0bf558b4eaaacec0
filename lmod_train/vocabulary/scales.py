"""Ordered scales that staging tasks ask for. A new scale is a row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """An ordered scale of whole numbers.

    Attributes:
        name: The project's own spelling; the key of a sample's label and the name of the task.
        disease: What a prompt asks the stage of.
        levels: From the least to the most severe.
        meanings: What each level means, in the order of `levels`.
        reference: Where the scale is defined, and the dataset that brings it here.
    """

    name: str
    disease: str
    levels: tuple[str, ...]
    meanings: tuple[str, ...]
    reference: str


SCALES: tuple[Scale, ...] = (
    Scale(
        "macular_hole_stage",
        "macular hole",
        ("1", "2", "3", "4"),
        (
            "impending hole, foveal detachment without a full-thickness defect",
            "full-thickness hole below 400 um",
            "full-thickness hole of 400 um or more, vitreous still attached to the disc",
            "full-thickness hole with complete posterior vitreous detachment",
        ),
        "Gass 1995; OIMHS (Stage, 1-4; no stage 0 in the data)",
    ),
    Scale(
        "icdr",
        "diabetic retinopathy",
        ("0", "1", "2", "3", "4"),
        ("no apparent retinopathy", "mild NPDR", "moderate NPDR", "severe NPDR", "PDR"),
        "International Clinical Diabetic Retinopathy scale, Wilkinson et al. 2003; BRSET DR_ICDR, IDRiD grading",
    ),
    Scale(
        "sdrg",
        "diabetic retinopathy",
        ("0", "1", "2", "3", "4"),
        (
            "none (R0)",
            "mild background (R1)",
            "moderate background, observable (R2)",
            "severe background, referable (R3)",
            "proliferative (R4)",
        ),
        "Scottish Diabetic Retinopathy Grading, Scottish DRS Collaborative 2007; BRSET DR_SDRG",
    ),
    Scale(
        "macular_edema_risk",
        "diabetic macular edema",
        ("0", "1", "2"),
        ("no apparent hard exudate", "hard exudate beyond one disc diameter of the fovea", "hard exudate within it"),
        "IDRiD, Porwal et al. 2018 (Risk of macular edema)",
    ),
)
