"""Words that an option of each stage of a clinical chain is made of, as regular expressions; to add a word, add it."""

from __future__ import annotations

STAGE_WORDS: dict[str, tuple[str, ...]] = {
    "IQA": (
        "defects?", "signal", "field", "qualit(?:y|ies)", "sufficient", "adequate", "inadequate", "insufficient",
        "gradable", "ungradable", "clear",
        "sharp", "blur(?:red|ry)?", "focus", "defocus(?:ed)?", "expos(?:ure|ed)", "over-?expos(?:ure|ed)",
        "under-?expos(?:ure|ed)", "dark", "bright", "shadow(?:s|ing)?", "crop(?:ped)?", "cut off", "contrast",
        "illuminat(?:ion|ed)", "artefacts?", "artifacts?", "visible", "noise", "noisy", "compress(?:ion|ed)",
        "resolution", "glare", "haze", "hazy",
    ),
    "AL": (
        "upper", "lower", "left", "right", "cent(?:re|er|ral|rally)", "superior(?:ly)?", "inferior(?:ly)?",
        "nasal(?:ly)?", "temporal(?:ly)?", "o'clock", "quadrants?", "disc diameters?", "macular?", "fovea[l]?",
        "none is abnormal", "vascular", "peripher(?:y|al)", "vessels?", "disc", "disk",
    ),
    "LC": (
        "lesions?", "opacit(?:y|ies)", "deposits?", "defects?", "swelling", "atrophy", "exudates?", "spots?", "fluid",
        "none", "ratio",
    ),
    "DD": (
        "holes?", "normal", "healthy", "keratitis", "endophthalmitis", "uveitis", "detachment",
        "vitreomacular traction", "epiretinal membrane", "central serous chorioretinopathy", "retinitis pigmentosa",
    ),
    "SG": (
        "no(?:ne)?", "mild", "moderate", "severe", "proliferative", "npdr", "pdr", "early", "late", "advanced",
        "mature", "stage", "grade", "low", "high", "impending", "full-thickness", "large", "small", "background",
        "observable", "referable", "normal", "suspicious", "risk",
    ),
    "CD": (
        "observ(?:e|ation)", "review", "screen(?:ing)?", "follow-?up", "monitor(?:ing)?", "refer(?:ral)?",
        "treat(?:ment)?", "surg(?:ery|ical)", "inject(?:ion|ions)", "anti-?vegf", "laser", "photocoagulation", "drops?",
        "antibiotics?",
        "emergency", "urgent(?:ly)?", "intervention", "vitrectomy", "discharge", "weeks?", "months?", "years?",
        "annual(?:ly)?", "same day",
    ),
}  # fmt: skip
"""Stage -> words. Names of structures and conditions of the other tables count in every stage, and those of the
distractors printed by X-PCR (figure 3) are among them."""
