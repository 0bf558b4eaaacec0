"""What is said of a phantom is true of it, in both languages, and gives away neither diagnosis nor structure."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lmod_train.phantom.description import describe
from lmod_train.phantom.eye import DIAGNOSES, Eye, Lesion, draw_eye
from lmod_train.types import Box, Region
from lmod_train.vocabulary.conditions import CONDITIONS
from lmod_train.vocabulary.structures import STRUCTURES

EYES = [draw_eye(seed, diagnosis) for seed in range(25) for diagnosis in DIAGNOSES]
EYE = draw_eye(0, "normal")
DISC, CUP = Box(10, 10, 50, 60), Box(20, 20, 40, 45)
NESTED = (Region("optic cup", CUP, 2), Region("optic disc", DISC, 1))


def whole(eye: Eye, language: str, regions: tuple[Region, ...] = ()) -> str:
    return describe(eye, regions, language)[0].answer


def spots(dark: int, bright: int) -> Eye:
    kinds = ["haemorrhage", "microaneurysm"], ["hard exudate", "cotton-wool spot"]
    drawn = [(kinds[0][i % 2]) for i in range(dark)] + [kinds[1][i % 2] for i in range(bright)]
    return replace(EYE, lesions=tuple(Lesion(kind, 0.5, 0.5, 0.01) for kind in drawn))  # type: ignore[arg-type]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_turn_says_everything_and_every_turn_asks(language: str):
    for eye in EYES[:8]:
        first, *findings = describe(eye, NESTED, language)
        assert len(findings) == 5
        assert first.answer == (" " if language == "en" else "").join(f.answer for f in findings)
        assert all(t.question.endswith("?" if language == "en" else "？") for t in findings)
        assert all(t.answer.endswith("." if language == "en" else "。") for t in findings)
        assert len({t.question for t in (first, *findings)}) == 6


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_boxes_nothing_is_said_of_boxes(language: str):
    turns = describe(EYE, (), language)
    assert len(turns) == 5
    assert not re.search("box|框", " ".join(t.question + t.answer for t in turns), re.I)


def test_side_and_ratio_are_those_of_the_eye_in_both_languages():
    assert {eye.laterality for eye in EYES} == {"left", "right"}
    for eye in EYES:
        english, chinese = whole(eye, "en"), whole(eye, "zh")
        assert f"A {eye.laterality} eye." in english
        assert ({"left": "左眼", "right": "右眼"}[eye.laterality] in chinese) and len(
            re.findall("[左右]眼", chinese)
        ) == 1
        for said in (english, chinese):
            assert [abs(float(r) - eye.cup_to_disc) <= 0.05 + 1e-9 for r in re.findall(r"\d\.\d", said)] == [True]


@pytest.mark.parametrize(
    ("ratio", "english", "chinese"),
    [(0.2, "small", "小"), (0.39, "small", "小"), (0.4, "medium", "中等"), (0.54, "medium", "中等"),
     (0.55, "large", "大"), (0.85, "large", "大")],
)  # fmt: skip
def test_a_cup_is_called_by_its_ratio(ratio: float, english: str, chinese: str):
    eye = replace(EYE, cup_to_disc=ratio)
    assert f"The cup is {english}, ratio {ratio:.1f}." in whole(eye, "en")
    assert f"视杯{chinese}，杯盘比{ratio:.1f}。" in whole(eye, "zh")


@pytest.mark.parametrize(
    ("dark", "bright", "english", "chinese"),
    [
        (0, 0, "no dark spots and no bright spots", "没有暗斑，没有亮斑"),
        (1, 0, "few dark spots and no bright spots", "少量暗斑，没有亮斑"),
        (0, 4, "no dark spots and few bright spots", "没有暗斑，少量亮斑"),
        (5, 4, "many dark spots and few bright spots", "大量暗斑，少量亮斑"),
        (2, 9, "few dark spots and many bright spots", "少量暗斑，大量亮斑"),
    ],
)
def test_spots_are_counted_by_their_brightness(dark: int, bright: int, english: str, chinese: str):
    assert f"There are {english}." in whole(spots(dark, bright), "en")
    assert f"{chinese}。" in whole(spots(dark, bright), "zh")


@pytest.mark.parametrize(
    ("haze", "english", "chinese"),
    [(0.0, "clear", "清晰"), (0.14, "clear", "清晰"), (0.15, "hazy", "模糊"), (0.59, "hazy", "模糊"),
     (0.6, "very hazy", "非常模糊"), (1.0, "very hazy", "非常模糊")],
)  # fmt: skip
def test_clarity_is_that_of_the_lens(haze: float, english: str, chinese: str):
    assert f"The picture is {english}." in whole(replace(EYE, haze=haze), "en")
    assert f"图片{chinese}。" in whole(replace(EYE, haze=haze), "zh")


@pytest.mark.parametrize(
    ("regions", "english", "chinese"),
    [
        (NESTED, "Box 1 is around box 2. Box 2 is inside box 1.", "1号框包含2号框。2号框在1号框内。"),
        ((NESTED[1],), "Box 1 is alone.", "1号框单独。"),
        (
            (Region("a", Box(0, 0, 9, 9), 1), Region("b", Box(5, 5, 20, 20), 2)),
            "Box 1 is alone. Box 2 is alone.",
            "1号框单独。2号框单独。",
        ),
    ],
)
def test_boxes_are_told_by_how_they_lie(regions: tuple[Region, ...], english: str, chinese: str):
    assert describe(EYE, regions, "en")[-1].answer == english
    assert describe(EYE, regions, "zh")[-1].answer == chinese


def test_the_order_of_the_boxes_changes_nothing():
    assert describe(EYE, NESTED) == describe(EYE, NESTED[::-1])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_diagnosis_is_never_said(language: str):
    """Whatever the vocabulary calls a condition; only the ratio and the haze of the picture may tell of it."""
    words = {word.lower() for t in CONDITIONS for word in (t.name, *t.english, *t.chinese)}
    assert {"glaucoma", "青光眼", "cataract", "normal"} <= words
    for eye in EYES:
        for turn in describe(eye, NESTED, language):
            assert [w for w in words if spoken(w, turn.question + " " + turn.answer)] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_a_box_surrounds_is_never_said(language: str):
    words = {word.lower() for t in STRUCTURES for word in (t.name, *t.english, *t.chinese)}
    assert {"optic disc", "cup", "视盘", "视杯"} <= words
    for eye in EYES[:8]:
        boxes = describe(eye, NESTED, language)[-1]
        assert [w for w in words if spoken(w, boxes.question + " " + boxes.answer)] == []


def spoken(word: str, text: str) -> bool:
    """Whether a word is in a text: whole in English, anywhere in Chinese, which writes no spaces."""
    pattern = re.escape(word) if re.search("[\u4e00-\u9fff]", word) else rf"\b{re.escape(word)}\b"
    return re.search(pattern, text.lower()) is not None


def test_the_search_for_words_can_find():
    assert spoken("cup", "The cup is large.") and not spoken("cup", "Cupboard.") and spoken("视杯", "大视杯，")


def test_the_same_eye_with_another_diagnosis_written_on_it_is_described_alike():
    for eye in EYES[:8]:
        assert describe(eye) == describe(replace(eye, diagnosis="something else"))
