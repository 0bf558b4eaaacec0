"""Signs in the place of choices: which spellings count, where, and whose."""

from __future__ import annotations

import re

import pytest

from lmod_train.tasks.parsing.option_signs import TEXT, index_of
from lmod_train.tasks.parsing.own_choice import spelled, words_of
from tests.tabled import tabled


def mentioned(text: str, choices: tuple[str, ...]) -> list[str]:
    marked = words_of(choices).marked(text, ())
    return [choices[index_of(sign)] for sign in re.findall(TEXT, marked)]


@tabled(
    ("choices", "text", "found"),
    [
        (("DR", "no DR", "PDR"), "no DR, PDR, DR", ["no DR", "PDR", "DR"]),
        (("normal", "abnormal"), "abnormal", ["abnormal"]),
        (("glaucoma", "cataract"), "normal tension glaucoma", ["glaucoma"]),  # one mention, of the vocabulary
        (("1", "10"), "1 haemorrhage in 10 days", []),
        (("1", "10"), "10", ["10"]),
        (("A", "A+"), "A+", ["A+"]),
        (("no", "yes"), "no haemorrhage", []),
        (("Ödem", "Narbe"), "OEDEM, Narben", ["Ödem"]),
        (("cotton-wool spot", "drusen"), "Cotton wool spots", ["cotton-wool spot"]),
        (("DR", "x ray"), "Dr. Li", []),
    ],
)
def test_the_longest_choice_is_marked_where_it_is_meant(choices: tuple[str, ...], text: str, found: list[str]) -> None:
    assert mentioned(text, choices) == found


@pytest.mark.parametrize(
    ("choices", "pairs"),
    [
        (("DR", "no DR", "PDR"), {0: 1}), (("glaucoma", "no evidence"), {}), (("Glaukom", "kein Glaukom"), {0: 1}),
        (("青光眼", "非青光眼"), {0: 1}), (("diabetic retinopathy", "no DR"), {0: 1}), (("PDR", "no DR"), {}),
    ],
)  # fmt: skip
def test_a_choice_may_be_the_negation_of_another(choices: tuple[str, ...], pairs: dict[int, int]) -> None:
    assert words_of(choices).negative == pairs


def test_words_of_the_vocabulary_count_for_a_concept_that_one_choice_has() -> None:
    assert spelled("diabetic retinopathy") in words_of(("DR", "normal")).numbers
    assert spelled("diabetic retinopathy") not in words_of(("DR", "PDR")).numbers
    assert spelled("diabetic retinopathy") not in words_of(("PDR", "normal")).numbers
    assert words_of(("DR", "no DR")).numbers[spelled("no diabetic retinopathy")] == 1
