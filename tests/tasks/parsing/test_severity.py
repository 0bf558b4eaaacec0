"""Levels of the ICDR scale in words: every degree with every name, asserted, denied, hedged."""

from __future__ import annotations

from lmod_train.core.types import Unparsed
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

DEGREES = (("mild", "轻度", "1"), ("moderate", "中度", "2"), ("severe", "重度", "3"))
NAMES = (
    "NPDR", "non-proliferative diabetic retinopathy", "nonproliferative DR", "non-proliferative retinopathy", "DR",
    "diabetic retinopathy",
)  # fmt: skip
NAMES_ZH = ("NPDR", "非增殖期糖尿病视网膜病变", "非增殖性糖尿病视网膜病变", "糖尿病视网膜病变")
HIGHEST = ("PDR", "proliferative DR", "proliferative diabetic retinopathy", "增殖期糖尿病视网膜病变")
ASSERTING = ("{}", "{}.", "Stage: {}", "The image shows {}.", "The patient has {} with exudates.", "{}; Explanation: x")
OPEN = ("Possibly {}.", "It may be {}.", "I cannot rule out {}.", "I can't grade {} from images.", "Is it {}?")


def reason(text: str, ask: str = "icdr") -> str:
    read = parse(ask, text)
    assert isinstance(read, Unparsed), (text, read)
    return read.reason


@tabled("layout", ASSERTING)
@tabled("name", NAMES)
@tabled(("degree", "_", "level"), DEGREES)
def test_a_degree_is_a_level(degree: str, _: str, level: str, name: str, layout: str) -> None:
    assert parse("icdr", layout.format(f"{degree} {name}")) == level
    assert parse("icdr", layout.format(f"{degree.capitalize()} {name}")) == level


@tabled("name", NAMES_ZH)
@tabled(("_", "degree", "level"), DEGREES)
@tabled("layout", ["{}", "{}。", "分期：{}", "图像显示{}。"])
def test_a_chinese_degree_is_a_level(_: str, degree: str, level: str, name: str, layout: str) -> None:
    assert parse("icdr", layout.format(degree + name)) == level


@tabled("name", HIGHEST)
def test_proliferative_names_are_the_highest_level(name: str) -> None:
    assert parse("icdr", f"{name}.") == "4"
    assert parse("icdr", f"Stage: {name}") == "4"
    assert reason(f"no {name}" if name.isascii() else f"未见{name}") == "no_match"


@tabled("name", ["DR", "diabetic retinopathy", "retinopathy"])
@tabled("layout", ["No {}.", "No signs of {} are seen.", "There is no apparent {}.", "{} is absent."])
def test_the_disease_denied_is_level_0(layout: str, name: str) -> None:
    assert parse("icdr", layout.format(name)) == "0"


@tabled("layout", OPEN)
@tabled("name", ["mild NPDR", "severe NPDR", "PDR"])
def test_hedged_names_are_no_level(layout: str, name: str) -> None:
    assert reason(layout.format(name)) in ("no_match", "refused")


@tabled(
    "text",
    [
        "The image shows diabetic retinopathy.", "non-proliferative diabetic retinopathy", "mild to moderate NPDR",
        "I'm not able to grade diabetic retinopathy.", "There is no moderate NPDR.", "Stage: 2.5",
    ],
)  # fmt: skip
def test_other_text_is_no_level(text: str) -> None:
    assert not isinstance(parse("icdr", text), str)


def test_numbers_take_precedence_and_two_names_are_ambiguous() -> None:
    assert parse("icdr", "Stage: 3; Explanation: more than moderate NPDR") == "3"
    assert parse("icdr", "This is not severe NPDR but moderate NPDR.") == "2"
    assert reason("It shows mild NPDR. It shows PDR.") == "ambiguous"


@tabled(
    ("ask", "text"),
    [("macular_hole_stage", "Is it stage {}?"), ("sdrg", "Could this be R{}?"), ("age_group", "Is he {}5 years old?")],
)
@tabled("number", [2, 3, 4])
def test_a_question_states_nothing(ask: str, text: str, number: int) -> None:
    assert not isinstance(parse(ask, text.format(number)), str)


def test_a_scale_without_words_reads_numbers_alone() -> None:
    assert reason("moderate NPDR", "sdrg") == "no_match"
    assert reason("There is no macular hole.", "macular_hole_stage") == "no_match"


@tabled("number", ["0", "Zero", "zero"])
@tabled("means", ["means", "stands for", "denotes", "corresponds to"])
def test_a_definition_of_a_level_is_no_answer(number: str, means: str) -> None:
    assert isinstance(parse("icdr", f"{number} {means} no retinopathy, look closely."), Unparsed)


@tabled("join", ["to", "up to", "through", "–"])
@tabled("lead", ["The ICDR scale runs from ", "Grades range from ", "It goes from "])
def test_the_ends_of_a_scale_are_no_answer(lead: str, join: str) -> None:
    legend = f"{lead}0 (no apparent retinopathy) {join} 4 (proliferative retinopathy)."
    assert reason(legend) == "no_match"
    assert parse("icdr", f"{legend} This eye has moderate NPDR.") == "2"
