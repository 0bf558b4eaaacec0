"""An option that is named as a limit of several is no answer."""

from __future__ import annotations

from lmod_train.tasks.parsing.option import open_limits
from lmod_train.tasks.parsing.option_signs import OTHERS, mark
from tests.growth import growth
from tests.tabled import tabled
from tests.tasks.parsing.test_option import outcome

GRADES = tuple(f"ICDR grade {n}" for n in range(5))
NPDR = ("Mild NPDR", "Moderate NPDR", "Severe NPDR", "PDR")
STAGES = ("1级", "2级", "3级", "4级")


@tabled(
    "text",
    [
        "at least ICDR grade 2", "At most ICDR grade 2.", "below ICDR grade 2", "above ICDR grade 2",
        "> ICDR grade 2", ">ICDR grade 2", "< ICDR grade 2", "≥ ICDR grade 2", "more than ICDR grade 2",
        "worse than ICDR grade 2", "up to ICDR grade 2", "ICDR grade 2 or worse", "ICDR grade 2 and above",
        "ICDR grade 2, if not worse", "ICDR grade 2, possibly worse.", "ICDR grade 2+", "ICDR grade 2 at least",
        "Answer: ICDR grade 2 or higher", "It is at least C", "Answer: C or worse", "ICDR grade 2以上",
    ],
)  # fmt: skip
def test_a_limit_is_ambiguous(text: str) -> None:
    assert outcome(text, GRADES) == "?ambiguous"


@tabled("text", ["至少2级", "2级以上", "2级及以上", "2级或更严重", "高于2级", "不低于2级"])
def test_a_limit_in_chinese_is_ambiguous(text: str) -> None:
    assert outcome(text, STAGES) in ("?ambiguous", "?no_match")


@tabled(
    ("text", "wanted"),
    [
        ("ICDR grade 3, worse than ICDR grade 2", "D"),
        ("ICDR grade 3 is more likely than ICDR grade 2", "D"),
        ("<ICDR grade 2>", "C"),
        ("ICDR grade 2. At least 20 haemorrhages are seen.", "C"),
        ("ICDR grade 2 because more than 20 haemorrhages are seen", "C"),
    ],
)
def test_a_comparison_with_an_answer_beside_it_is_none(text: str, wanted: str) -> None:
    assert outcome(text, GRADES) == wanted


def test_an_option_that_is_a_limit_itself_counts() -> None:
    options = (*NPDR, "Moderate NPDR or worse", "at least 5 dots", "5 dots")
    assert [outcome(text, options) for text in ("Moderate NPDR or worse", "at least 5 dots", "5 dots")] == [
        "E",
        "F",
        "G",
    ]
    assert outcome("Moderate NPDR or worse", NPDR) == "?ambiguous"


def test_limits_are_found_in_linear_time() -> None:
    marked = {n: mark("at least ICDR grade 2 or worse than " * n, GRADES) for n in (200, 1_600)}
    assert OTHERS in open_limits(marked[200])
    assert growth(lambda n: open_limits(marked[n]), 200) < 2.5
