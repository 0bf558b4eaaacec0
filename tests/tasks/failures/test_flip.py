"""Negation flips in both languages: labelled pairs, half of them no flips, and flips by construction."""

import random

import pytest

from lmod_train.tasks.failures.case import AskedReply
from lmod_train.tasks.failures.rules import failures_of, negation_flip
from tests.tabled import tabled
from tests.tasks.failures.asked import prediction_of, question
from tests.tasks.failures.labelled import Labelled, labelled

PAIRS = [row for row in labelled() if row.ask.startswith("open ")]
FINDINGS = {
    "en": ["hemorrhage", "macular hole", "Drusen", "a pale optic disc", "retinal detachment in the upper half"],
    "zh": ["出血", "黄斑裂孔", "玻璃膜疣", "视盘苍白", "上方视网膜脱离"],
}
DENIED = {
    "en": ["no {}", "There is no {}.", "without {}", "absence of {}", "No obvious {} is seen", "{} is absent"],
    "zh": ["无{}", "未见{}", "没有{}", "无明显{}", "图中未见{}。", "不存在{}"],
}
STATED = {
    "en": ["{}", "There is {}.", "presence of {}", "not without {}", "{} is visible"],
    "zh": ["{}", "可见{}", "有{}", "并非没有{}", "明显{}"],
}


def flips(language, expected, reply):
    row = Labelled(f"open {language} {expected}", reply, frozenset(), "develop")
    return "negation_flip" in {failure.rule for failure in failures_of(prediction_of(row))}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_precision_and_recall_on_the_labelled_pairs(language):
    rows = [(row, flips(language, row.ask[8:], row.reply)) for row in PAIRS if row.ask[5:7] == language]
    right = sum(found and "negation_flip" in row.labels for row, found in rows)
    labels = ["negation_flip" in row.labels for row, _ in rows]
    assert len(rows) >= 60 and 0.4 < sum(labels) / len(labels) < 0.6
    assert right / sum(found for _, found in rows) == 1 and right / sum(labels) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_finding_denied_in_any_words_is_a_flip_of_the_finding_stated_in_any_words(language):
    for finding in FINDINGS[language]:
        for no in DENIED[language]:
            for yes in STATED[language]:
                denied, stated = no.format(finding), yes.format(finding)
                assert flips(language, denied, stated) and flips(language, stated, denied), (denied, stated)
            assert not any(flips(language, denied, other.format(finding)) for other in DENIED[language]), denied


@pytest.mark.parametrize("language", ["en", "zh"])
def test_another_finding_is_no_flip(language):
    for finding, other in zip(FINDINGS[language], FINDINGS[language][1:], strict=False):
        for no in DENIED[language]:
            assert not flips(language, no.format(finding), other)


def test_a_flip_of_one_of_two_findings_is_one():
    assert flips("en", "haemorrhage, no exudates", "haemorrhage, exudates")
    assert flips("zh", "有出血，无渗出", "有出血，有渗出")
    assert not flips("en", "haemorrhage, no exudates", "haemorrhages without exudates")


def test_the_evidence_is_the_negation_of_the_reply_or_the_whole_reply():
    for expected, reply, evidence in (
        ("出血", "答：未见出血。", "未见"),
        ("no drusen", " Drusen. ", "Drusen."),
        ("drusen", "There are no drusen", "no"),
    ):
        row = Labelled(f"open en {expected}", reply, frozenset(), "develop")
        start, end = negation_flip(AskedReply(prediction_of(row)))
        assert reply[start:end] == evidence


def test_closed_questions_and_thinking_have_none():
    _, record = question("glaucoma")
    assert record.choices
    row = Labelled("glaucoma", "no GLAUCOMA", frozenset(), "develop")
    assert negation_flip(AskedReply(prediction_of(row))) is None
    assert not flips("en", "no drusen", "<think>drusen?</think>no drusen")
    assert flips("en", "no drusen", "<think>no drusen</think>drusen")


@pytest.mark.parametrize(
    "text", ["no " * 10**5, "不" * 10**5, "un" * 10**5, "," * 10**5, "no, " * 10**5, "\ud800\0" * 999]
)
def test_hostile_texts_never_raise(text, caplog):
    assert flips("en", text, "drusen") in (True, False) and flips("zh", "drusen", text) in (True, False)
    assert not [record for record in caplog.records if "rule" in record.message]


def test_mutated_pairs_never_raise(caplog):
    rng = random.Random(1)
    for row in rng.choices(PAIRS, k=400):
        text = list(row.reply)
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randrange(3)] = rng.choices("无不没有未见，。,.;!notbu \n\ud800", k=rng.randrange(3))
        flips(row.ask[5:7], "".join(text), row.ask[8:])
    assert not [record for record in caplog.records if "rule" in record.message]


@tabled("place", ["in the macula", "at the fovea", "within the left eye", "around the disc"])
@tabled("verb", ["is not {}", "was not {}", "not {}", "isn't {}", "cannot be {}"])
def test_a_finding_denied_behind_it_is_no_flip_of_one_denied_before_it(place, verb):
    for finding in FINDINGS["en"]:
        for seen in ("seen", "visible", "detected", "evident", "found"):
            behind, before = f"{finding} {verb.format(seen)} {place}", f"no {finding} {place}"
            assert not flips("en", before, behind) and not flips("en", behind, before), (before, behind)
            assert flips("en", f"{finding} {place}", behind), behind
        assert not flips("en", f"no {finding} {place}", f"{finding} is absent {place}")
        assert not flips("en", f"drusen, no {finding} {place}", f"drusen, {finding} is absent {place}")
        assert flips("en", f"{finding} with no drusen seen {place}", f"no {finding} with drusen seen {place}")
