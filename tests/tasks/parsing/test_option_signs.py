"""Letters and texts of options become signs; articles, pronouns and names with a letter do not."""

from __future__ import annotations

from lmod_train.core.option_letters import LETTERS
from lmod_train.core.types import Unparsed
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.option_signs import OF_LETTER, OF_TEXT, index_of, mark
from tests.tabled import tabled

FOUR = ("mild NPDR", "moderate NPDR", "severe NPDR", "retinal tear")


def found(text: str, choices: tuple[str, ...] = FOUR) -> str:
    """Return the options mentioned in a text: letters as capitals, texts as small letters."""
    signs = [c for c in mark(text, choices) if ord(c) >= OF_LETTER and not "\u4e00" <= c <= "\u9fff"]
    return "".join(LETTERS[index_of(c)] if ord(c) < OF_TEXT else LETTERS[index_of(c)].lower() for c in signs)


@tabled(
    ("text", "signs"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(b).", "B"),
        ("Option c is right", "C"),
        ("Answer: d", "D"),
        ("the answer is a cataract", ""),
        ("A is right", "A"),
        ("A because of the dots", "A"),
        ("It is A clearly", "A"),
        ("A retinal haemorrhage is visible", ""),
        ("A 45-year-old eye", ""),
        ("It is seen.\nA bright spot", ""),
        ("I see two dots. I choose B", "B"),
        ("I think so", ""),
        ("(I)", "I"),
        ("vitamin A, hepatitis B, type C, Fig. D", ""),
        ("B-scan, A-scan, T-cell, B cells, C. albicans", ""),
        ("the C/D ratio, A/V ratio", ""),
        ("C/D", "CD"),
        ("A's rim", ""),
        ("'B'", "B"),
        ("AB", "AB"),
        ("OD", "OD"[:0]),
        ("选AC", "AC"),
        ("选A或B", "AB"),
        ("Moderate NPDR", "b"),
        ("moderate-NPDR", "b"),
        ("mild to moderate NPDR", "ab"),
        ("mild, moderate or severe NPDR", "abc"),
        ("non-severe NPDR", ""),
        ("retinal tears", ""),
        ("A retinal tear", "d"),
        ("C is likelier than B", "C"),
        ("C比B更符合", "C"),
    ],
)
def test_mentions(text: str, signs: str) -> None:
    assert found(text) == signs


def test_short_texts_count_in_the_place_of_an_answer_only() -> None:
    options = ("yes", "no", "0.3", "12")
    assert [found(text, options) for text in ("No", "Answer: no", "No.", "It is yes", "0.3")] == [*"bbba", "c"]
    assert [found(text, options) for text in ("there is no rim", "no rim", "12 dots", "a ratio of 0.35")] == [""] * 4


def test_the_longest_text_counts_and_equal_ones_do_not() -> None:
    options = ("dots", "dots and spots", "Rim (pale)", "rim")
    assert [found(text, options) for text in ("dots and spots", "dots", "rim (pale)", "rim")] == [*"bacd"]
    assert found("rim", ("Rim", "rim")) == ""


def test_letters_that_fold_in_another_way_are_kept() -> None:
    assert mark("\u0131ris d\u0130sc", ("iris", "disc")) == "\u0131ris d\u0130sc"


def test_signs_of_a_reply_are_not_signs_of_options() -> None:
    assert found(chr(OF_LETTER) + chr(OF_TEXT + 1)) == ""


GRADES = tuple(f"ICDR grade {n}" for n in range(5))


@tabled("between", [" or ", "/", "-", " to ", " and ", " (or ", ", or maybe grade ", " or ICDR grade "])
def test_two_grades_are_not_the_first_one(between: str) -> None:
    text = f"ICDR grade 2{between}3" + (")" if "(" in between else "")
    assert parse_option(text, GRADES) == Unparsed("ambiguous", "states C and D")


@tabled("text", ["ICDR grade 2", "ICDR grade 2.", "ICDR grade 2 and 3 haemorrhages", "ICDR grade 2 and 3.5 mm"])
def test_one_grade_with_other_numbers_counts(text: str) -> None:
    assert parse_option(text, GRADES) == "ICDR grade 2"


def test_a_grade_between_two_is_none() -> None:
    assert found("ICDR grade 2.5", GRADES) == ""
