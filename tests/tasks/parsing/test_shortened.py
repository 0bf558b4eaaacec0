"""Names of options that share words are read as several options."""

from __future__ import annotations

from lmod_train.tasks.parsing.option_signs import in_full
from tests.growth import growth
from tests.tabled import tabled
from tests.tasks.parsing.test_option import outcome

GRADES = tuple(f"ICDR grade {n}" for n in range(5))
NPDR = ("Mild NPDR", "Moderate NPDR", "Severe NPDR", "PDR")


@tabled(
    "text",
    [
        "ICDR grade 2, possibly 3", "ICDR grade 2 (possibly 3)", "ICDR grade 2, maybe even grade 3.",
        "ICDR grade 2 approaching 3", "ICDR grade 2, but could be 3", "ICDR grade 2 vs 3", "ICDR grade 2 & 3",
    ],
)  # fmt: skip
def test_a_second_number_is_a_second_option(text: str) -> None:
    assert outcome(text, GRADES) == "?ambiguous"


@tabled("text", ["ICDR grade 2 rather than 3", "ICDR grade 2 and 3 haemorrhages", "ICDR grade 2 and 3.5 mm"])
def test_other_numbers_are_none(text: str) -> None:
    assert outcome(text, GRADES) == "C"


@tabled("text", ["Moderate NPDR, possibly severe", "Moderate NPDR or severe.", "mild/moderate NPDR"])
def test_a_second_first_word_is_a_second_option(text: str) -> None:
    assert outcome(text, NPDR) == "?ambiguous"
    assert outcome("Moderate NPDR, not severe", NPDR) == "B"


@tabled("text", ["2至3级", "2或3级", "2级，可能3级", "2-3级", "2级或3级"])
def test_numbers_in_front_of_a_shared_word(text: str) -> None:
    assert outcome(text, ("1级", "2级", "3级")) in ("?ambiguous", "?no_match")
    assert outcome("2级", ("1级", "2级", "3级")) == "B"


def test_shortened_names_are_found_in_linear_time() -> None:
    texts = {n: "ICDR grade 2 or maybe possibly " * n for n in (300, 2_400)}
    assert growth(lambda n: in_full(texts[n], GRADES), 300) < 2.5
