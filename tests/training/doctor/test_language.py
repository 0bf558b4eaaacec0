"""The check of languages: declared language, language of the answer, and language of the evaluation."""

import itertools
from types import SimpleNamespace

import pytest

from lmod_train.training.doctor.reply_checks import language
from lmod_train.training.doctor.subject import Subject
from tests.tabled import stored
from tests.tiny import record

TEXTS = stored(__file__, "language.TEXTS")


def made(name, text, n=40, answer="GLAUCOMA", split="train"):
    return [
        record(f"glaucoma/{name}/{split}/{i}", text, [f"{i}.png"], answer, language=name, split=split) for i in range(n)
    ]


def found(learnt, asked=()):
    splits = {"val": [], "test": list(asked)}
    return list(language(Subject({}, data=SimpleNamespace(training=lambda: list(learnt), records=splits.get))))


def test_records_in_their_language_pass_with_english_choices_too():
    wrong = {}
    for name, text in TEXTS.items():
        answer = "GLAUCOMA" if name in ("en", "de", "zh") else text
        results = found(made(name, text, answer=answer), made(name, text, 5, answer, "test"))
        if [(r.level, r.what) for r in results] != [("ok", f"40 records in {name}")]:
            wrong[name] = results
    assert not wrong


def test_a_wrongly_declared_language_fails():
    wrong = {}
    for declared, written in itertools.permutations(TEXTS, 2):
        if {declared, written} == {"en", "de"} or (declared, written) == ("ja", "zh"):
            continue  # they share a script; Japanese may be written in Chinese characters
        results = found(made(declared, TEXTS[written]))
        if ("fail", True) not in [(f.level, "declared language" in f.what) for f in results]:
            wrong[declared, written] = results
    assert not wrong


def test_a_few_records_in_another_language_warn():
    learnt = [*made("en", TEXTS["en"], 95), *made("en", TEXTS["zh"], 5)]
    (only,) = found(learnt)
    assert only.level == "warn" and only.what.startswith("5 of 100")


@pytest.mark.parametrize(
    ("name", "answer", "level"), [("en", "患者有青光眼", "fail"), ("zh", "4", "ok"), ("en", "眼", "ok")]
)
def test_answers_in_another_script_than_their_question_fail(name, answer, level):
    (only,) = found(made(name, TEXTS[name], answer=answer))
    assert only.level == level


def test_a_task_trained_in_one_language_and_evaluated_in_another_warns():
    (only,) = found(made("zh", TEXTS["zh"]), made("en", TEXTS["en"], 4, split="test"))
    assert (only.level, only.what) == ("warn", "glaucoma is evaluated in en and trained in zh")
    both = [*made("zh", TEXTS["zh"]), *made("en", TEXTS["en"])]
    assert [f.level for f in found(both, made("en", TEXTS["en"], 4, split="test"))] == ["ok"]
