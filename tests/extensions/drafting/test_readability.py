"""The Flesch-Kincaid grade: the formula by hand, syllables against the CMU pronouncing dictionary."""

from __future__ import annotations

import pytest

from lmod_train.extensions.drafting.checks import HIGHEST, grade, hard_to_read, syllables
from lmod_train.extensions.drafting.drafts import drafted, listings
from tests.drafted import QUESTIONS
from tests.tabled import tabled

CMU = {
    1: "the is of this in what eye disc cup hole stage grade scale which based best lens size",
    2: "image lesion structure table locate describe region nasal sizes likely optic",
    3: "edema retina retinal cataract quality temporal surgery management glaucoma",
    4: "diagnosis severity superior inferior observation emergency primarily",
    5: "anatomical examination",
}
"""Syllables -> words of clinical questions with that number of vowels in the dictionary (version 0.7b)."""


def test_syllables_are_those_of_the_pronouncing_dictionary():
    assert {w: syllables(w) for n, words in CMU.items() for w in words.split()} == {
        w: n for n, words in CMU.items() for w in words.split()
    }


@tabled(
    ("text", "words", "sentences", "sounds"),
    [
        ("The cat sat on the mat.", 6, 1, 6),
        ("What is the most likely diagnosis?", 6, 1, 10),
        ("Locate the optic disc. Describe the image.", 7, 2, 11),
        ("one word", 2, 1, 2),
    ],
)
def test_the_grade_is_the_formula_of_kincaid(text: str, words: int, sentences: int, sounds: int):
    assert grade(text) == pytest.approx(0.39 * words / sentences + 11.8 * sounds / words - 15.59)


def test_a_text_without_words_has_no_grade_and_templates_stay_below_the_limit():
    assert grade("") is None and grade("12 % ?!") is None
    grades = [grade(question) for question in QUESTIONS.values()]
    printed = [grade(one.text.partition("A:")[0]) for one in listings().values()]
    assert max(g for g in (*grades, *printed) if g is not None) < HIGHEST
    assert hard_to_read(drafted(question="Notwithstanding incomprehensibility, " * 3)) != []
