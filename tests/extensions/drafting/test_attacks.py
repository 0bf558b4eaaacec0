"""The attack set: each text in both languages, with places that a task fills."""

import re

from lmod_train.extensions.drafting.judgement import ATTACKS, Attack
from tests.tabled import tabled

PLACES = {"question", "expected", "given", "label", "other", "diagnoses"}


def test_the_set_holds_every_attack_once():
    assert [a.name for a in ATTACKS if a.is_right is not None] == [
        "empty", "question_repeated", "negated", "answer_true", "praise", "every_diagnosis", "other_language",
    ]  # fmt: skip
    assert [a.name for a in ATTACKS if a.is_right is None] == ["with_question", "with_praise", "with_answer_true"]
    assert len({a.name for a in ATTACKS}) == len(ATTACKS)


@tabled("attack", ATTACKS)
def test_both_languages_have_the_same_places_and_their_own_letters(attack: Attack):
    english, chinese = ({*re.findall(r"\{(\w+)\}", attack.text(language))} for language in ("en", "zh"))
    assert english == chinese <= PLACES
    assert ("given" in english) == (attack.is_right is None), "an addition holds the reply, and nothing else does"
    plain = [re.sub(r"\{\w+\}", "", attack.text(language)) for language in ("en", "zh")]
    assert not re.search("[一-鿿]", plain[0]) and not re.search("[A-Za-z]", plain[1])


def test_other_languages_are_attacked_in_english():
    assert {a.text("de") == a.english for a in ATTACKS} == {True}
