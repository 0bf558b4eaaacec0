"""Words of other languages around an answer: written as folded replies are, and readable as patterns."""

from __future__ import annotations

import re

import pytest

from lmod_train.core.vocabulary import other_languages as words

LISTS = (words.ANSWERS, words.EXPLANATIONS, words.LISTS, words.YES, words.NO, tuple(one for one, _ in words.ENGLISH))


@pytest.mark.parametrize("phrases", LISTS, ids=["answers", "explanations", "lists", "yes", "no", "english"])
def test_each_phrase_is_a_pattern_without_accents_and_stands_once(phrases: tuple[str, ...]) -> None:
    assert len(set(phrases)) == len(phrases)
    for phrase in phrases:
        assert phrase.isascii()
        assert phrase.replace("\\S", "") == phrase.replace("\\S", "").lower()
        assert re.compile(phrase).match("") is None


def test_no_word_means_yes_and_no() -> None:
    assert not set(words.YES) & set(words.NO)
