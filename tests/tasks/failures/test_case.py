"""A reply as the rules see it: positions stay, thinking does not count."""

from lmod_train.tasks.failures.case import AskedReply
from tests.tasks.failures.asked import prediction_of
from tests.tasks.failures.labelled import Labelled


def case(reply, ask="glaucoma"):
    return AskedReply(prediction_of(Labelled(ask, reply, frozenset(), "develop")))


def test_positions_are_those_of_the_reply():
    seen = case("<think>no</think>ＧＬＡＵＣＯＭＡ；解释：视杯扩大")
    assert len(seen.text) == len(seen.reply)
    assert seen.text[17:] == "GLAUCOMA;解释:视杯扩大"
    assert not seen.text[:17].strip()
    assert seen.reasons == "视杯扩大"


def test_the_explanation_is_behind_its_label_or_the_first_clause():
    assert case("GLAUCOMA; Explanation: thin rim.").reasons == " thin rim."
    assert case("GLAUCOMA. The rim is thin.").reasons == " The rim is thin."
    assert case("GLAUCOMA").reasons == ""


def test_the_prompt_says_whether_reasons_are_asked_for():
    assert case("x").asks_for_reasons and case("x", "macular_hole_stage explained").asks_for_reasons
    assert not case("x", "macular_hole_stage").asks_for_reasons and not case("x", "anatomy OCT 3").asks_for_reasons


def test_a_rule_is_asked_once():
    asked = []
    seen = case("x")
    rule = lambda c: asked.append(c)  # noqa: E731
    assert seen.of(rule) is None and seen.of(rule) is None and len(asked) == 1
