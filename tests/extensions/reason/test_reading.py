"""Claims are read in both polarities and languages, at their place, and in doubt none is."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path

import pytest

from lmod_train.core.types import Ending, Reply
from lmod_train.extensions.reason.claims import Claim
from lmod_train.extensions.reason.reading import claims_in, claims_of
from lmod_train.tasks.failures.case import LONGEST

Content = tuple[str, str, float | None, float | None, str, bool]


def read(text: str) -> list[Content]:
    return [(c.subject, c.relation, c.low, c.high, c.place, c.denied) for c in claims_of(text)]


def is_(subject: str, relation: str, low: float | None = None, high: float | None = None, place: str = "") -> Content:
    return subject, relation, low, low if high is None else high, place, False


SAID = {
    "The cup is enlarged": is_("cup", "large"),
    "there is a large cup-to-disc ratio": is_("cup", "large"),
    "The optic cup appears small": is_("cup", "small"),
    "The CDR is within normal limits": is_("cup", "small"),
    "视杯扩大": is_("cup", "large"),
    "杯盘比正常": is_("cup", "small"),
    "The cup-to-disc ratio is approximately 0.8": is_("vcdr", "=", 0.8),
    "a C/D of 0.7-0.8 is seen": is_("vcdr", "=", 0.7, 0.8),
    "vertical cup/disc ratio: 45%": is_("vcdr", "=", 0.45),
    "杯盘比约为0.8": is_("vcdr", "=", 0.8),
    "The CDR exceeds 0.6": is_("vcdr", ">", 0.6),
    "杯盘比大于0.6": is_("vcdr", ">", 0.6),
    "杯盘比不超过0.4": is_("vcdr", "<", 0.4),
    "The inferior rim is thinned": is_("rim", "thin", place="inferior"),
    "there is superior rim thinning": is_("rim", "thin", place="superior"),
    "下方盘沿变窄": is_("rim", "thin", place="inferior"),
    "The neuroretinal rim is intact": is_("rim", "intact"),
    "盘沿完整": is_("rim", "intact"),
    "The ISNT rule is followed": is_("rim", "isnt"),
    "Microaneurysms are present": is_("lesion.microaneurysms", "present"),
    "dot haemorrhages are seen": is_("lesion.haemorrhages", "present"),
    "可见棉绒斑": is_("lesion.soft exudates", "present"),
    "There is a full-thickness macular hole": is_("hole", "full"),
    "Intraretinal cysts are visible": is_("cysts", "present"),
    "The intraocular pressure is raised": is_("intraocular pressure", "unseen"),
}


@pytest.mark.parametrize("text", SAID)
def test_what_is_asserted_is_read(text: str) -> None:
    assert SAID[text] in read(f"GLAUCOMA. {text}.")
    assert SAID[text] in read(f"GLAUCOMA; {text}, and the vessels are normal.")


DENIED = {
    "The cup is not enlarged": is_("cup", "large"),
    "No cupping is seen": is_("cup", "large"),
    "视杯未见扩大": is_("cup", "large"),
    "The inferior rim is not thinned": is_("rim", "thin", place="inferior"),
    "There is no thinning of the neuroretinal rim": is_("rim", "thin"),
    "The CDR does not exceed 0.5": is_("vcdr", ">", 0.5),
    "The ISNT rule is not followed": is_("rim", "isnt"),
    "The ISNT rule is violated": is_("rim", "isnt"),
    "No haemorrhages are seen": is_("lesion.haemorrhages", "present"),
    "没有出血": is_("lesion.haemorrhages", "present"),
    "Microaneurysms are absent": is_("lesion.microaneurysms", "present"),
    "There are no intraretinal cysts": is_("cysts", "present"),
}


@pytest.mark.parametrize("text", DENIED)
def test_what_is_denied_is_read_as_denied(text: str) -> None:
    assert (*DENIED[text][:-1], True) in read(f"NORMAL. {text}.")
    assert DENIED[text] not in read(f"NORMAL. {text}.")


NONE = (
    "A ratio of 0.3 is normal",
    "In glaucoma, the cup is enlarged",
    "The cup would be enlarged in glaucoma",
    "In the previous image the CDR was 0.4",
    "The fellow eye has a CDR of 0.8",
    "A cup-to-disc ratio greater than 0.6 is suspicious",
    "If the rim is thin, it is glaucoma",
    "The cup may be enlarged",
    "Is the cup enlarged?",
    "An enlarged cup is a sign of glaucoma",
    "Typically the inferior rim is the thickest",
    "It cannot be determined whether haemorrhages are present",
    "如果杯盘比大于0.6则为青光眼",
    "正常人杯盘比一般小于0.5",
    "可能有出血",
    "既往杯盘比为0.4",
)


@pytest.mark.parametrize("text", NONE)
def test_in_doubt_nothing_is_claimed(text: str) -> None:
    assert read(f"NON-GLAUCOMA. {text}") == []


@pytest.mark.parametrize("mark", ["", "**", "`", "_"])
def test_a_claim_lies_where_it_is_said(mark: str) -> None:
    reply = (
        f"<think>The cup is small.</think>\n{mark}Answer{mark}: GLAUCOMA.\n- {mark}CDR{mark}:  about {mark}0.8{mark}\n"
    )
    (claim,) = claims_of(reply)
    said = reply[claim.start : claim.end]
    assert said.startswith("CDR") and said.endswith("0.8")


def test_denied_near_the_fovea_says_nothing_of_elsewhere() -> None:
    assert read("No hard exudates near the fovea.") == [("lesion.hard exudates", "near", None, None, "", True)]
    both = read("There are hard exudates within one disc diameter of the fovea.")
    assert {relation for _, relation, *_ in both} == {"near", "present"}


def test_two_sectors_are_two_claims_and_a_sector_between_is_none_of_the_four() -> None:
    places = [place for *_, place, _ in read("Thinning of the superior and inferior neuroretinal rim is seen.")]
    assert places == ["superior", "inferior"]
    assert [place for *_, place, _ in read("The inferotemporal rim is thinned.")] == ["inferotemporal"]


def test_loops_and_long_replies_are_bounded() -> None:
    assert claims_of("the cup is enlarged " * 2000) == ()
    long = "The disc is round. " + " ".join(f"word{i}" for i in range(8000)) + ". The CDR is 0.8."
    assert len(claims_of(long)) == 1
    assert claims_of("") == ()


def test_numbers_that_are_no_ratio_are_not_read() -> None:
    for text in (
        "The CDR is 7.",
        "The CDR was 0.8 mm",
        "The horizontal CDR is 0.8.",
        "The disc is 1.8 mm, CDR normal.",
    ):
        assert not [c for c in claims_of(text) if (c.subject == "vcdr" and c.low == 7) or c.low == 1.8]
    assert not [c for c in claims_of("The horizontal CDR is 0.8.") if c.subject == "vcdr"]
    assert Claim("vcdr", "=", 0.8, 0.8).content in [c.content for c in claims_of("The vertical CDR is 0.8.")]


@pytest.mark.parametrize("ending", ["length", "content_filter"])
def test_a_reply_that_is_cut_off_anywhere_claims_nothing_that_the_whole_does_not(ending: Ending) -> None:
    """Read to its end, 241 of 569 pairs of texts are cut into a claim of another number or sign."""
    claims = 0
    for before, after in list(pairwise(row["text"] for row in labelled()))[::6]:
        text = f"{before.rstrip()} {after}"
        whole = {claim.content for claim in claims_of(text)}
        for end in range(len(before), len(text)):
            own = {claim.content for claim in claims_in(Reply("a", text[:end], ending))}
            assert own <= whole, (text, end)
            claims += len(own)
    assert claims > 1000


def test_only_the_first_characters_are_read_and_their_last_sentence_is_not() -> None:
    head = "The disc is round. " + " ".join(f"word{i}" for i in range(1500)) + ". The CDR is 0.6. "
    at = LONGEST - len("The CDR is 0.")
    reply = f"{head}{'w' * (at - len(head) - 2)}. The CDR is 0.85. {'x y ' * 5000}"
    assert reply[LONGEST:].startswith("85") and len(reply) > LONGEST + 15_000
    assert [claim.low for claim in claims_in(Reply("a", reply))] == [0.6]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("The intraocular pressure is 28 mmHg.", "intraocular pressure"),
        ("The visual field shows an arcuate defect.", "visual field"),
        ("There is a family history of glaucoma.", "history"),
        ("眼压升高。", "intraocular pressure"),
    ],
)
def test_what_no_image_shows_is_a_claim_of_its_own_kind(text: str, subject: str) -> None:
    assert [(name, relation) for name, relation, *_ in read(text)] == [(subject, "unseen")]


@pytest.mark.parametrize(
    "text",
    [
        "Das Verhältnis von Exkavation zu Papille beträgt 0,7; keine Blutungen.",
        "La relación copa-disco es de 0.7, sin hemorragias.",
        "視神経乳頭陥凹比は0.7です。",
        "Отношение экскавации к диску 0,7.",
    ],
)
def test_an_explanation_in_another_language_claims_nothing(text: str) -> None:
    assert read(f"GLAUCOMA. {text}") == []


def labelled() -> list[dict[str, str]]:
    path = Path(__file__).parent / "explanations.csv"
    return list(csv.DictReader(path.open(encoding="utf-8", newline="")))


def test_labelled_explanations_are_read() -> None:
    """570 texts of people who had not seen the reader, by which it was mended afterwards."""
    found = right = stated = reversed_ = 0
    for row in labelled():
        expected = {Claim(*one).content for one in json.loads(row["claims"])}
        own = {claim.content for claim in claims_of(row["text"])}
        reversed_ += len({(*content[:-1], not content[-1]) for content in expected - own} & own)
        found, right, stated = found + len(own), right + len(own & expected), stated + len(expected)
    assert reversed_ <= 1  # of 1,069
    assert right / found >= 0.97
    assert right / stated >= 0.85
