"""Questions that occur twice about an image, or contradict each other."""

from __future__ import annotations

from lmod_train.extensions.drafting.caption_steps import duplicates
from tests.extensions.drafting.example import single_choice, statement


def found(*items: object) -> list[tuple[str, str]]:
    return [(one.id.rpartition("/")[2], one.reason) for one in duplicates(items)]  # type: ignore[arg-type]


def test_a_repeated_question_goes_and_the_first_stays():
    again = statement(2, "the optic  disc is pale.", "视盘苍白。")
    assert found(statement(1), again) == [("2", "near_duplicate")]
    assert found(statement(1), statement(2, caption="2")) == []  # of another image
    longer = statement(2, "The temporal half of the optic disc is pale", "视盘颞侧半苍白")
    assert found(statement(1), longer) == []


def test_both_halves_must_be_alike():
    assert found(statement(1), statement(2, zh="黄斑水肿")) == []


def test_a_denial_with_the_other_answer_is_no_duplicate_and_equal_questions_with_two_answers_both_go():
    denied = statement(2, "The optic disc is not pale", "视盘不苍白", true=False)
    assert found(statement(1), denied) == []
    assert found(statement(1), statement(2, true=False)) == [("1", "two_answers"), ("2", "two_answers")]


def test_the_order_of_options_does_not_make_another_question():
    turned = single_choice(2, ("macular hole", "drusen", "hemorrhage", "retinal tear"),
                           ("黄斑裂孔", "玻璃膜疣", "出血", "视网膜裂孔"), right=1)  # fmt: skip
    assert found(single_choice(1), turned) == [("2", "near_duplicate")]
    assert found(single_choice(1), single_choice(2, right=1)) == [("1", "two_answers"), ("2", "two_answers")]
