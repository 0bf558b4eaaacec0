"""Paraphrases: placeholders keep their content, and those of the package say what the published prompt says."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from lmod_train.core.types import Message, Part
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.bilingual import BINARY, OPEN, SINGLE_CHOICE
from lmod_train.tasks.conditions import Conditions
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import Staging
from lmod_train.tasks.wordings import count_wordings, digest_of, digests_of, filling, reworded
from tests.tabled import stored
from tests.tiny import record

TASKS = [AgeGroup(), Anatomy(), Conditions(), FourWay(), Glaucoma(), Sex(), Staging(), Probe(Glaucoma())]
TEMPLATES = [(task.name, several) for task in TASKS for several in task.wordings]
BY_TEMPLATE = pytest.mark.parametrize(("task", "several"), TEMPLATES, ids=lambda v: v if isinstance(v, str) else "")


def asked(text):
    return record(text=text, image=[])


@BY_TEMPLATE
def test_every_prompt_of_the_package_has_three_paraphrases(task, several):
    assert len(several) == 4 == len(set(several))


@BY_TEMPLATE
def test_a_paraphrase_has_the_placeholders_and_the_requested_format_of_its_prompt(task, several):
    places, (_, _, form) = re.findall("<[^<>]+>", several[0]), several[0].rpartition("format: ")
    for other in several[1:]:
        assert Counter(re.findall("<[^<>]+>", other)) == Counter(places)
        assert other.rpartition("format: ")[2] == form


@BY_TEMPLATE
def test_a_paraphrase_denies_adds_and_drops_no_word_of_the_matter(task, several):
    """The words that carry the question are in all wordings; no other word of its vocabulary is in one."""
    matter = re.compile(
        r"glaucoma|cataract|retinopathy|normal|disease|stage|sex|age group|patient|bounding box|type|describe|"
        r"explanation|justif|ophthalmology|fundus|options?|GLAUCOMA|TRUE|MALE",
        re.IGNORECASE,
    )
    alike = {"options": "option", "explain": "explanation"}

    def words(text):
        return {alike.get(w, w) for w in (m.lower() for m in matter.findall(text))} - {"patient", "option"}

    for other in several[1:]:
        assert words(other) == words(several[0]), other
        assert not re.search(r"\b(?:no|never|cannot|without|except|unless)\b", other)


def test_what_stands_in_the_placeholders_is_kept():
    task = Conditions()
    text = (
        "This is an ophthalmology fundus image. Based on the image, please tell me if this patient has an Increased "
        "Cup-to-Disc Ratio? Then, give me explanations. Follow the format: INCREASED CUP-TO-DISC RATIO <TRUE/FALSE>; "
        "Explanations: <EXPLANATIONS>."
    )
    assert reworded(asked(text), task.wordings, 0) == asked(text)
    assert reworded(asked(text), task.wordings, 1).messages[0].parts[-1].text == (
        "You see an ophthalmology fundus image. Judging from the image, does this patient have an Increased "
        "Cup-to-Disc Ratio? Answer first, then give explanations. Use the format: INCREASED CUP-TO-DISC RATIO "
        "<TRUE/FALSE>; Explanations: <EXPLANATIONS>."
    )


def test_the_digest_of_a_question_is_that_of_its_template_whatever_fills_it():
    wordings = [["This is <WHAT>. Which?", "You see <WHAT>. Which?"], ["This is <WHAT>. Why?"]]
    for text, template in (
        ("This is an eye. Which?", "This is <WHAT>. Which?"),
        ("This is a lens. Which?", "This is <WHAT>. Which?"),
        ("You see an eye. Which?", "You see <WHAT>. Which?"),
        ("This is an eye. Why?", "This is <WHAT>. Why?"),
    ):
        assert digests_of(asked(text), wordings) == {digest_of(template)}
    assert digests_of(asked("This is an eye! Which?"), wordings) == {""}
    assert len({digest_of(t) for several in wordings for t in several}) == 3


QUESTIONS = stored(__file__, "wordings.QUESTIONS")


@pytest.mark.parametrize("kind", [BINARY, SINGLE_CHOICE, OPEN])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_in_two_languages_has_the_digest_of_its_own_prompt_alone(kind, question):
    wordings = [(template,) for several in (BINARY, SINGLE_CHOICE, OPEN) for template in several.values()]
    for template in kind.values():
        text = template.replace("{question}", question)
        assert digests_of(asked(text), wordings) == {digest_of(template)}
        assert digests_of(asked("Please: " + text), wordings) == {""} == digests_of(asked(question), wordings)
        assert count_wordings(asked(text), wordings) == 1, "there are no paraphrases to ask"


def test_an_empty_placeholder_goes_with_its_blank():
    assert filling("An image <WHAT> of <KIND>.", "An image of OCT.") == {"<WHAT>": "", "<KIND>": "OCT"}
    made = reworded(asked("An image of OCT."), [["An image <WHAT> of <KIND>.", "<KIND>: an image <WHAT> of it."]], 1)
    assert made.messages[0].parts[-1].text == "OCT: an image of it."


def test_a_placeholder_that_is_repeated_has_one_content():
    assert filling("<A> and <A>", "x and x") == {"<A>": "x"}
    assert filling("<A> and <A>", "x and y") is None


def test_other_words_have_one_wording_and_are_left_alone():
    one = asked("Is it glaucoma?")
    assert count_wordings(one, Glaucoma.wordings) == 1
    assert count_wordings(one, ()) == 1


def test_only_the_users_words_change():
    words = "This is an eye. Based on the image, please tell me the stage of MH decision. Follow the format: Stage: "
    words += "<AN INTEGER>."
    turns = tuple(Message(role, (Part("text", words),)) for role in ("system", "user"))
    system, user = reworded(replace(asked(words), messages=turns), Staging.wordings, 2).messages
    assert system.parts[0].text == words
    assert user.parts[0].text.startswith("The picture is an eye. Please decide")
