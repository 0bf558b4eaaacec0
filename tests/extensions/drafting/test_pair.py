"""A question in two languages, and how its options are written."""

from __future__ import annotations

from lmod_train.extensions.drafting.captions import BilingualQuestion, Half, worded


def test_a_half_knows_its_right_option_and_a_pair_changes_both_halves():
    en, zh = Half("Which?", ("cup", "rim"), "rim"), Half("哪个？", ("视杯", "盘沿"), "盘沿")
    assert (en.right, Half("What?", (), "rim").right) == (1, -1)
    turned = BilingualQuestion("single_choice_question", en, zh).changed(
        lambda h: Half(h.question, h.options[::-1], h.answer)
    )
    assert [h.right for h in turned.halves.values()] == [0, 0]
    assert [worded(h, of) for of, h in turned.halves.items()] == ["Which? A: rim B: cup", "哪个？ A：盘沿 B：视杯"]
