"""One question of a row: forms of answers and options in half and full width."""

import pytest

from lmod_train.core.option_letters import divided
from lmod_train.data.sources.row_ids import BadRow
from lmod_train.extensions.ophthalwechat.questions import Row, read_question
from lmod_train.extensions.ophthalwechat.words import words
from tests.tabled import stored, tabled

WORDS = words()
FOUR = ["视盘", "黄斑", "虹膜", "晶状体"]


def row(question, answer, kind, **more):
    return Row(2, {"question": question, "answer": answer, "type": kind, "image": 1, **more})


@tabled("true", ["对", "对。", " 正确", "True", "TRUE", True, "答案：对", "√", "Ｔｒｕｅ", "是"])
def test_a_true_statement(true):
    assert read_question(row("视盘苍白", true, "Binary_CN"), WORDS).answer == "对"


@tabled("false", ["错", "False", False, "不正确", "错误。", "F", "×", "Answer: false"])
def test_a_false_statement(false):
    asked = read_question(row("No pallor", false, "Binary_EN"), WORDS)
    assert (asked.answer, asked.choices, asked.place) == ("False", ("True", "False"), 1)


@tabled(
    "text",
    stored(__file__, "questions.options_in_every_form"),
)
def test_options_in_every_form(text):
    assert divided(text) == ("哪个？", tuple(FOUR), "")
    for answer in ("B", "Ｂ", "b", "B.", "(B)", "选B", "答案：B", "B：黄斑", "B. 黄斑", "黄斑", "黄斑。"):
        assert read_question(row(text, answer, "单选题", language="中文"), WORDS).answer == "黄斑", answer


def test_words_of_options_are_not_their_marks():
    text = "Which vitamin? A: vitamin A B: vitamin C C: OCT-A: none D: D-dimer"
    assert divided(text)[1] == ("vitamin A", "vitamin C", "OCT-A: none", "D-dimer")
    assert divided("No options: A. alone") == ("No options: A. alone", (), "")


def test_options_in_columns_of_their_own_follow_the_question():
    asked_in = {
        "中文": "哪个？ A：视盘 B：黄斑 C：虹膜 D：晶状体",
        "English": "哪个？ A: 视盘 B: 黄斑 C: 虹膜 D: 晶状体",
    }
    for language, whole in asked_in.items():
        given = row("哪个？", "C", "single", language=language, **dict(zip("ABCD", FOUR, strict=True)))
        asked = read_question(given, WORDS)
        assert (asked.words, asked.stem, asked.answer) == (whole, "哪个？", "虹膜")
    with pytest.raises(BadRow) as caught:
        read_question(row("哪个？", "C", "single_EN", A="a", B="b"), WORDS)
    assert caught.value.reason == "unreadable options"


def test_an_open_answer_is_taken_word_for_word():
    asked = read_question(row("诊断是什么？", "  Drusen；玻璃膜疣 ", "open ended", language="zh"), WORDS)
    assert (asked.task, asked.answer, asked.choices, asked.place) == ("open_question", "Drusen；玻璃膜疣", (), -1)
