"""Descriptions of boxes distinguish all structures and name none."""

from __future__ import annotations

import re

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.phantom.instruments import INSTRUMENTS
from lmod_train.phantom.oct import STRUCTURES as LAYERS
from lmod_train.tasks.anatomy import OPTIONS
from tests.opened_script import opened
from tests.tabled import tabled

_box_description = opened("box_description", "scripts/base")
FORMS, HELD, ask_of_box, ask_what_boxes_hold = (
    _box_description.FORMS,
    _box_description.HELD,
    _box_description.ask_of_box,
    _box_description.ask_what_boxes_hold,
)


@pytest.mark.parametrize("place", [0, 1], ids=["en", "zh"])
def test_looks_differ_and_contain_no_name_of_a_structure_or_condition(place: int):
    names = {w.lower() for t in (*STRUCTURES, *CONDITIONS) for w in (t.name, *t.english, *t.chinese)}
    names |= {word.lower() for words in OPTIONS.values() for word in words}
    looks = [words[place] for words in HELD.values()]
    assert len(set(looks)) == len(looks)
    chinese = {n for n in names if re.search("[\u4e00-\u9fff]", n)}
    for look in looks:
        assert not {n for n in chinese if n in look}
        assert not {n for n in names - chinese if re.search(rf"\b{re.escape(n)}\b", look)}


def test_every_structure_with_a_box_has_a_description():
    assert {*INSTRUMENTS, *LAYERS[1:], "optic disc", "optic cup", "cornea", "pupil", "lens", "iris"} <= HELD.keys()


def test_boxes_come_in_the_order_of_their_numbers():
    turn = ask_what_boxes_hold({3: "lens", 1: "gauge", 2: "pupil"})
    assert re.findall(r"Box (\d): ([^.]+)\.", turn.answer) == [
        (str(n), HELD[name][0]) for n, name in enumerate(("gauge", "pupil", "lens"), 1)
    ]
    assert ask_what_boxes_hold({}, "zh").answer == ""


@tabled(("language", "form"), [(lang, n) for lang, forms in FORMS.items() for n in range(len(forms))])
def test_every_form_names_each_number_once_and_its_look_after_it(language: str, form: int):
    held = {2: "gauge", 5: "pupil", 1: "lens"}
    answer = ask_what_boxes_hold(held, language, form).answer
    order = [(answer.index(str(n)), answer.index(HELD[held[n]][language != "en"])) for n in sorted(held)]
    assert [place for pair in order for place in pair] == sorted(place for pair in order for place in pair)
    assert re.findall(r"\d", answer) == ["1", "2", "5"]


def test_questions_differ_and_none_is_a_prompt_of_the_benchmark():
    asked = [question for forms in FORMS.values() for question, _, _ in forms]
    assert len(set(asked)) == len(asked)
    assert not any(
        "Region ID" in text or "Type:" in text for forms in FORMS.values() for form in forms for text in form
    )


def test_options_are_in_the_question_in_the_order_given():
    options = ["retina", "gauge", "iris"]
    turn = ask_what_boxes_hold({1: "gauge"}, "zh", 1, options)
    assert re.findall("|".join(HELD[name][1] for name in HELD), turn.question) == [HELD[name][1] for name in options]
    assert turn.answer == ask_what_boxes_hold({1: "gauge"}, "zh", 1).answer


def test_an_unknown_structure_or_form_is_refused():
    with pytest.raises(BadArgument, match="stapes"):
        ask_what_boxes_hold({1: "stapes"})
    with pytest.raises(BadArgument, match=r"options=.*stapes"):
        ask_what_boxes_hold({1: "gauge"}, options=["stapes"])
    with pytest.raises(BadArgument, match="form=8"):
        ask_what_boxes_hold({1: "gauge"}, form=8)
    with pytest.raises(BadArgument, match="stapes"):
        ask_of_box(1, "stapes", "zh")
