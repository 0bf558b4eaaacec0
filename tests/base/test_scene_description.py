"""Descriptions of B-scans, eye photographs and scenes are true in both languages, and contain no diagnosis."""

from __future__ import annotations

import re

import pytest

from lmod_train.core.types import Box, Region
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.phantom.eye_photograph import draw_eye_photograph
from lmod_train.phantom.instruments import INSTRUMENTS
from lmod_train.phantom.oct import STAGES, draw_oct_eye, draw_scan
from lmod_train.phantom.surgery import draw_operation, draw_scene
from tests.opened_script import opened
from tests.tabled import tabled

_description = opened("description", "scripts/base")
Turn = _description.Turn
_scene_description = opened("scene_description", "scripts/base")
describe_photograph, describe_scan, describe_surgery = (
    _scene_description.describe_photograph,
    _scene_description.describe_scan,
    _scene_description.describe_surgery,
)

REGIONS = (Region("pupil", Box(40, 40, 60, 60), 1), Region("retina", Box(10, 10, 90, 90), 2))


def all_turns(language: str, regions: tuple[Region, ...] = ()) -> list[tuple[Turn, ...]]:
    turns = [describe_scan(draw_scan(s, draw_oct_eye(s, STAGES[s % 4], "left"), None if s % 5 == 4 else 0.1),
                          regions, language, 100) for s in range(20)]  # fmt: skip
    turns += [describe_photograph(draw_eye_photograph(s, view, cataract=s % 2 == 0), regions, language, 100)
             for s, view in enumerate(("left", "right", "both", "iris"))]  # fmt: skip
    kinds = [list(INSTRUMENTS[i : i + i % 4]) for i in range(10)]
    turns += [describe_surgery(draw_scene(s, draw_operation(s), k, lens=s % 2 == 0), regions, language, 100)
             for s, k in enumerate(kinds)]  # fmt: skip
    return turns


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_turn_has_all_answers_and_every_turn_a_question(language: str):
    for first, *findings in all_turns(language, REGIONS):
        assert first.answer == (" " if language == "en" else "").join(f.answer for f in findings)
        assert all(t.question.endswith("?" if language == "en" else "？") for t in findings)
        assert all(t.answer.endswith("." if language == "en" else "。") for t in findings)
        assert re.search("box 1|1号框", findings[-1].answer, re.I)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_answer_contains_a_condition_or_stage(language: str):
    words = {word.lower() for t in CONDITIONS for word in (t.name, *t.english, *t.chinese)} | {"stage", "macular hole"}
    for turns in all_turns(language):
        text = " ".join(t.question + " " + t.answer for t in turns).lower()
        found = [w for w in words if re.search(re.escape(w) if re.search("[\u4e00-\u9fff]", w) else rf"\b{w}\b", text)]
        assert found == []


@tabled(
    ("stage", "english", "chinese"),
    [
        ("1", "A narrow gap, closed above. ", "窄缺口，上方闭合。"),
        ("2", "A narrow gap, open above. ", "窄缺口，上方开放。"),
        ("3", "A medium gap, open above. ", "中等缺口，上方开放。"),
        ("4", "A wide gap, open above. ", "宽缺口，上方开放。"),
    ],
)
def test_a_gap_is_described_by_width_and_top(stage: str, english: str, chinese: str):
    for seed in range(8):
        scan = draw_scan(seed, draw_oct_eye(seed, stage, "right"), 0.0)
        assert describe_scan(scan)[0].answer.startswith(english)
        assert describe_scan(scan, language="zh")[0].answer.startswith(chinese)
        assert f"There are {len(scan.cysts)} dark ovals." in describe_scan(scan)[0].answer
        assert ("A thin line runs above." in describe_scan(scan)[0].answer) == (stage == "4")


def test_a_scan_beside_the_hole_has_no_gap():
    scan = draw_scan(3, draw_oct_eye(3, "4", "right"), None)
    assert describe_scan(scan)[1].answer == "No gap." and describe_scan(scan, language="zh")[1].answer == "没有缺口。"


def test_eyes_and_their_pupils_are_those_of_the_photograph():
    answers = {
        (view, ill): describe_photograph(draw_eye_photograph(5, view, cataract=ill))[0].answer  # type: ignore[arg-type]
        for view in ("left", "both")
        for ill in (True, False)
    }
    assert answers["left", True] == "A left eye. The pupil is grey." and answers["both", False].startswith("Both eyes.")
    assert answers["left", False].endswith("black.")


def test_every_instrument_is_named_with_the_side_it_comes_from():
    for seed, kind in enumerate(INSTRUMENTS):
        scene = draw_scene(seed, draw_operation(seed), [kind], lens=False)
        answer = describe_surgery(scene)[2].answer
        assert kind in answer.lower()
        corners = scene.instruments[0].shape.outline
        middle = sum(x for x, _ in scene.pupil) / len(scene.pupil)
        far = max(corners, key=lambda p: abs(p[0] - middle))
        if "left" in answer or "right" in answer:
            assert ("left" in answer) == (far[0] < middle)
    assert describe_surgery(draw_scene(1, draw_operation(1), [], lens=True))[2].answer == "No instrument."


def test_two_scenes_that_differ_only_in_the_kind_are_described_differently():
    answers = {describe_surgery(draw_scene(1, draw_operation(1), [k], lens=True), language="zh")[2].answer
            for k in INSTRUMENTS}  # fmt: skip
    assert len(answers) == len(INSTRUMENTS)
