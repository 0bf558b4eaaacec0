"""Questions of X-PCR's six stages about drawn photographs and B-scans, and those about pairs of them."""

from __future__ import annotations

from collections.abc import Iterator

from lmod_train.phantom.eye import Eye
from lmod_train.phantom.folders.xpcr.drawing import Drawn, one_of
from lmod_train.phantom.oct import Scan
from lmod_train.phantom.pair import SPOTS, TwoImages

MANAGEMENT = {
    "normal": "Routine review",
    "cataract": "Refer for cataract surgery",
    "glaucoma": "Refer to a glaucoma clinic",
    "diabetic retinopathy": "Refer to a retina clinic",
}
"""Diagnosis -> decision, for drawings only: no clinical recommendation."""


def photograph_questions(eye: Eye) -> Iterator[Drawn]:
    """Yield the questions about a fundus photograph: one of each stage, and a second one of localisation."""
    hazy = eye.haze > 0.3
    yield Drawn(
        "IQA",
        "quality",
        "Is this colour fundus photograph of sufficient quality for clinical assessment?",
        one_of(
            "No, hidden by a haze" if hazy else "Yes, clearly visible",
            ("Yes, clearly visible", "No, hidden by a haze", "No, without any light", "No, doubled"),
        ),
    )
    left, right = ("In the left half", "In the right half")
    yield Drawn(
        "AL",
        "optic disc",
        "Where in the image is the optic disc?",
        one_of(left if eye.disc[0] < 0.5 else right, (left, right, "Outside the image")),
    )
    left, right = ("To its left", "To its right")
    yield Drawn(
        "AL",
        "fovea",
        "Where is the fovea, seen from the optic disc?",
        one_of(left if eye.fovea[0] < eye.disc[0] else right, (left, right, "Inside it")),
    )
    signs = {
        "normal": "None of these",
        "cataract": "A haze over the whole image",
        "glaucoma": "An optic cup of more than half the disc",
        "diabetic retinopathy": "Spots of blood and exudate",
    }
    yield Drawn("LC", "lesion", "Which sign does the image show?", one_of(signs[eye.diagnosis], tuple(signs.values())))
    yield Drawn("DD", "diagnosis", "What is the most likely diagnosis?", one_of(eye.diagnosis, tuple(MANAGEMENT)))
    counts = ("No spot", "6 to 13 spots", "14 to 20 spots", "More than 20 spots")
    number = len(eye.lesions)
    truth = counts[0] if not number else counts[1] if number < 14 else counts[2]
    yield Drawn("SG", "spots", "How many spots of blood and exudate are there?", one_of(truth, counts))
    decisions = tuple(MANAGEMENT.values())
    yield Drawn(
        "CD", "decision", "What is the most appropriate next step?", one_of(MANAGEMENT[eye.diagnosis], decisions)
    )


def scan_questions(scan: Scan) -> Iterator[Drawn]:
    """Yield the questions about a B-scan, one of each stage; the scan has at most one defect."""
    defects = {
        "Yes, clearly visible": not (scan.dim or scan.shield is not None or scan.blurred),
        "No, the signal is too weak": scan.dim,
        "No, a part is in shadow": scan.shield is not None,
        "No, too blurred": scan.blurred,
    }
    yield Drawn(
        "IQA",
        "quality",
        "Is this OCT scan of sufficient quality for clinical assessment?",
        one_of(next(word for word, there in defects.items() if there), tuple(defects)),
    )
    hole, through = scan.width > 0, scan.width > 0 and scan.eye.stage != "1"
    yield Drawn(
        "AL",
        "interrupted layer",
        "Which structure is interrupted?",
        one_of("The retina" if hole else "None of these", ("The retina", "The choroid", "The lens", "None of these")),
    )
    gaps = ("No gap", "A gap below an intact inner surface", "A gap through all layers of the retina")
    yield Drawn(
        "LC",
        "gap",
        "Which description fits the fovea?",
        one_of(gaps[2] if through else gaps[1] if hole else gaps[0], gaps),
    )
    names = ("macular hole", "no macular hole", "tumour of the choroid")
    yield Drawn("DD", "diagnosis", "What is the most likely diagnosis?", one_of(names[0] if hole else names[1], names))
    stages = ("no hole", *(f"stage {n}" for n in (1, 2, 3, 4)))
    truth = f"stage {scan.eye.stage}" if hole else stages[0]
    yield Drawn("SG", "stage", "Which stage has the macular hole?", one_of(truth, stages))
    steps = ("Routine review", "Review in a few weeks", "Refer to a surgeon", "Emergency today")
    step = steps[2] if through else steps[1] if hole else steps[0]
    yield Drawn("CD", "decision", "What is the most appropriate next step?", one_of(step, steps))


def pair_questions(pair: TwoImages) -> Iterator[Drawn]:
    """Yield the questions about a photograph (image 1) and a scan (image 2) of one eye, one of each kind."""
    spots = {place: f"The spot {place} of the fovea" for place in SPOTS}
    yield Drawn(
        "correspondence",
        "raised spot",
        "Image 1 shows four pale spots on the horizontal line through the fovea. Image 2 is a section along this line, "
        "from left to right. Which of the spots is raised?",
        one_of(spots[pair.raised], tuple(spots.values())),
    )
    both = {
        (True, True): "Diabetic retinopathy and a macular hole",
        (True, False): "Diabetic retinopathy without a macular hole",
        (False, True): "A macular hole without diabetic retinopathy",
        (False, False): "Neither diabetic retinopathy nor a macular hole",
    }
    found = both[pair.retinopathy, pair.hole]
    yield Drawn(
        "integration",
        "diagnosis",
        "Which diseases do the two images together show?",
        one_of(found, tuple(both.values())),
    )
    dark = {
        (True, False): "Image 1 alone",
        (False, True): "Image 2 alone",
        (True, True): "Both images",
        (False, False): "Neither image",
    }
    yield Drawn(
        "selection",
        "exposure",
        "Which image is too dark and should be taken again before it is relied on?",
        one_of(dark[pair.dark_photograph, pair.dark_scan], tuple(dark.values())),
    )
