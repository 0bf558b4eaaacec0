"""Kinds of images in free words: printed replies, every name in every layout, denied, left open, and no kind."""

from __future__ import annotations

from lmod_train.core.types import Unparsed
from lmod_train.core.vocabulary.modalities import SEEN
from lmod_train.tasks.recognition import parse_modality
from tests.tabled import tabled

CFP, OCT, SLO = "colour fundus photograph", "optical coherence tomography", "scanning laser ophthalmoscopy"
EYE, SURGERY = "photograph of an eye", "surgical scene"
NAMES = {
    CFP: ("color fundus photograph", "colour fundus photo", "retinal fundus photograph", "fundus image",
          "retinal photo", "fundus photograph of the right eye", "photograph of the retina",
          "color fundus photograph (CFP)"),
    OCT: ("OCT scan", "OCT image of the retina", "optical coherence tomography (OCT) B-scan", "OCT image of an eye",
          "optical coherence tomographic image"),
    SLO: ("SLO image", "scanning laser ophthalmoscopy (SLO) fundus image",
          "confocal scanning laser ophthalmoscope image", "cSLO image of the eye"),
    EYE: ("close-up view of a human eye", "slit-lamp photograph", "photo of the left eye", "picture of a person's eye",
          "close-up of an eye", "slit lamp image of an eye with a cataract"),
    SURGERY: ("surgical scene", "scene of a cataract surgery", "close-up of an eye during cataract surgery",
              "photograph of an eye undergoing an operation", "surgical field"),
}  # fmt: skip
NAMED = [(kind, name) for kind, names in NAMES.items() for name in names]


def parsed(text: str) -> str | Unparsed:
    return parse_modality(text, tuple(SEEN))


@tabled(
    ("reply", "kind"),
    [  # the two that LMOD's appendix B quotes
        ("This is a retinal fundus photograph, commonly used in ophthalmology to examine the interior surface of the "
         "eye.", CFP),
        ("The image shows a close-up view of a human eye, with the iris and the surrounding tissue.", EYE),
    ],
)  # fmt: skip
def test_replies_of_the_paper(reply: str, kind: str) -> None:
    assert parsed(reply) == kind


@tabled("layout", ("{}", "This is a {}.", "The image shows an {}.", "It appears to be a {}.", "**{}**", "A {}!"))
@tabled(("kind", "name"), NAMED)
def test_every_name_in_every_layout(kind: str, name: str, layout: str) -> None:
    assert parsed(layout.format(name)) == kind
    assert parsed(layout.format(name[0].upper() + name[1:])) == kind


@tabled(("kind", "name"), NAMED)
def test_a_denied_name_is_not_the_answer(kind: str, name: str) -> None:
    other = OCT if kind != OCT else CFP
    assert parsed(f"This is not a {name} but a {NAMES[other][0]}.") == other
    assert isinstance(parsed(f"This is not a {name}."), Unparsed)
    assert isinstance(parsed(f"It could be a {name} or a {NAMES[other][0]}."), Unparsed)


@tabled(
    "reply",
    ("A picture of a cat.", "A medical image.", "A retinal scan of an eye.", "An X-ray of the chest.",
     "An image of the brain.", "A fundus.", "The octopus is orange.", "slow"),
)  # fmt: skip
def test_what_names_no_kind_is_no_answer(reply: str) -> None:
    assert isinstance(parsed(reply), Unparsed)


def test_time_is_linear_in_the_length() -> None:
    for loop in ("photo of a human ", "close-up of an open ", "color fundus ", "optical coherence "):
        assert isinstance(parsed(loop * 8000), Unparsed)
