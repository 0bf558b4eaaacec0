"""Layouts of box numbers, with every numeral and both orders of two structures."""

from __future__ import annotations

from lmod_train.tasks.parsing.regions import normalise_numbering
from tests.tabled import tabled
from tests.tasks.parsing.asked import parse

CUP, DISC = "optic cup", "optic disc"
BOTH = (("视杯", "视盘", CUP, DISC), ("视盘", "视杯", DISC, CUP))
LAYOUTS = (
    "{0}号框为{a}，{1}号框为{b}。", "框{0}是{a}，框{1}是{b}",
    "第{0}个框：{a}；第{1}个框：{b}", "区域{0}为{a}\n区域{1}为{b}",
    "第{0}个框标注的是{a}，第{1}个框标注的是{b}", "{0}号区域：{a}\n{1}号区域：{b}",
    "编号{0}的框为{a}，编号{1}的框为{b}",
    "标记为{0}的区域是{a}，标记为{1}的区域是{b}", "方框{0}标示的是{a}，方框{1}标示的是{b}",
    "框{0}对应{a}，框{1}对应{b}",
    "图中框{0}里是{a}，框{1}里是{b}", "框{0}和框{1}分别为{a}和{b}",
    "红框（{0}）为{a}，绿框（{1}）为{b}", "区域{0}（红色）：{a}；区域{1}（绿色）：{b}",
)  # fmt: skip
DIGITS_ONLY = ("{0}是{a}，{1}是{b}", "{0}为{a}\n{1}为{b}", "{0}.{a}\n{1}.{b}", "{0}{a} {1}{b}")
ENGLISH = (
    "The first box is the {a} and the second box is the {b}.", "Region one: {a}. Region two: {b}.",
    "Box 1 marks the {a}, and box 2 marks the {b}.", "Box no. 1 is the {a}, box no. 2 the {b}.",
    "Region 1 (red): {a}\nRegion 2 (green): {b}", "The first region shows the {a}; the second region shows the {b}.",
)  # fmt: skip


@tabled("numerals", [("1", "2"), ("一", "二"), ("１", "２"), ("①", "②")])
@tabled("layout", LAYOUTS)
def test_chinese_boxes(layout: str, numerals: tuple[str, str]) -> None:
    for first, second, *wanted in BOTH:
        text = layout.format(*numerals, a=first, b=second)
        assert parse("anatomy CFP", text) == dict(enumerate(wanted, 1)), text


@tabled("layout", DIGITS_ONLY)
def test_a_number_in_front_of_a_chinese_name(layout: str) -> None:
    for first, second, *wanted in BOTH:
        text = layout.format(1, 2, a=first, b=second)
        assert parse("anatomy CFP", text) == dict(enumerate(wanted, 1)), text


@tabled("layout", ENGLISH)
def test_boxes_in_words(layout: str) -> None:
    for first, second in ((CUP, DISC), (DISC, CUP)):
        assert parse("anatomy CFP", layout.format(a=first, b=second)) == {1: first, 2: second}


@tabled("text", ["图中共有2个框", "杯盘比为0.5，视盘边界清", "The cup is 2 mm wide.", "Box: optic disc", ""])
def test_other_numbers_are_unchanged(text: str) -> None:
    assert normalise_numbering(text) == text


@tabled("bracket", ["", " (the cup inside the disc)", " (optic cup)", "（视杯）", ", small"])
@tabled("layout", ["Region ID: 1; Type: {}", "1: {}", "1号框：{}", "Region 1 is {}"])
def test_abbreviations_are_whole_values(layout: str, bracket: str) -> None:
    for short, wanted in (("OC", CUP), ("oc", CUP)):
        assert parse("anatomy CFP", layout.format(short + bracket)) == {1: wanted}


def one_letter_off(name: str) -> list[str]:
    """Return the name with one letter left out, doubled or changed, in the middle of its last word."""
    at = len(name) - 3
    return [name[:at] + name[at + 1 :], name[:at] + name[at] + name[at:], name[:at] + "q" + name[at + 1 :]]


LONG = ("Capsulorhexis Cystotome", "Capsulorhexis Forceps", "Incision Knife", "Irrigation-Aspiration", "Katena Forceps",
        "Lens Injector", "Phacoemulsification Tip", "Spatula")  # fmt: skip


@tabled("name", LONG)
def test_one_misspelt_letter_is_tolerated(name: str) -> None:
    for written in one_letter_off(name):
        assert parse("anatomy SS", f"Region ID: 1; Type: {written}") == {1: name}, written


BEHIND = (
    "The {a} is region 1 and the {b} is region 2.", "The {a} is region 1, the {b} is region 2.", "{a} (1), {b} (2)",
    "{a} (box 1); {b} (box 2)", "{a}是1号框，{b}是2号框。",
)  # fmt: skip


@tabled("layout", BEHIND)
def test_a_number_behind_its_structure(layout: str) -> None:
    for first, second in ((CUP, DISC), (DISC, CUP)):
        assert parse("anatomy CFP", layout.format(a=first, b=second)) == {1: first, 2: second}
