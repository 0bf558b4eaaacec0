"""Each verdict has one meaning, and is read with it where it stands alone."""

from __future__ import annotations

from lmod_train.core.vocabulary import verdicts
from tests.tabled import tabled
from tests.tasks.parsing.bilingual import outcome

TRUE = (*verdicts.TRUE_EN, *verdicts.TRUE_ZH)
FALSE = (*verdicts.FALSE_EN, *verdicts.FALSE_ZH)


def test_no_word_is_both() -> None:
    assert not set(TRUE) & set(FALSE)


@tabled("word", TRUE)
def test_words_for_true(word: str) -> None:
    assert (outcome("true_false", word), outcome("dui_cuo", word)) == ("True", "对")


@tabled("word", FALSE)
def test_words_for_false(word: str) -> None:
    assert (outcome("true_false", word), outcome("dui_cuo", word)) == ("False", "错")
