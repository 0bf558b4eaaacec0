"""Signs are phrases without capturing groups, of conditions that the vocabulary knows."""

import re

from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.signs import COMPARISONS, CONCESSIONS, HEALTHY_EN, HEALTHY_ZH, OTHER_EYE, SIGNS
from lmod_train.core.vocabulary.structures import STRUCTURES


def test_every_row_is_of_a_known_condition_and_has_signs_in_both_languages():
    known = {term.name for term in (*CONDITIONS, *STRUCTURES)}
    assert {row.condition for row in SIGNS} <= known
    assert all(row.english and row.chinese and row.healthy_en and row.healthy_zh for row in SIGNS)


def test_no_phrase_captures():
    rows = [w for r in SIGNS for w in (*r.english, *r.chinese, *r.healthy_en, *r.healthy_zh)]
    for phrase in (*rows, *HEALTHY_EN, *HEALTHY_ZH, *OTHER_EYE, *CONCESSIONS, *COMPARISONS):
        assert re.compile(phrase).groups == 0


def test_no_sign_of_a_disease_is_a_phrase_of_its_absence():
    for row in SIGNS:
        for healthy in ("normal optic disc", "healthy retina", "normal macula", "clear media", "视盘正常"):
            assert not any(re.fullmatch(sign, healthy) for sign in (*row.english, *row.chinese))
