"""Statements about a structure: every layout and structure, with each adjective and its opposite."""

from __future__ import annotations

import pytest

from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.tasks.parsing.finding import as_condition
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

WORDS = {
    "abnormal macula": ("macula", "黄斑", ("abnormal", "normal")),
    "abnormal vessels": ("vessels", "血管", ("abnormal", "normal")),
    "increased cup-to-disc ratio": ("cup-to-disc ratio", "杯盘比", ("increased", "normal")),
}
SAYS = (
    "The {x} {be} {v}.", "The {x} look {v}.", "The {x}, however, {be} {v}.", "The {x}, on the other hand, {be} {v}.",
    "I would call the {x} {v}.", "It is the {x} that {be} {v}.",
    "Nothing else is seen; the {x}, in contrast, {be} {v}.",
)  # fmt: skip
DENIES = (
    "The {x} {be} not {v}.", "The {x} {be}n't {v}.", "The {x} do not look {v}.", "The {x} {be} far from {v}.",
    "The {x} {be} anything but {v}.", "The {x}, however, {be} not {v}.", "I would not call the {x} {v}.",
    "I wouldn't consider this {x} {v}.", "It would be wrong to call the {x} {v}.",
    "It is a mistake to describe the {x} as {v}.",
    "It would be wrong to call this {x} {v}; there is more to it.",
)  # fmt: skip
TWICE = ("I would not call the {x} not {v}.", "It would be wrong to say the {x} {be} not {v}.")


@tabled("asked", WORDS)
@tabled("layout", (*SAYS, *DENIES))
def test_a_negation_inverts_every_adjective(layout: str, asked: str) -> None:
    name, _, pair = WORDS[asked]
    be = "are" if name == "vessels" else "is"
    for word, asserted in zip(pair, (True, False), strict=True):
        text = layout.format(x=name, be=be, v=word)
        wanted = "TRUE" if asserted == (layout in SAYS) else "FALSE"
        assert parse("conditions " + asked, text) == wanted, text


@tabled("asked", WORDS)
@tabled("layout", TWICE)
def test_double_negations_are_never_inverted(layout: str, asked: str) -> None:
    name, _, pair = WORDS[asked]
    for word, wrong in zip(pair, ("FALSE", "TRUE"), strict=True):
        assert parse("conditions " + asked, layout.format(x=name, be="is", v=word)) != wrong


@tabled("layout", ["{x}{v}", "{x}{n}{v}", "{x}结构{v}", "{x}并非{v}"])
def test_chinese_predicates(layout: str) -> None:
    for asked, (_, name, _) in list(WORDS.items())[:2]:
        for word, asserted in (("异常", True), ("正常", False)):
            text = layout.format(x=name, v=word, n="不")
            wanted = "TRUE" if asserted != ("{n}" in layout or "并非" in layout) else "FALSE"
            assert parse("conditions " + asked, text) == wanted, text


CONTRASTS = (
    "异常的不是{0}，而是{1}。", "异常的是{1}，不是{0}", "异常的是{1}，而不是{0}。", "异常的部位是{1}，并非{0}",
    "不是{0}异常，而是{1}异常",
)  # fmt: skip
CONTRASTS_EN = (
    "It is not the {0} that is abnormal but the {1}.", "What is abnormal is the {1}, not the {0}.",
    "What is abnormal is not the {0} but the {1}.", "The abnormal structure is not the {0} but the {1}.",
)  # fmt: skip


@tabled("layout", (*CONTRASTS, *CONTRASTS_EN))
def test_a_contrast_asserts_the_one_and_denies_the_other(layout: str) -> None:
    names = ("黄斑", "血管") if layout in CONTRASTS else ("macula", "vessels")
    asks = ("conditions abnormal macula", "conditions abnormal vessels")
    for order in (1, -1):
        denied, asserted = asks[::order]
        text = layout.format(*names[::order])
        assert (parse(denied, text), parse(asserted, text)) == ("FALSE", "TRUE"), text


def test_a_finding_without_a_structure_keeps_its_text() -> None:
    for finding in FINDINGS:
        if not finding.structure:
            assert as_condition("The macula is normal.", finding) == "The macula is normal."


LABELS = ("{x}: {v}", "{x} - {v}", "{x} = {v}", "Disc: normal; {x}: {v}", "Both {x} and disc are {v}.")


@tabled("layout", LABELS)
@tabled("asked", ["abnormal macula", "abnormal vessels"])
def test_a_structure_as_a_label(asked: str, layout: str) -> None:
    for word, wanted in (("abnormal", "TRUE"), ("normal", "FALSE")):
        assert parse("conditions " + asked, layout.format(x=WORDS[asked][0], v=word)) == wanted


@pytest.mark.parametrize("asked", ["abnormal macula", "abnormal vessels"])
def test_nouns_and_contrasts_with_other_structures(asked: str) -> None:
    name = WORDS[asked][0]
    be = "are" if name == "vessels" else "is"
    texts = {
        f"The {name} shows no abnormality.": "FALSE", f"The {name} shows abnormalities.": "TRUE",
        f"The disc is normal, the {name} {be} not.": "TRUE", f"The disc is abnormal, the {name} {be} not.": "FALSE",
    }  # fmt: skip
    assert {text: parse("conditions " + asked, text) for text in texts} == texts


def test_another_name_of_an_increased_ratio() -> None:
    for name in ("CDR", "C/D ratio", "cup/disc ratio"):
        assert parse("conditions increased cup-to-disc ratio", f"There is an increased {name}.") == "TRUE"
        assert parse("conditions increased cup-to-disc ratio", f"There is no increased {name}.") == "FALSE"


@tabled("ask", ["conditions abnormal macula", "conditions abnormal vessels"])
@tabled(
    ("text", "wanted"),
    [
        ("Nothing abnormal about the {s}.", "FALSE"),
        ("I can't see anything abnormal in the {s}.", "FALSE"),
        ("There is not anything abnormal about the {s}.", "FALSE"),
        ("There is something abnormal about the {s}.", "TRUE"),
        ("I consider the {s} of this eye abnormal.", "TRUE"),
        ("The {s} of the right eye is normal.", "FALSE"),
        ("The {s}? Not normal.", "TRUE"),
        ("The {s}? Normal.", "FALSE"),
    ],
)
def test_statements_with_something_about_a_structure(text: str, wanted: str, ask: str) -> None:
    assert parse(ask, text.format(s=ask.split()[-1])) == wanted
