"""Both halves of a question say the same, as far as answers, numbers and sides show it."""

from __future__ import annotations

from dataclasses import replace

from lmod_train.extensions.drafting.caption_steps import differences
from tests.extensions.drafting.example import open_question, single_choice, statement
from tests.tabled import tabled


@tabled(
    ("en", "zh", "expected"),
    [
        ("The disc is pale", "视盘苍白", []),
        ("2 drusen at 0.5 mm", "2个玻璃膜疣，距离０.５毫米", []),
        ("two drusen", "2个玻璃膜疣", []),  # a number in words is not compared
        ("3 drusen", "2个玻璃膜疣", ["number: 3 and 2"]),
        ("The left disc", "右眼视盘", ["side: left and right"]),
        ("The left disc", "左眼视盘", []),
        ("Both eyes", "双眼", []),
        ("OD is pale", "右眼苍白", []),
        ("bright lesion", "左侧病灶", []),  # no side in English: not compared
    ],
)
def test_numbers_and_sides_are_compared_where_both_name_some(en: str, zh: str, expected: list[str]):
    assert differences(statement(1, en, zh).pair) == expected


def test_answers_and_options_are_compared_in_their_places():
    pair = statement().pair
    assert differences(replace(pair, zh=statement(true=False).pair.zh)) == ["answer: True and 错"]
    one = single_choice(en=("1 hole", "2 holes", "3 holes", "none"), zh=("1个裂孔", "3个裂孔", "2个裂孔", "无")).pair
    assert differences(one) == ["number: 2 and 3", "number: 3 and 2"]
    assert differences(open_question(en="the left eye", zh="右眼").pair) == ["side: left and right"]
