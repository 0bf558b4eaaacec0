"""Descriptions of phantoms are true in both languages, and contain neither diagnosis nor structure."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Box, Region
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.phantom.eye import DIAGNOSES, Eye, Lesion, draw_eye
from lmod_train.phantom.lesions import SIGNS
from tests.opened_script import opened
from tests.tabled import tabled

_description = opened("description", "scripts/base")
LOOKS, ask_of_sign, describe = _description.LOOKS, _description.ask_of_sign, _description.describe


@cache
def eyes():
    return [draw_eye(seed, diagnosis) for seed in range(25) for diagnosis in DIAGNOSES]


EYE = draw_eye(0, "normal")
DISC, CUP = Box(10, 10, 50, 60), Box(20, 20, 40, 45)
NESTED = (Region("optic cup", CUP, 2), Region("optic disc", DISC, 1))


def whole(eye: Eye, language: str, regions: tuple[Region, ...] = ()) -> str:
    return describe(eye, regions, language, side=100)[0].answer


def spots(dots: int, above: int, below: int, yellow: int, woolly: int, radius: float = 0.01) -> Eye:
    y = EYE.fovea[1]
    drawn = [Lesion("microaneurysm", 0.5, 0.5, 0.01)] * dots
    drawn += [Lesion("haemorrhage", 0.5, y - 0.1, radius)] * above + [Lesion("haemorrhage", 0.5, y + 0.1, 0.01)] * below
    drawn += [Lesion("hard exudate", 0.5, 0.5, 0.01)] * yellow + [Lesion("cotton-wool spot", 0.5, 0.5, 0.01)] * woolly
    return replace(EYE, lesions=tuple(drawn))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_turn_has_all_answers_and_every_turn_a_question(language: str):
    for eye in eyes()[:8]:
        first, *findings = describe(eye, NESTED, language, ["nevus"])
        assert len(findings) == 7
        assert first.answer == (" " if language == "en" else "").join(f.answer for f in findings)
        assert all(t.question.endswith("?" if language == "en" else "？") for t in findings)
        assert all(t.answer.endswith("." if language == "en" else "。") for t in findings)
        assert len({t.question for t in (first, *findings)}) == 8


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_boxes_there_is_no_turn_about_boxes(language: str):
    turns = describe(EYE, (), language)
    assert len(turns) == 7
    assert not re.search("box|框", " ".join(t.question + t.answer for t in turns), re.I)


def test_side_and_ratio_are_those_of_the_eye_in_both_languages():
    assert {eye.laterality for eye in eyes()} == {"left", "right"}
    for eye in eyes():
        english, chinese = whole(eye, "en"), whole(eye, "zh")
        assert f"A {eye.laterality} eye." in english
        assert ({"left": "左眼", "right": "右眼"}[eye.laterality] in chinese) and len(
            re.findall("[左右]眼", chinese)
        ) == 1
        for answer in (english, chinese):
            assert [abs(float(r) - eye.cup_to_disc) <= 0.05 + 1e-9 for r in re.findall(r"\d\.\d", answer)] == [True]


@tabled(
    ("ratio", "english", "chinese"),
    [(0.2, "small", "小"), (0.39, "small", "小"), (0.4, "medium", "中等"), (0.54, "medium", "中等"),
     (0.55, "large", "大"), (0.85, "large", "大")],
)  # fmt: skip
def test_the_word_for_the_cup_follows_its_ratio(ratio: float, english: str, chinese: str):
    eye = replace(EYE, cup_to_disc=ratio)
    assert f"The cup is {english}, ratio {ratio:.1f}." in whole(eye, "en")
    assert f"视杯{chinese}，杯盘比{ratio:.1f}。" in whole(eye, "zh")


@tabled(
    ("eye", "english", "chinese"),
    [
        (spots(0, 0, 0, 0, 0), "no red dots, no blots above and no below, no yellow and no woolly spots",
         "红点无，上方暗斑无，下方暗斑无，黄斑点无，絮状斑无"),
        (spots(1, 3, 4, 0, 5), "few red dots, few blots above and many below, no yellow and many woolly spots",
         "红点少，上方暗斑少，下方暗斑多，黄斑点无，絮状斑多"),
        (spots(9, 4, 0, 2, 0), "many red dots, many blots above and no below, few yellow and no woolly spots",
         "红点多，上方暗斑多，下方暗斑无，黄斑点少，絮状斑无"),
        (spots(0, 1, 0, 0, 0, 0.07), "few blots above and no below, one of them huge", "下方暗斑无，其中一个巨大"),
    ],
)  # fmt: skip
def test_spots_are_counted_by_kind_and_half(eye: Eye, english: str, chinese: str):
    assert english in whole(eye, "en") and chinese in whole(eye, "zh")


def test_every_sign_but_the_cup_is_described_by_its_appearance_only():
    assert set(LOOKS) == set(SIGNS) - {"increased cup-to-disc ratio"}
    for name, (english, chinese) in LOOKS.items():
        assert f"Also {english}." in describe(EYE, signs=[name])[0].answer
        assert f"还有{chinese}。" in describe(EYE, signs=[name], language="zh")[0].answer
        assert ask_of_sign(name, [name]).answer == "Yes." and ask_of_sign(name, []).answer == "No."
        assert ask_of_sign(name, [name], "zh").answer == "有。" and english in ask_of_sign(name, []).question
    assert "Nothing else." in describe(EYE)[0].answer and "别无其他。" in describe(EYE, language="zh")[0].answer


def test_a_sign_without_a_description_is_refused():
    with pytest.raises(BadArgument, match="one of nevus"):
        ask_of_sign("glaucoma", [])


def test_disc_and_light_are_those_of_the_eye():
    narrow = replace(EYE, disc_radii=(0.07, 0.07), camera=replace(EYE.camera, tint=(1, 1, 0.5)))
    assert "The disc is narrow, the light yellow." in whole(narrow, "en") and "盘窄，色调偏黄。" in whole(narrow, "zh")
    wide = replace(EYE, disc_radii=(0.09, 0.09), camera=replace(EYE.camera, tint=(1, 1, 1.1)))
    assert "The disc is wide, the light bluish." in whole(wide, "en") and "盘宽，色调偏蓝。" in whole(wide, "zh")


def test_a_laser_scan_is_described_without_colour_spots_and_haze():
    assert [t.question for t in describe(EYE, laser=True)[1:]] == ["Which eye is it?", "How large is the cup?"]


@tabled(
    ("haze", "english", "chinese"),
    [(0.0, "clear", "清晰"), (0.14, "clear", "清晰"), (0.15, "hazy", "模糊"), (0.59, "hazy", "模糊"),
     (0.6, "very hazy", "非常模糊"), (1.0, "very hazy", "非常模糊")],
)  # fmt: skip
def test_clarity_is_that_of_the_lens(haze: float, english: str, chinese: str):
    assert f"The picture is {english}." in whole(replace(EYE, haze=haze), "en")
    assert f"图片{chinese}。" in whole(replace(EYE, haze=haze), "zh")


@tabled(
    ("regions", "english", "chinese"),
    [
        (NESTED, "Box 1: large, upper left, around 2. Box 2: medium, upper left, inside 1.",
         "1号框大，左上，包含2号框。2号框中等，左上，在1号框内。"),
        ((NESTED[1],), "Box 1: large, upper left, alone.", "1号框大，左上，单独。"),
        (
            (Region("a", Box(0, 0, 9, 9), 1), Region("b", Box(5, 5, 95, 97), 2), Region("c", Box(80, 80, 90, 90), 3)),
            "Box 1: small, upper left, alone. Box 2: large, middle, around 3. Box 3: small, lower right, inside 2.",
            "1号框小，左上，单独。2号框大，中间，包含3号框。3号框小，右下，在2号框内。",
        ),
    ],
)  # fmt: skip
def test_boxes_are_described_by_size_position_and_relation(regions: tuple[Region, ...], english: str, chinese: str):
    assert describe(EYE, regions, "en", side=100)[-1].answer == english
    assert describe(EYE, regions, "zh", side=100)[-1].answer == chinese


def test_the_order_of_the_boxes_changes_nothing():
    assert describe(EYE, NESTED) == describe(EYE, NESTED[::-1])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_answer_contains_a_diagnosis(language: str):
    """No word of the vocabulary for a condition occurs in the descriptions."""
    words = {word.lower() for t in CONDITIONS for word in (t.name, *t.english, *t.chinese)}
    assert {"glaucoma", "青光眼", "cataract", "normal"} <= words
    said = {f"{turn.question} {turn.answer}" for eye in eyes() for turn in describe(eye, NESTED, language, LOOKS)}
    assert len(said) > len(eyes()) / 2
    assert [(w, text) for text in said for w in words if spoken(w, text)] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_answer_contains_the_structure_in_a_box(language: str):
    words = {word.lower() for t in STRUCTURES for word in (t.name, *t.english, *t.chinese)}
    assert {"optic disc", "cup", "视盘", "视杯"} <= words
    for eye in eyes()[:8]:
        boxes = describe(eye, NESTED, language)[-1]
        assert [w for w in words if spoken(w, boxes.question + " " + boxes.answer)] == []


def spoken(word: str, text: str) -> bool:
    """Whether a word is in a text: whole in English, anywhere in Chinese, which writes no spaces."""
    pattern = re.escape(word) if re.search("[\u4e00-\u9fff]", word) else rf"\b{re.escape(word)}\b"
    return re.search(pattern, text.lower()) is not None


def test_the_search_for_words_finds_them():
    assert spoken("cup", "The cup is large.") and not spoken("cup", "Cupboard.") and spoken("视杯", "大视杯，")


def test_the_description_does_not_depend_on_the_diagnosis_field():
    for eye in eyes()[:8]:
        assert describe(eye) == describe(replace(eye, diagnosis="something else"))
