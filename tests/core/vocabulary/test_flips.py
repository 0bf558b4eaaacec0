"""The tables of denying and asserting words: a word has one meaning, and a shorter one hides no longer one."""

import re
from itertools import combinations

import pytest

from lmod_train.core.vocabulary import flips
from lmod_train.tasks.parsing.cues import any_of
from tests.tabled import tabled

ENGLISH = (flips.DENYING_EN, flips.ASSERTING_EN, flips.NEUTRAL_EN, flips.FRAMES_EN, flips.CONTRASTS_EN)
CHINESE = (flips.DENYING_ZH, flips.ASSERTING_ZH, flips.NEUTRAL_ZH, flips.FRAMES_ZH, flips.CONTRASTS_ZH)


@pytest.mark.parametrize("tables", [ENGLISH, CHINESE])
def test_a_word_stands_in_one_table(tables):
    for first, second in combinations(tables, 2):
        assert not set(first) & set(second)


@tabled("table", [*CHINESE, flips.QUESTIONS_ZH])
def test_a_longer_word_is_found_as_a_whole(table):
    for word in table:
        assert re.match(any_of((), table).removeprefix("(?<![a-z])(?:)(?![a-z])|"), word.replace("\\", ""))[0] == (
            word.replace("\\", "")
        )
