"""Questions about phantoms: what is said is what is drawn, in both languages, and the words do not give it away."""

from collections import Counter
from functools import cache

import pytest

from lmod_train.extensions.ophthalwechat.phantom import CHINESE, findings_of, images
from lmod_train.phantom.eye import Eye
from lmod_train.phantom.oct import Scan


@cache
def every_image():
    return images(400, 5)


ENGLISH = {chinese: name for name, chinese in CHINESE.items()}


def facts(shown):
    """Return which findings are drawn, from the drawing itself."""
    drawn = shown.drawn
    if isinstance(drawn, Eye):
        kinds = {lesion.kind for lesion in drawn.lesions}
        return {
            "cataract": drawn.haze > 0.3, "glaucoma": drawn.cup_to_disc > 0.5, "diabetic retinopathy": bool(kinds),
            "increased cup-to-disc ratio": drawn.cup_to_disc > 0.5, "haemorrhages": "haemorrhage" in kinds,
            "hard exudates": "hard exudate" in kinds, "soft exudates": "cotton-wool spot" in kinds,
        }  # fmt: skip
    if isinstance(drawn, Scan):
        return {"macular hole": drawn.width > 0, "intraretinal cysts": len(drawn.cysts) > 0}
    return {"diabetic retinopathy": bool(drawn.eye.lesions), "macular hole": drawn.scan.width > 0}


def of(task):
    return [(shown, question) for shown in every_image() for question in shown.questions if question.task == task]


def test_statements_say_what_is_drawn_in_both_languages():
    answers = Counter()
    for shown, question in of("binary_question"):
        no = question.words["en"].startswith("No signs")
        finding = question.words["en"].removesuffix(" are visible").rpartition("igns of ")[2]
        assert question.words["zh"] == f"图中{'未见' if no else '可见'}{CHINESE[finding]}"
        assert question.answer == (
            {"zh": "对", "en": "True"} if facts(shown)[finding] != no else {"zh": "错", "en": "False"}
        )
        answers[question.answer["en"], no] += 1
        assert facts(shown) == findings_of(shown.drawn)
    assert sum(n for (answer, _), n in answers.items() if answer == "True") == 400 == answers.total() / 2
    assert min(answers.values()) > 100


def test_options_are_translations_in_one_order_and_the_right_one_is_drawn():
    places = Counter()
    for shown, question in of("single_choice_question"):
        there = [name for name, drawn in facts(shown).items() if drawn]
        english, chinese = question.options["en"], question.options["zh"]
        assert [e.partition(" ")[0] == "neither" for e in english] == [c.startswith("无") for c in chinese]
        right = english.index(question.answer["en"])
        assert chinese.index(question.answer["zh"]) == right
        places[right] += 1
        if isinstance(shown.drawn, Eye):
            assert [CHINESE[e] for e in english] == list(chinese)
            assert english[right] == shown.drawn.diagnosis and (english[right] in there or not there)
        else:
            named = {n for n in facts(shown) if n in english[right] and "neither" not in english[right]}
            assert named == set(there)
    assert len(places) == 4 and min(places.values()) > 60


@pytest.mark.parametrize("language", ["zh", "en"])
def test_open_answers_are_drawn(language):
    kinds = Counter()
    for shown, question in of("open_question"):
        answer, drawn = question.answer[language], shown.drawn
        if "side" in question.words["en"]:
            sides = {"zh": ("左侧", "右侧"), "en": ("left", "right")}[language]
            assert answer == sides[drawn.disc[0] > 0.5]
        elif isinstance(drawn, Eye):
            assert answer == {"zh": CHINESE[drawn.diagnosis], "en": drawn.diagnosis}[language]
        elif isinstance(drawn, Scan):
            none = {"zh": "无黄斑裂孔", "en": "no macular hole"}[language]
            stages = {"zh": "一二三四", "en": "1234"}[language]
            assert (answer == none) == (drawn.width == 0)
            assert answer == none or stages.index(answer.strip("stage 期")) + 1 == int(drawn.eye.stage)
        kinds[question.words[language]] += 1
    assert len(kinds) == 3 and min(kinds.values()) >= 90
