"""Statements, single-choice and open questions in two languages: the paper's prompts, answers, pairs and splits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Prediction, Question, Reply, Sample, Unparsed
from lmod_train.tasks.bilingual import BINARY, OPEN, SINGLE_CHOICE, BinaryQuestion, OpenQuestion, SingleChoiceQuestion
from lmod_train.tasks.probe import Probe
from lmod_train.tasks.prompt import prompt
from tests.contracts import TaskContract, record_from
from tests.tabled import stored, tabled

PRINTED = json.loads((Path(__file__).parent / "ophthalwechat_prompts.json").read_text(encoding="utf-8"))
OPTIONS = {"zh": ("视盘", "视杯", "黄斑", "虹膜"), "en": ("optic disc", "optic cup", "macula", "iris")}
ASKED = {
    "zh": "图中哪个结构异常？ A：视盘 B：视杯 C：黄斑 D：虹膜",
    "en": "Which is abnormal? A: optic disc B: optic cup C: macula D: iris",
}


def statement(language: str, answer: str, number: int = 1) -> Question:
    words = {"zh": "视盘苍白", "en": "The optic disc is pale"}[language]
    choices = {"zh": ("对", "错"), "en": ("True", "False")}[language]
    return Question("binary_question", prompt(words), choices, answer, language, variant=f"{number}-{language}")


def choice(language: str, place: int = 1) -> Question:
    options = OPTIONS[language]
    asked = prompt(ASKED[language])
    return Question("single_choice_question", asked, options, options[place], language, variant=f"2-{language}")


def open_one(language: str) -> Question:
    words, answer = {"zh": ("诊断是什么？", "黄斑裂孔"), "en": ("What is the diagnosis?", "Macular hole")}[language]
    return Question("open_question", prompt(words), (), answer, language, variant=f"3-{language}")


def sample(*asked: Question, key: str = "1", **fields) -> Sample:
    return Sample("ophthalwechat", key, "CFP", Path(f"{key}.jpg"), key, "", asked=asked, **fields)


WHOLE = sample(*(make(language) for language in ("zh", "en") for make in (choice, open_one)), statement("zh", "对"))
TASKS = (BinaryQuestion(), SingleChoiceQuestion(), OpenQuestion())


class TestBinary(TaskContract):
    task = BinaryQuestion()
    asked_of = (
        sample(statement("zh", "对"), labels={"a": "1"}),
        sample(statement("en", "True"), key="2", labels={"a": "2"}),
        sample(statement("zh", "错"), key="3", labels={"a": "3"}),
        sample(statement("en", "False"), key="4", labels={"a": "4"}),
    )
    not_asked_of = (sample(), sample(choice("zh"), open_one("en")))
    perfect = ("accuracy_strict",)


@tabled(("printed", "templates"), [("binary", BINARY), ("single_choice", SINGLE_CHOICE), ("open", OPEN)])
def test_prompts_are_those_of_the_paper(printed, templates):
    assert templates == {language: PRINTED[f"answer_{printed}_{language}"] for language in ("zh", "en")}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_reference_reply_states_the_text_of_an_option_in_the_same_prompt(language):
    in_words, lettered = SingleChoiceQuestion(language, stated="text"), SingleChoiceQuestion(language)
    asked, given = sample(choice(language)), list(lettered.ask(sample(choice(language))))
    assert list(in_words.ask(asked)) == [replace(given[0], answer=OPTIONS[language][1])]
    assert list(in_words.ask(sample(given[0]))) == list(in_words.ask(asked)), "a letter is read as its text"
    with pytest.raises(BadArgument, match="stated='word'"):
        SingleChoiceQuestion(stated="word")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_question_stands_in_the_prompt_with_its_options(language):
    (asked,) = SingleChoiceQuestion(language).ask(sample(choice(language)))
    image, words = asked.messages[0].parts
    assert image.type == "image" and words.text == SINGLE_CHOICE[language].replace("{question}", ASKED[language])
    assert (asked.answer, asked.choices) == ("B", OPTIONS[language])
    assert list(SingleChoiceQuestion().ask(sample(asked))) == [asked], "a question is put into its prompt once"
    (words,) = [m.parts[1].text for q in OpenQuestion(language).ask(sample(open_one(language))) for m in q.messages]
    assert open_one(language).messages[0].parts[1].text in words and open_one(language).answer not in words


def test_one_language_or_both():
    both = sample(statement("zh", "错"), statement("en", "False"))
    assert [q.language for q in BinaryQuestion().ask(both)] == ["zh", "en"]
    assert [[q.language for q in BinaryQuestion(one).ask(both)] for one in ("zh", "en")] == [["zh"], ["en"]]
    assert [task.language for task in (BinaryQuestion(), BinaryQuestion("en"))] == ["zh+en", "en"]
    with pytest.raises(BadArgument, match=r"language='cn'.*zh, en"):
        OpenQuestion("cn")


@tabled(("language", "reply", "answer"), stored(__file__, "bilingual.statements_are_judged_by_the_reply"))
def test_statements_are_judged_by_the_reply(language, reply, answer):
    task, one = BinaryQuestion(), sample(statement(language, {"zh": "对", "en": "True"}[language]))
    (question,) = task.ask(one)
    parsed = task.parse(Reply("a", reply), record_from(question, one, task))
    assert (parsed.reason if isinstance(parsed, Unparsed) else parsed) == answer


@tabled("language", ["zh", "en"])
@tabled(
    ("reply", "answer"), [("B", 1), ("Ｃ", 2), ("答案：D", 3), ("选A", 0), ("E", "out_of_range"), ("A或B", "ambiguous")]
)
def test_a_letter_becomes_the_text_of_its_option(language, reply, answer):
    task, one = SingleChoiceQuestion(), sample(choice(language))
    (question,) = task.ask(one)
    parsed = task.parse(Reply("a", reply), record_from(question, one, task))
    assert parsed == OPTIONS[language][answer] if isinstance(answer, int) else parsed.reason == answer


def test_an_open_answer_is_the_text_without_thinking():
    record = record_from(next(OpenQuestion().ask(WHOLE)), WHOLE, OpenQuestion())
    assert OpenQuestion().parse(Reply("a", "<think>嗯</think>黄斑裂孔"), record) == "黄斑裂孔"
    assert OpenQuestion().parse(Reply("a", "<think>嗯", "length"), record) == Unparsed("truncated")


@tabled("task", TASKS)
def test_the_reference_answers_are_right(task):
    predictions = []
    for number, question in enumerate(task.ask(WHOLE)):
        record = replace(record_from(question, WHOLE, task), id=str(number))
        reply = Reply(record.id, question.answer)
        predictions.append(Prediction(record, reply, task.parse(reply, record)))
    best = {s.metric: s.value for s in task.score(predictions) if s.subset == "all"}
    assert best["exact_match" if task.name == "open_question" else "accuracy_strict"] == 1
    assert {s.task for s in task.score(predictions)} == {task.name}


BOTH = sample(*(make(language) for language in ("zh", "en") for make in (choice, open_one)), statement("zh", "错"))


def probed(task, kind):
    return {q.variant: q for q in Probe(task, kinds=[kind]).ask(BOTH)}


@tabled("task", TASKS)
@tabled("kind", ["none", "another", "options", "stem", "other_language"])
def test_the_reference_answer_of_a_probe_is_its_truth(task, kind):
    if kind in ("options", "stem") and task.name != "single_choice_question":
        with pytest.raises(BadArgument, match="kinds"):
            probed(task, kind)
        return
    probe = Probe(task, kinds=[kind])
    questions = list(probe.ask(BOTH))
    assert questions
    for question in questions:
        assert question.shows == {"none": "none", "options": "none", "another": "another"}.get(kind, "own")
        images = [part for part in question.messages[0].parts if part.type == "image"]
        assert len(images) == (question.shows != "none")
        record = record_from(question, BOTH, probe)
        truth = probe.parse(Reply("a", question.answer), record)
        assert truth in question.choices if question.choices else truth == question.answer


def test_a_question_alone_and_its_options_alone():
    alone = probed(SingleChoiceQuestion(), "stem")["2-en-stem"]
    assert alone.messages == prompt(OPEN["en"].replace("{question}", "Which is abnormal?"))
    assert (alone.answer, alone.choices) == ("optic cup", OPTIONS["en"])
    (text,) = [part.text for part in probed(SingleChoiceQuestion(), "options")["2-zh-options"].messages[0].parts]
    assert text == SINGLE_CHOICE["zh"].replace("{question}", "A：视盘 B：视杯 C：黄斑 D：虹膜")


def test_a_chinese_question_in_the_english_prompt_has_the_english_answer():
    judged = probed(BinaryQuestion(), "other_language")["1-zh-other_language"]
    assert judged.messages == prompt(BINARY["en"].replace("{question}", "视盘苍白"))
    assert (judged.choices, judged.answer, judged.language) == (("True", "False"), "False", "zh")
    chosen = probed(SingleChoiceQuestion(), "other_language")["2-zh-other_language"]
    assert chosen.messages == prompt(SINGLE_CHOICE["en"].replace("{question}", ASKED["zh"]))
    assert (chosen.choices, chosen.answer) == (OPTIONS["zh"], "B")
    answered = probed(OpenQuestion(), "other_language")
    assert answered["3-zh-other_language"].answer == "Macular hole"
    assert answered["3-en-other_language"].messages == prompt(
        OPEN["zh"].replace("{question}", "What is the diagnosis?")
    )
    assert list(Probe(OpenQuestion(), kinds=["other_language"]).ask(sample(open_one("zh")))) == []
