"""The task's own parser reads the reply text of a class, for every task and every class."""

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import (
    Wording,
    letter_form,
    refuse_several_questions,
    replies_of,
    reply_text,
    wordings,
)
from lmod_train.core.types import Box, Patient, Region, Reply, Sample
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.age_group import AgeGroup
from lmod_train.tasks.anatomy import Anatomy
from lmod_train.tasks.conditions import Conditions, asked_of
from lmod_train.tasks.four_way import FourWay
from lmod_train.tasks.glaucoma import Glaucoma
from lmod_train.tasks.sex import Sex
from lmod_train.tasks.staging import Staging
from tests.tiny import record

SAMPLE = {"source": "p", "key": "1", "modality": "CFP", "image": "eye.png", "group": "1", "licence": ""}
LABELS = {"diagnosis": "normal", "glaucoma": "no", **{f.condition: "no" for f in FINDINGS}}
LEVELS = {row.name: row.levels[0] for row in SCALES}
TASKS = [
    Glaucoma(),
    FourWay(),
    Conditions(),
    *(Staging(row.name) for row in SCALES),
    *(kind(wording) for kind in (Sex, AgeGroup) for wording in ("lmod_plus", "lmod_v1")),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda t: f"{t.name}-{getattr(t, 'wording', '')}")
def test_the_task_s_parser_reads_the_reply_of_every_class(task):
    sample = Sample(**SAMPLE, labels=LABELS | LEVELS, patient=Patient(age=17.0, sex="female"))
    questions = list(task.ask(sample))
    assert questions
    for question in questions:
        asked = record(task=task.name, choices=question.choices, answer=question.answer)
        form = wordings(asked, task.choices)
        for target, word in enumerate(task.choices):
            reply = reply_text(form, [target], task.choices)
            assert task.parse(Reply("a", reply), asked) == word, reply
            assert wordings(record(answer=reply), task.choices) == [Wording(form[0].form, target)]


def test_the_form_does_not_depend_on_the_truth():
    forms = {
        wordings(record(answer=q.answer), Conditions.choices)[0].form
        for label in ("yes", "no")
        for q in Conditions(["drusen"]).ask(Sample(**SAMPLE, labels={"drusen": label}))
    }
    assert forms == {f"{asked_of(record(answer='DRUSEN TRUE')).short} "}


def test_regions_have_one_line_each():
    task = Anatomy(options={"CFP": ["Optic Disc", "optic cup"]})
    regions = (Region("optic disc", Box(0, 0, 4, 4), 1), Region("optic cup", Box(1, 1, 3, 3), 2))
    answer = "Region ID: 1; Type: Optic Disc\nRegion ID: 2; Type: optic cup"
    asked = record(task="anatomy", choices=task.choices, regions=regions, answer=answer)
    form = wordings(asked, task.choices)
    assert [w.target for w in form] == [0, 1]
    assert reply_text(form, [0, 1], task.choices) == answer
    swapped = task.parse(Reply("a", reply_text(form, [1, 0], task.choices)), asked)
    assert {i: word.lower() for i, word in swapped.items()} == {1: "optic cup", 2: "optic disc"}


def test_the_longest_choice_counts_and_a_piece_of_a_word_does_not():
    both = ("retinopathy", "diabetic retinopathy")
    assert wordings(record(answer="DISEASE: diabetic retinopathy"), both) == [Wording("DISEASE: ", 1)]
    assert wordings(record(answer="Sex: FEMALE"), ("MALE", "FEMALE")) == [Wording("Sex: ", 1)]
    with pytest.raises(BadArgument, match="end with one of"):
        wordings(record(answer="NON-GLAUCOMA"), ("GLAUCOMA",))


@pytest.mark.parametrize("answer", ["", "MAYBE", "GLAUCOMA\nMAYBE"])
def test_an_answer_outside_the_choices_is_refused(answer):
    with pytest.raises(BadArgument, match="curate again"):
        wordings(record(answer=answer), Glaucoma.choices)


LISTED = "Where is it?\nA. macula\nB. optic disc\nAnswer with the letter of one option."


def single_choice(answer="Answer: B", choices=("macula", "optic disc"), text=LISTED):
    return record(task="chain", text=text, answer=answer, choices=choices)


def test_the_reply_of_an_option_is_its_letter():
    assert replies_of(single_choice()) == {"macula": "Answer: A", "optic disc": "Answer: B"}
    assert replies_of(single_choice(answer="A")) == {"macula": "A", "optic disc": "B"}
    assert replies_of(single_choice(choices=("optic disc", "macula"))) == {
        "optic disc": "Answer: B", "macula": "Answer: A",
    }  # fmt: skip


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": "Answer: C"},
        {"answer": "Answer: optic disc"},
        {"answer": "AnswerB"},
        {"answer": ""},
        {"answer": "Answer: A\nAnswer: B"},
        {"choices": ("macula", "optic cup")},
        {"text": "Where is it, at the macula or the optic disc?"},
    ],
)
def test_other_replies_are_no_letters(fields):
    one = single_choice(**fields)
    assert letter_form(one) is None
    assert "Answer: A" not in replies_of(one).values()


def test_letters_as_choices_are_choices():
    one = single_choice(choices=("A", "B"))
    assert letter_form(one) is None and replies_of(one) == {"A": "Answer: A", "B": "Answer: B"}


def test_a_classifier_refuses_options_of_each_question():
    with pytest.raises(BadArgument, match=r"--model configs/model/small_base\.yaml"):
        wordings(single_choice(), ("macula", "optic disc"))
    with pytest.raises(BadArgument, match="options of its own"):
        refuse_several_questions([single_choice()], ("macula", "optic disc"))
