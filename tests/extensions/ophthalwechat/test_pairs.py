"""Questions of one image: numbers, translations, doubles."""

from lmod_train.extensions.ophthalwechat.pairs import Placed, in_order, questions_of
from lmod_train.extensions.ophthalwechat.questions import Asked


def placed(number, language, pair="", stem="", answer="", task="open_question"):
    return Placed(
        Asked(task, language, stem or f"q{number}", stem or f"q{number}", (), answer or f"a{number}"),
        f"row {number}",
        pair,
    )


def variants(found):
    problems = []
    return [q.variant for q in questions_of(found, {}, problems)], [(p.reason, p.place) for p in problems]


def test_a_question_and_its_translation_have_one_number_wherever_they_stand():
    found = [placed(1, "zh", "x"), placed(2, "en", "y"), placed(3, "en", "x"), placed(4, "zh", "y")]
    assert variants(found) == (["1-zh", "1-en", "2-en", "2-zh"], [])


def test_numbers_count_each_kind_and_questions_without_a_pair_are_alone():
    found = [placed(1, "zh"), placed(2, "en"), placed(3, "en", "1", task="other_question")]
    assert variants(found) == (["1-zh", "2-en", "1-en"], [("one language missing", "row 3")])


def test_equal_questions_are_kept_once_or_not_at_all():
    found = [placed(1, "en", stem="Is it?", answer="Yes"), placed(2, "en", stem="is it", answer="yes.")]
    assert variants(found) == (["1-en"], [("same question twice", "row 2")])
    found = [*found, placed(3, "en", stem="Is it!", answer="no"), placed(4, "zh", stem="Is it?", answer="no")]
    assert variants(found) == (["1-zh"], [("two answers", f"row {n}") for n in (1, 2, 3)])


def test_the_order_pairs_where_both_languages_have_equally_many():
    found = [placed(n, "zh") for n in (1, 2)] + [placed(n, "en") for n in (3, 4)]
    assert variants(in_order(found)) == (["1-zh", "1-en", "2-zh", "2-en"], [])
    assert variants(in_order(found[:3])) == (["1-zh", "2-zh", "3-en"], [])
    assert variants(in_order([])) == ([], [])
