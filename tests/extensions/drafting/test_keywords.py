"""The keyword filter: the paper's phrases, whole words in English, anywhere in Chinese, in both halves."""

from __future__ import annotations

from lmod_train.extensions.drafting.caption_steps import filtered, keywords_in, paper_keywords
from tests.extensions.drafting.example import open_question, single_choice, statement
from tests.tabled import tabled


def test_the_paper_has_65_chinese_and_55_english_phrases_and_each_is_found_in_itself():
    found = paper_keywords()
    chinese = [k for k in found if not k.isascii()]
    assert (len(chinese), len(found) - len(chinese), len({*found})) == (65, 55, 120)
    assert all(keyword in keywords_in(f"x {keyword.upper()}, y", found) for keyword in found)


@tabled(
    ("text", "expected"),
    [
        ("Is the Gender shown?", ["gender"]),
        ("engendered by", []),  # a whole word only
        ("患者gender为", ["gender"]),  # no blank stands beside Chinese characters
        ("complaints", []),
        ("anti‑VEGF  treatment", ["anti-VEGF treatment"]),  # another dash, two blanks
        ("ＧＥＮＤＥＲ", ["gender"]),
        ("是否接受过抗VEGF治疗", ["是否接受过抗 VEGF 治疗"]),
        ("未见年龄相关改变", ["年龄"]),
        ("is畏光and是否畏光", ["畏光", "是否畏光"]),
        ("A child and adult", []),
    ],
)
def test_keywords_are_found_in_any_width_and_case(text: str, expected: list[str]):
    assert keywords_in(text, paper_keywords()) == expected


def test_a_question_goes_when_either_language_has_a_keyword_anywhere_and_each_is_counted():
    items = [
        statement(1, "The patient's gender is male", "患者为男性"),  # two keywords: counts twice, goes once
        statement(2, zh="儿童视盘苍白"),
        open_question(1, en="a child", zh="儿童"),
        single_choice(1, en=("drusen", "gender", "tear", "hole")),
        statement(3),
    ]
    left, counts = filtered(items, paper_keywords())
    assert [one.id for one in left] == [item.id for item in items[:4]]
    assert counts == {"gender": 2, "儿童": 2, "男性": 1}
    assert left[0].detail == "gender, 男性"
    assert filtered(items, ()) == ([], {})
    assert [one.detail for one in filtered(items, ("pale",))[0]] == ["pale", "pale"]
