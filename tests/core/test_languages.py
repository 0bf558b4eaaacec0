"""The script of a text, and replies in another language than asked."""

import pytest

from lmod_train.core.languages import in_other_language, other_script, scripts, written_in


def test_letters_are_counted_by_script():
    assert scripts("OCT 显示 4 mm, ひ") == {"LATIN": 5, "CJK": 2, "HIRAGANA": 1}
    assert not scripts("4 / 7 。")


@pytest.mark.parametrize(
    ("reply", "language", "other"),
    [
        ("对", "zh", False), ("对", "en", True), ("True", "en", False), ("True", "zh", True), ("B", "zh", False),
        ("Ｂ", "zh", False), ("", "zh", False), ("12", "en", False), ("黄斑裂孔", "en", True),
        ("OCT", "zh", False), ("OCT显示黄斑裂孔", "zh", False), ("Optical coherence tomography (OCT)", "zh", True),
        ("A macular hole (黄斑裂孔).", "en", False), ("A macular hole", "zh", True), ("macular hole", "en", False),
        ("Это верно", "en", True), ("Das ist wahr", "en", False),
    ],
)  # fmt: skip
def test_replies_in_another_language(reply, language, other):
    assert in_other_language(reply, language) is other


def test_questions_may_list_choices_in_english():
    assert written_in("这张眼底照片是否显示青光眼？GLAUCOMA", "zh") and not written_in("Is this eye affected?", "zh")
    assert written_in("Is it?", "de") and not written_in("ひらがな", "zh")
    assert other_script("患者有青光眼", "Is it glaucoma?") and not other_script("患者", "Is it glaucoma?")
