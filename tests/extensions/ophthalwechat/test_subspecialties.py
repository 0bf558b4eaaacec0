"""Nine subspecialties; no synonym stands for two of them."""

from lmod_train.extensions.ophthalwechat.words import SUBSPECIALTIES


def test_nine_with_names_in_both_languages():
    assert len(SUBSPECIALTIES) == 9 and all(term.chinese for term in SUBSPECIALTIES)
    words = [w.casefold() for term in SUBSPECIALTIES for w in {term.name, *term.english, *term.chinese}]
    assert len(words) == len(set(words))
    assert round(sum(float(term.reference) for term in SUBSPECIALTIES), 1) == 100.0
