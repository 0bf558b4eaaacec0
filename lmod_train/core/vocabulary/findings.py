"""The twelve yes-or-no questions of LMOD+ (its figure 3, on BRSET) and their wording in prompts.

The paper prints one prompt, for AMD. The wording of the other eleven is ours, in the same style: the full name, with
the abbreviation where one is in common use, and a short form for the answer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition as a yes-or-no question.

    Attributes:
        condition: Name of its row in `CONDITIONS`; the key of a sample's label.
        asked: Wording after "this patient has".
        short: Wording before TRUE or FALSE.
        adjective: For a property of a structure, the adjectives that assert it ("increased"), as a regular expression
            without capturing groups; otherwise empty.
        structure: The structure, as a regular expression; otherwise empty.
    """

    condition: str
    asked: str
    short: str
    adjective: str = ""
    structure: str = ""


_RATIO = "(?:vertical )?(?:cup[- ](?:to[- ])?dis[ck] ratio|cup[/:]dis[ck] ratio|c[/:]d ratio|cdr)|杯盘比"
_MACULA = "macula(?:r region| region| area)?|黄斑区?"
_VESSELS = "(?:retinal |blood )?(?:vessels|vasculature)|(?:视网膜)?血管"

FINDINGS: tuple[Finding, ...] = (
    Finding("diabetic retinopathy", "Diabetic Retinopathy (DR)", "DR"),
    Finding("age-related macular degeneration", "Age-Related Macular Degeneration (AMD)", "AMD"),
    Finding("drusen", "Drusen", "DRUSEN"),
    Finding(
        "increased cup-to-disc ratio", "an Increased Cup-to-Disc Ratio", "INCREASED CUP-TO-DISC RATIO",
        "increased|enlarged|elevated|large|high|增大|扩大", _RATIO,
    ),
    Finding("vascular occlusion", "a Vascular Occlusion", "VASCULAR OCCLUSION"),
    Finding("myopic fundus", "a Myopic Fundus", "MYOPIC FUNDUS"),
    Finding("hypertensive retinopathy", "Hypertensive Retinopathy", "HYPERTENSIVE RETINOPATHY"),
    Finding("hemorrhage", "a Hemorrhage", "HEMORRHAGE"),
    Finding("scar", "a Scar", "SCAR"),
    Finding("abnormal macula", "an Abnormal Macula", "ABNORMAL MACULA", "abnormal|异常", _MACULA),
    Finding("nevus", "a Nevus", "NEVUS"),
    Finding("abnormal vessels", "Abnormal Vessels", "ABNORMAL VESSELS", "abnormal|异常", _VESSELS),
)  # fmt: skip

NORMAL = (
    "normal|healthy|unremarkable|intact|within (?:the )?normal (?:limits|range)"
    "|not (?:increased|enlarged|elevated|abnormal)"
    "|正常|(?:在|处于)正常范围|(?:并?无|没有|未见)(?:明显|显著)?异常|(?:未见?|并?无|并?不|没有)(?:明显|显著)?(?:增大|扩大)"
)
"""Predicates of a structure that deny such a property, as a regular expression."""

SIGNS = frozenset(
    ("drusen", "increased cup-to-disc ratio", "hemorrhage", "scar", "abnormal macula", "abnormal vessels",
     "abnormal optic disc", "macular edema")
)  # fmt: skip
"""Rows of `CONDITIONS` that are signs and may be given as evidence of a disease ("TRUE, the patient has drusen")."""
