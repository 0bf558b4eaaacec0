"""Reading of the questions that a model wrote in two languages: what is a pair, and why the rest is none."""

from __future__ import annotations

import random

from lmod_train.extensions.drafting.captions import (
    BINARY,
    KINDS,
    OPEN,
    SINGLE_CHOICE,
    Unread,
    read_pairs,
    read_statement,
    worded,
)
from tests.tabled import tabled

EN, ZH = "Question: The optic disc is pale, Answer: True.", "问：视盘苍白，答：对。"
OTHER = "Question: The macula is flat, Answer: False.", "问：黄斑平坦，答：错。"
CHOICE = (
    "Question: Which finding is seen? Choice: A: macular hole B: drusen C: retinal detachment D: vitreous hemorrhage, "
    "Answer: B.\n问：可见哪种表现？A：黄斑裂孔 B：玻璃膜疣 C：视网膜脱离 D：玻璃体积血，答：B。"
)


def pairs(reply: str, kind: str = BINARY) -> list[tuple[str, str, str, str]]:
    return [(p.en.question, p.en.answer, p.zh.question, p.zh.answer) for p in read_pairs(reply, kind).pairs]


def reasons(reply: str, kind: str = BINARY) -> list[str]:
    return [one.reason for one in read_pairs(reply, kind).unread]


PALE = ("The optic disc is pale", "True", "视盘苍白", "对")
FLAT = ("The macula is flat", "False", "黄斑平坦", "错")


@tabled(
    "reply",
    [
        f"{EN} {ZH}",
        f"{EN}\n{ZH}",
        f"{EN}\n\n{ZH}\n",
        f"{ZH}\n{EN}",
        "Question: The optic disc is pale, Answer: True. 问：视盘苍白：答：对。",  # the colon of the template
        "Question：The optic disc is pale，Answer：True。问:视盘苍白,答:对.",  # widths exchanged
        "**Question:** The optic disc is pale\n**Answer:** True\n\n**问：** 视盘苍白\n**答：** 对",
        "1. Question: The optic disc is pale\nAnswer: TRUE\n1. 问题：视盘苍白\n答案：正确",
        "### Image 1\nQ1: The optic disc is pale, A1: True.\n问1：视盘苍白，答1：对。",
        "Here they are:\n- Question: The optic disc is pale; Answer: True (pale).\n- 问：视盘苍白；答：对（苍白）。",
        "Question (English): The optic disc is pale\nAnswer: True\nQuestion (Chinese): 视盘苍白\nAnswer: 对",
        f"<think>Question: a, Answer: False.</think>{EN}{ZH}",
        f"{EN}\r\n{ZH}\r\n\r\n2.",
    ],
)
def test_a_statement_is_read_in_any_layout(reply: str):
    assert pairs(reply) == [PALE]
    assert reasons(reply) == []


@tabled(
    "reply",
    [
        f"1. {EN} {ZH} 2. {OTHER[0]} {OTHER[1]}",
        f"1) {EN}\n{ZH}\n\n2) {OTHER[0]}\n{OTHER[1]}",
        f"English:\n1. {EN}\n2. {OTHER[0]}\n中文：\n1. {ZH}\n2. {OTHER[1]}",
        f"English:\n1. {EN}\n2. {OTHER[0]}\n中文：\n2. {OTHER[1]}\n1. {ZH}",
        f"Image 1:\n{EN}\n{ZH}\n\nImage 2:\n{OTHER[0]}\n{OTHER[1]}",
    ],
)
def test_several_statements_are_joined_with_their_own_translations(reply: str):
    assert pairs(reply) == [PALE, FLAT]
    assert reasons(reply) == []


@tabled(
    ("reply", "kept", "expected"),
    [
        (EN, [], ["no_translation"]),
        (f"{EN} {OTHER[0]} {OTHER[1]}", [FLAT], ["no_translation"]),
        (f"{EN} {ZH} {OTHER[1]}", [PALE], ["no_translation"]),
        (f"{ZH} {OTHER[0]} {OTHER[1]}", [FLAT], ["no_translation"]),
        (f"{EN} {OTHER[0]} {ZH} {OTHER[1]}", [], ["unclear_order"] * 4),
        (f"1. {EN}\n2. {OTHER[0]}\n1. {ZH}\n3. {OTHER[1]}", [PALE], ["no_translation"] * 2),
        (f"1. {EN}\n2. {OTHER[0]}\n1. {ZH}\n1. {OTHER[1]}", [], ["unclear_order"] * 4),
        (f"1. {EN}\n1. {OTHER[0]}\n1. {ZH}\n2. {OTHER[1]}", [], ["unclear_order"] * 4),
        (f"1. {EN}\n2. {ZH}", [], ["no_translation"] * 2),
        ("Question: The disc is pale. 问：视盘苍白，答：对。", [], ["no_answer", "no_translation"]),
        (f"Answer: True. {EN} {ZH}", [PALE], ["no_question"]),
        (EN.replace("True", "True/False") + ZH, [], ["unclear_answer", "no_translation"]),
        (EN.replace("True", "maybe") + ZH.replace("对", "对或错"), [], ["unclear_answer"] * 2),
        (
            "Question: Generated English question, Answer: True/False. 问：生成的中文问题：答：对/错。",
            [],
            ["template"] * 2,
        ),
        ("I cannot write questions from this text.", [], ["no_pair"]),
        ("", [], ["empty"]),
        ("...", [], ["empty"]),
        ("pale " * 9000, [], ["repetition"]),
        (f"{EN}{ZH}" + "苍白，" * 40, [], ["repetition"]),
    ],
)
def test_what_is_no_pair_has_a_reason_and_costs_no_other(reply: str, kept: list[object], expected: list[str]):
    assert pairs(reply) == kept
    assert reasons(reply) == expected


def test_options_are_read_with_their_letters_and_written_as_the_paper_does():
    (pair,) = read_pairs(CHOICE, SINGLE_CHOICE).pairs
    assert (pair.en.question, pair.en.answer, pair.zh.answer) == ("Which finding is seen?", "drusen", "玻璃膜疣")
    assert (pair.en.right, pair.zh.right) == (1, 1)
    again = f"Question: {worded(pair.en, 'en')}, Answer: B. 问：{worded(pair.zh, 'zh')}，答：B。"
    assert read_pairs(again, SINGLE_CHOICE).pairs == (pair,)


@tabled(
    ("old", "new", "expected"),
    [
        ("A: macular hole B: drusen", "(A) macular hole\n(B) drusen", []),
        ("A: macular hole B: drusen C: retinal detachment D: vitreous hemorrhage",
         "\nA. macular hole\nB. drusen\nC. retinal detachment\nD. vitreous hemorrhage\n", []),
        ("Answer: B.", "Answer: B: drusen.", []),
        ("Answer: B.", "Answer: drusen", []),
        ("Ａ：", "A：", []),
        ("答：B。", "答案：Ｂ", []),
        ("Answer: B.", "Answer: B. drusen 2.", []),
        (" D: vitreous hemorrhage", "", ["options", "no_translation"]),
        ("C: retinal", "D: retinal", ["options", "no_translation"]),
        ("B: drusen", "B: Macular hole", ["equal_options", "no_translation"]),
        ("B：玻璃膜疣", "B：", ["options", "no_translation"]),
        ("Answer: B.", "Answer: E.", ["unclear_answer", "no_translation"]),
        ("Answer: B.", "Answer: A or B.", ["unclear_answer", "no_translation"]),
        ("Answer: B.", "Answer: B. macular hole", ["unclear_answer", "no_translation"]),
    ],
)  # fmt: skip
def test_options_that_are_not_four_and_letters_that_are_none_are_named(old: str, new: str, expected: list[str]):
    assert reasons(CHOICE.replace(old, new), SINGLE_CHOICE) == expected


def test_open_answers_keep_their_words_and_lose_numbering_and_headings():
    reply = (
        "1. Q: What is seen at the macula?, A: A full-thickness hole, grade 3.\n"
        "问: 黄斑处可见什么?, 答: 全层裂孔，3级。\n\n"
        "**Image 2**\nQ: Which vessel is dilated?, A: The superior\ntemporal vein. 问：哪条血管扩张？答：颞上静脉。3."
    )
    assert pairs(reply, OPEN) == [
        ("What is seen at the macula?", "A full-thickness hole, grade 3", "黄斑处可见什么?", "全层裂孔，3级"),
        ("Which vessel is dilated?", "The superior temporal vein", "哪条血管扩张？", "颞上静脉"),
    ]
    assert reasons(reply, OPEN) == []


def test_a_letter_within_a_sentence_is_no_mark():
    reply = "Q: Is vitamin A: low or high?, A: low. 问：维生素 A: 低或高？答：低。"
    assert pairs(reply, OPEN) == [("Is vitamin A: low or high?", "low", "维生素 A: 低或高？", "低")]


def test_an_altered_statement_is_read_in_both_languages():
    assert read_statement("<think>x</think>Question: It is pink.\n问：呈粉红色。") == ("It is pink.", "呈粉红色。")
    for reply in ("It is pink.", "Question: It is pink.", "问：呈粉红色。问：苍白", "", "Question: a. 问：呈. 问：红"):
        assert isinstance(read_statement(reply), Unread)


def test_mutated_replies_never_raise_and_what_is_read_is_complete():
    seeds = [f"{EN} {ZH}\n2. {OTHER[0]}\n{OTHER[1]}", CHOICE, "Q: Which?, A: left.\n问: 哪只?, 答: 左。"]
    random_ = random.Random(0)
    signs = [
        "Question:",
        "Answer:",
        "问：",
        "答：",
        "A:",
        "\n",
        "：",
        "Ａ",
        "2.",
        "(",
        "True",
        "对",
        "<|im_end|>",
        "\x00",
        "*",
    ]
    for _ in range(2000):
        text = random_.choice(seeds)
        for _ in range(random_.randint(1, 6)):
            at, end = sorted(random_.choices(range(len(text) + 1), k=2))
            text = text[:at] + random_.choice([*signs, text[at : at + 12]]) + text[min(end, at + 8) :]
        kind = random_.choice(KINDS)
        for pair in read_pairs(text, kind).pairs:
            assert all(half.question and half.answer for half in pair.halves.values())
            assert kind == OPEN or min(pair.en.right, pair.zh.right) >= 0
        read_statement(text)
