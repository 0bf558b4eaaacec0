"""Other forms of a question's words."""

from lmod_train.tasks.forms import divided, text_of
from tests.tabled import tabled

OPTIONS = ("视盘", "黄斑", "视盘和黄斑", "均无")


@tabled("mark", ["：", ". ", "、", ") ", "） "])
def test_options_are_found_from_the_end_although_the_question_names_them(mark):
    listed = " ".join(f"{letter}{mark}{option}" for letter, option in zip("ABCD", OPTIONS, strict=True))
    assert divided(f"视盘还是黄斑异常？\n{listed}", OPTIONS) == ("视盘还是黄斑异常？", listed)


def test_words_without_the_options_have_no_list():
    assert divided("视盘还是黄斑？", OPTIONS) == ("视盘还是黄斑？", "")
    assert divided("no mark: 视盘 黄斑 视盘和黄斑 均无", OPTIONS)[1] == ""


def test_a_letter_stands_for_its_option():
    assert [text_of(letter, OPTIONS) for letter in ("A", "D", "E", "视盘", "")] == ["视盘", "均无", "E", "视盘", ""]
