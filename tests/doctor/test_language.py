"""Records in another language than they say, than their answer, or than what is asked."""

from types import SimpleNamespace

import pytest

from lmod_train.doctor.language import language
from lmod_train.doctor.subject import Subject
from tests.tiny import record

TEXTS = {
    "en": "Does this eye have glaucoma?",
    "zh": "这张眼底照片是否显示青光眼？请回答 GLAUCOMA 或 NON-GLAUCOMA。",
    "ru": "Есть ли глаукома на этом снимке глаза?",
    "ko": "이 안저 사진에 녹내장이 있습니까?",
    "ja": "この眼底写真に緑内障はありますか？",
    "ar": "هل تظهر هذه الصورة الزرق؟",
    "de": "Zeigt dieses Auge ein Glaukom?",
}


def made(name, text, n=40, answer="GLAUCOMA", split="train"):
    return [
        record(f"glaucoma/{name}/{split}/{i}", text, [f"{i}.png"], answer, language=name, split=split) for i in range(n)
    ]


def found(learnt, asked=()):
    splits = {"val": [], "test": list(asked)}
    return list(language(Subject({}, data=SimpleNamespace(training=lambda: list(learnt), records=splits.get))))


@pytest.mark.parametrize("name", TEXTS)
def test_records_in_their_language_pass_with_english_choices_too(name):
    answer = "GLAUCOMA" if name in ("en", "de", "zh") else TEXTS[name]
    (only,) = found(made(name, TEXTS[name], answer=answer), made(name, TEXTS[name], 5, answer, "test"))
    assert (only.level, only.what) == ("ok", f"40 records in {name}")


@pytest.mark.parametrize(
    ("said", "written"), [(a, b) for a in TEXTS for b in TEXTS if {a, b} - {"en", "de"} and a != b]
)
def test_a_language_that_is_not_the_words_own_is_refused(said, written):
    if (said, written) == ("ja", "zh"):
        pytest.skip("Japanese may be written in Chinese characters")
    levels = [(f.level, "language they name" in f.what) for f in found(made(said, TEXTS[written]))]
    assert ("fail", True) in levels


def test_a_few_strange_records_are_warned_of():
    learnt = [*made("en", TEXTS["en"], 95), *made("en", TEXTS["zh"], 5)]
    (only,) = found(learnt)
    assert only.level == "warn" and only.what.startswith("5 of 100")


@pytest.mark.parametrize(
    ("name", "answer", "level"), [("en", "患者有青光眼", "fail"), ("zh", "4", "ok"), ("en", "眼", "ok")]
)
def test_answers_in_another_script_than_their_question_are_refused(name, answer, level):
    (only,) = found(made(name, TEXTS[name], answer=answer))
    assert only.level == level


def test_a_task_learnt_in_one_language_and_asked_in_another_is_warned_of():
    (only,) = found(made("zh", TEXTS["zh"]), made("en", TEXTS["en"], 4, split="test"))
    assert (only.level, only.what) == ("warn", "glaucoma is asked in en and learnt in zh")
    both = [*made("zh", TEXTS["zh"]), *made("en", TEXTS["en"])]
    assert [f.level for f in found(both, made("en", TEXTS["en"], 4, split="test"))] == ["ok"]


def test_no_data_is_nothing_to_look_at():
    assert [f.level for f in language(Subject({}))] == ["skip"]
