"""The strict ruler that travels with an export: it reads the requested form, and takes nothing else for an answer."""

from __future__ import annotations

import pytest

from lmod_train.data.formats.lmms_eval_task import (
    choice_results,
    doc_to_messages,
    doc_to_visual,
    listed_regions,
    named_choice,
    region_results,
    text_results,
)
from tests.tabled import tabled

GLAUCOMA = ["GLAUCOMA", "NON-GLAUCOMA"]
FOUR = ["cataract", "diabetic retinopathy", "glaucoma", "normal"]


@tabled(
    ("reply", "choices", "named"),
    [
        ("GLAUCOMA; Explanation: a normal eye would not", GLAUCOMA, "GLAUCOMA"),
        ("non-glaucoma", GLAUCOMA, "NON-GLAUCOMA"),
        ("Non Glaucoma.", GLAUCOMA, "NON-GLAUCOMA"),
        ("GLAUCOMA / NON-GLAUCOMA", GLAUCOMA, ""),
        ("There is no glaucoma", GLAUCOMA, ""),
        ("not a glaucoma", GLAUCOMA, ""),
        ("pseudoglaucoma", GLAUCOMA, ""),
        ("", GLAUCOMA, ""),
        ("DISEASE: <Diabetic_Retinopathy>; Explanations: no glaucoma", FOUR, "diabetic retinopathy"),
        ("DISEASE: glaucoma\nglaucoma", FOUR, "glaucoma"),
        ("cataract or glaucoma", FOUR, ""),
        ("诊断：青光眼；解释：正常", ["青光眼", "正常"], "青光眼"),
        ("非青光眼", ["青光眼", "正常"], ""),
        ("Stage 2", ["1", "2", "3"], "2"),
        ("Stage 12", ["1", "2", "3"], ""),
    ],
)
def test_exactly_one_choice_is_named_or_none(reply: str, choices: list[str], named: str):
    assert named_choice(reply, choices) == named


def test_an_unread_choice_is_wrong_and_counted():
    doc = {"choices": GLAUCOMA, "truth": "GLAUCOMA"}
    assert choice_results(doc, ["GLAUCOMA"]) == {"accuracy_strict": 1.0, "share_unparsed": 0.0}
    assert choice_results(doc, ["NON-GLAUCOMA"]) == {"accuracy_strict": 0.0, "share_unparsed": 0.0}
    assert choice_results(doc, ["perhaps"]) == {"accuracy_strict": 0.0, "share_unparsed": 1.0}


def test_regions_are_scored_by_the_f1_of_the_image():
    doc = {"answer": "Region ID: 1; Type: optic cup\nRegion ID: 2; Type: optic disc"}
    assert region_results(doc, ["Region ID: 1; Type: Optic Cup."])["f1_strict"] == pytest.approx(2 / 3)
    swapped = "Region ID: 1; Type: optic disc\nRegion ID: 2; Type: optic cup\nRegion ID: 9; Type: fovea"
    assert region_results(doc, [swapped])["f1_strict"] == 0.0
    assert region_results(doc, ["1 is the cup"]) == {"f1_strict": 0.0, "share_unparsed": 1.0}
    assert listed_regions("Region ID: 1; Type: a\nRegion ID: 1; Type: b") == {1: "a"}


def test_text_is_compared_without_case_and_marks():
    assert text_results({"answer": "The left eye."}, ["the LEFT eye"])["exact_match"] == 1.0
    assert text_results({"answer": "The left eye."}, ["the right eye"])["exact_match"] == 0.0
    assert text_results({"answer": "x"}, ["..."])["share_unparsed"] == 1.0


def test_without_images_the_words_remain():
    doc = {
        "id": "a",
        "messages": [{"role": "user", "content": [{"type": "image", "text": None}, {"type": "text", "text": "?"}]}],
    }
    assert doc_to_visual(doc) == []
    assert doc_to_messages(doc) == [{"role": "user", "content": [{"type": "text", "text": "?"}]}]
