"""Labelled replies to questions for a stage; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import pytest

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.stage import parse_stage
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

HOLE = ("1", "2", "3", "4")


def outcome(text: str) -> str:
    answer = read(Reply("id", text), parse_stage, HOLE)
    assert isinstance(answer, str | Unparsed)
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else answer


# LMOD, appendix G, with the outcome the paper states (the stage, or no valid answer).
GOLDEN = [
    (
        "Stage: 4; Justification: The OCT image displays a full-thickness macular hole, where there is "
        "a complete defect "
        "involving all the retinal layers. This clearly indicates a Stage 4 macular hole. Additionally, "
        "the involvement of "
        "the posterior vitreous detachment supports this stage classification.",
        "4",
    ),
    (
        "Stage: 2; Justification: The image shows a macular hole with a well-defined, clean, and clear appearance. The "
        "presence of a clear and well-defined macular hole indicates that it is in an early stage of development.",
        "2",
    ),
    (
        "Stage: 3; Justification: The image shows a macular hole with a diameter of 300 micrometers. "
        "This is considered "
        "stage 3, which is a more advanced stage of macular hole development.",
        "3",
    ),
    (
        "The image you’ve provided appears to be an Ophthalmology OCT (Optical Coherence Tomography) scan, which is a "
        "non-invasive imaging technique used to visualize the layers of the retina...",
        "?no_match",
    ),
    (
        "Stage: 200 μm ; Justification: The macular hole is not clearly visible in this image. The hole is typically "
        "smaller than 200 μm , which is the scale indicated by the measurement on the left side of the image.",
        "?no_match",
    ),
    (
        "Stage: 2; Justification: The image shows a macular hole in the retina, which is a stage 2 "
        "macular hole. In stage "
        "2, the hole is small and has not yet begun to contract.",
        "2",
    ),
    ("Stage: 4", "4"),
    ("Stage: 2; Justification: The image shows a macular hole, which is a small hole in the retina.", "2"),
    ("Stage: 1; Justification: The image shows a clear view with a distinct, well-defined macular hole.", "1"),
    ("Stage: 3; Justification: The image shows a large, full-thickness macular hole.", "3"),
    ("[0.00, 0.00, 1.00, 1.00]", "?no_match"),
    ("Stage: 5; Justification: the hole is resolved and vision fully restored.", "?out_of_range"),  # figure 12, VILA
    ("Stage: 1; Justification: there is no visible macular hole.", "1"),  # figure 10, InternVL-4B
]


@tabled(("text", "wanted"), GOLDEN)
def test_response_examples_of_the_paper(text: str, wanted: str) -> None:
    assert outcome(text) == wanted


@tabled(
    ("text", "wanted"),
    [
        ("Stage: IV", "4"),
        ("Stage: iii", "3"),
        ("Stage II", "2"),
        ("stage two", "2"),
        ("Stage: Two", "2"),
        ("Stage: three; Explanation: large", "3"),
        ("stage-3", "3"),
        ("Stage: -1", "?no_match"),
        ("Stage - 3", "3"),
        ("Stage is 3", "3"),
        ("The stage of the macular hole: 3", "3"),
        ("{Stage: 3; Justification: large hole}", "3"),
        ('{"Stage": 3, "Justification": "large hole"}', "3"),
        ('{"Stage": "3"}', "3"),
        ("**Stage:** 2", "2"),
        ("Stage: <2>", "2"),
        ("Stage: 1A", "1"),
        ("Stage: 1b", "1"),
        ("3", "3"),
        ("3.", "3"),
        ("four", "4"),
        ("Grade 2", "2"),
        ("This is a stage 3 macular hole.", "3"),
        ("This is the third stage.", "3"),
        ("It is not stage 4 but stage 3.", "3"),
        ("Stage: 2. Final answer: Stage 3", "3"),
        ("Stage: 2; Justification: small. Correction: Stage: 3", "3"),
        ("Stage: 3 (hole of 420 um)", "3"),
        ("Stage: 3; Justification: stage 4 would need a detached vitreous.", "3"),
        ("The hole measures 400 um, stage 2.", "2"),
        ("分期：3", "3"),
        ("3期", "3"),
        ("第二期", "2"),
        ("二期", "2"),
        ("三级", "3"),
        ("分期：四；解释：全层裂孔", "4"),
        ("Stage: 0", "?out_of_range"),
        ("Stage: 5", "?out_of_range"),
        ("Stage: 10", "?out_of_range"),
        ("Stage: 400", "?out_of_range"),
        ("5期", "?out_of_range"),
        ("Stage: 200 um", "?no_match"),
        ("Stage: 200um", "?no_match"),
        ("Stage: 300 micrometers", "?no_match"),
        ("Stage: 3 mm", "?no_match"),
        ("Stage: 50%", "?no_match"),
        ("Stage: 2.5", "?no_match"),
        ("Stage: 999999999999999999999999", "?no_match"),
        ("Stage: <AN INTEGER>", "?no_match"),
        ("Stage: <AN INTEGER>; Explanation: <JUSTIFICATION>", "?no_match"),
        ("Stage: early; Justification: stage 1 holes are small", "?no_match"),
        ("Stage: 2-3", "?ambiguous"),
        ("Stage: 2 or 3", "?ambiguous"),
        ("Stage: 2/3", "?ambiguous"),
        ("Stage 1 is small. Stage 2 is larger. Stage 3 is largest.", "?ambiguous"),
        ("The hole is 3 weeks old.", "?no_match"),
        ("I cannot determine the stage from this image.", "?refused"),
        ("无法判断分期", "?refused"),
        ("", "?empty"),
    ],
)
def test_stage_replies(text: str, wanted: str) -> None:
    assert outcome(text) == wanted


def test_zero_is_a_grade_on_scales_with_it() -> None:
    assert parse_stage("Grade: 0", ("0", "1", "2", "3", "4")) == "0"


@tabled("low", HOLE)
@tabled("high", HOLE)
@tabled(
    "layout",
    [
        "It is between stage {} and stage {}.", "It lies between stages {} and {}.", "Stage: between {} and {}",
        "It could be stage {} or stage {}.", "介于{}期和{}期之间。",
    ],
)  # fmt: skip
def test_between_two_stages_is_ambiguous(layout: str, low: str, high: str) -> None:
    if low < high:
        assert outcome(layout.format(low, high)) == "?ambiguous"


@tabled("bound", ["at least", "at most", "no less than"])
def test_a_bound_is_no_stage(bound: str) -> None:
    assert outcome(f"It is {bound} stage 2.") == "?ambiguous"
    assert outcome(f"It is {bound} stage 2. The vitreous is detached: this is stage 4.") == "4"


@pytest.mark.parametrize("cue", ["The correct stage is {}.", "I revise my grade to {}."])
def test_a_corrected_stage_counts(cue: str) -> None:
    assert parse("macular_hole_stage", "Stage: 4; Explanation: large. " + cue.format(3)) == "3"
