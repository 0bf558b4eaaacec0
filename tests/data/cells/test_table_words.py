"""Each word of a table has one meaning."""

from __future__ import annotations

from collections import Counter

import pytest

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.data.cells import vocabulary as words


@pytest.mark.parametrize("name", ["HEADERS", "WEAK", "SIDES", "SEX_WORDS", "SPLITS", "DIAGNOSES", "BOXED"])
def test_no_word_is_in_two_rows(name: str):
    table = getattr(words, name)
    counts = Counter(word for row, own in table.items() for word in own)
    twice = sorted(word for word, n in counts.items() if n > 1)
    assert twice == ([] if name != "WEAK" else ["class", "code", "label", "target"]), name


def test_words_are_compared_without_case_accents_and_signs():
    for table in (words.HEADERS, words.DIAGNOSES, words.SIDES, words.BOXED):
        assert all(words.plain(word) == word for own in table.values() for word in own)
    assert words.plain("Âge (années)") == "ageannees" and words.plain("年龄") == "年龄"


def test_yes_no_and_missing_are_different():
    assert not words.YES & words.NO and not (words.YES | words.NO) & {w for w in words.MISSING if w.isalnum()}
    assert set(words.BOXED) <= {term.name for term in STRUCTURES}
    assert set(words.DIAGNOSES) <= {term.name for term in CONDITIONS} >= set(words.ICD_10.values()) - {""}


def test_a_long_text_is_compared_as_it_is():
    long = "Glaukom " * 2_000
    assert words.plain(long[:10_000]) == "glaukom" * 1250
    assert words.plain(long) == long != words.plain(long + "?")
