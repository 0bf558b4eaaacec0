"""The rules against labelled replies, hostile replies, and statements that must not depend on the words."""

import logging
import random

import pytest

from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.tasks.failures.case import LONGEST, AskedReply
from lmod_train.tasks.failures.measured import read_measured
from lmod_train.tasks.failures.rules import RULES, failures_of
from scripts.benchmarks.error_rules import HALVES, measured
from tests.tabled import tabled
from tests.tasks.failures.asked import prediction_of, question
from tests.tasks.failures.labelled import LABELS, Labelled, labelled

FROZEN = {"foreign_structure": 0.933}
"""Precision on the held-out half below 0.95: one reply, whose sentence the parser reads as a region."""


def rules_on(ask, reply, finish="stop"):
    return {f.rule for f in failures_of(prediction_of(Labelled(ask, reply, frozenset(), "develop", finish)))}


def test_the_rules_are_those_of_the_labels():
    assert sorted(RULES) == sorted(LABELS)


@pytest.mark.parametrize("half", HALVES)
def test_precision_and_recall_are_those_of_the_report(half):
    rows = list(measured(half))
    shown = [row for row in read_measured() if row.half == half]
    assert [(r.rule, r.found, r.precision, r.labelled, r.recall) for r in rows] == [
        (r.rule, r.found, r.precision, r.labelled, r.recall) for r in shown
    ]
    for ours, theirs in zip(rows, shown, strict=True):  # a better interval changes its ends a little
        for end in ("precision_low", "precision_high", "recall_low", "recall_high"):
            assert getattr(ours, end) == pytest.approx(getattr(theirs, end), abs=0.02)
    assert all(row.precision >= FROZEN.get(row.rule, 0.95) and row.recall >= 0.92 for row in rows)
    assert all(row.precision == 1 for row in rows) or half == "held_out"


def test_most_replies_without_a_label_have_no_failure():
    healthy = [row for row in labelled() if not row.labels]
    wrong = [row for row in healthy if failures_of(prediction_of(row))]
    assert len(healthy) > 150 and len(wrong) <= 2


def test_the_evidence_is_a_part_of_the_reply():
    for row in labelled():
        for failure in failures_of(prediction_of(row)):
            assert 0 <= failure.start <= failure.end <= len(row.reply)
            assert failure.start < failure.end or failure.rule == "empty"


@tabled(
    ("ask", "reply", "rule", "evidence"),
    [
        ("glaucoma", "GLAUCOMA; Explanation: thin rim.<|im_end|>", "special_tokens", "<|im_end|>"),
        ("glaucoma", "GLAUCOMA; Explanation: <JUSTIFICATION>", "template", "Explanation: <JUSTIFICATION>"),
        ("icdr", "Stage: 7, far advanced", "unknown_stage", "7"),
        ("anatomy OCT 3", "Region ID: 1; Type: Retina\nRegion ID: 9; Type: MH", "unknown_region", "9"),
        ("anatomy OCT 3", "Region ID: 1; Type: Cornea\nRegion ID: 2; Type: MH", "foreign_structure", "Cornea"),
        ("glaucoma", "<think>No.</think>GLAUCOMA; Explanation: a normal fundus", "contradiction", "normal fundus"),
        ("glaucoma", "GLAUCOMA; Explanation: " + "sign " * 9, "loop", "sign " * 9),
    ],
)
def test_the_evidence_is_where_the_failure_is(ask, reply, rule, evidence):
    prediction = prediction_of(Labelled(ask, reply, frozenset(), "develop"))
    (found,) = [f for f in failures_of(prediction) if f.rule == rule]
    assert reply[found.start : found.end] == evidence


def test_a_bare_word_fails_only_where_the_prompt_asks_for_reasons():
    assert rules_on("glaucoma", "GLAUCOMA") == {"unexplained"}
    assert rules_on("macular_hole_stage", "Stage: 2") == set()
    assert rules_on("macular_hole_stage explained", "Stage: 2") == {"unexplained"}
    assert rules_on("anatomy CFP 2", "Region ID: 1; Type: optic disc") == set()


def test_a_contradiction_ends_when_the_answer_is_exchanged():
    opposite = {"GLAUCOMA": "NON-GLAUCOMA", "NON-GLAUCOMA": "GLAUCOMA"}
    rows = [r for r in labelled() if r.ask == "glaucoma" and "contradiction" in r.labels and "; Expl" in r.reply]
    swapped = []
    for row in rows:
        word, rest = row.reply.split(";", 1)
        if "contradiction" in rules_on("glaucoma", row.reply):
            swapped.append("contradiction" in rules_on("glaucoma", f"{opposite[word]};{rest}"))
    assert len(swapped) > 15 and not any(swapped)


def test_a_reply_that_failed_or_was_withheld_has_no_failure_of_its_words():
    _, record = question("glaucoma")
    failed = Prediction(record, Reply("a", "", "error", "timeout"), Unparsed("failed", "timeout"))
    withheld = Prediction(record, Reply("a", "", "content_filter"), Unparsed("refused"))
    assert failures_of(failed) == []
    assert [f.rule for f in failures_of(withheld)] == ["abstention"]


HOSTILE = (
    *("(" * 10**6, "<" * 10**6, "<|" * 10**5, "stage " * 10**5, "no " * 10**5, " " * 10**5, "\n" * 10**6, '"' * 10**6),
    *(
        "无" * 10**5,
        "\u202e\u0627\u0628\u062c " * 10**5,
        "Type: " * 10**5,
        "Region ID: 1; Type: " * 10**4,
        "\0" * 10**5,
    ),
    *(
        "\ud800" * 1000,
        "<think>" * 10**5,
        "stage 1, 2, " * 10**5,
        "glaucoma is a " * 10**5,
        "<script>alert(1)</script>",
    ),
)


HOSTILE_ASKS = ("glaucoma", "macular_hole_stage explained", "anatomy OCT 3", "age_group", "conditions drusen")


def survive(number, ask, caplog):
    with caplog.at_level(logging.ERROR):
        _, record = question(ask)
        answer = Unparsed("no_match") if number % 2 else record.choices[0]
        failures_of(Prediction(record, Reply("a", HOSTILE[number]), answer))
    assert not caplog.records, (number, ask)


def test_hostile_replies_never_need_the_gate(caplog):
    """Each reply to one question, the questions in turn; the slow test has each reply to every question."""
    for number in range(len(HOSTILE)):
        survive(number, HOSTILE_ASKS[number % len(HOSTILE_ASKS)], caplog)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_replies_to_any_question_never_need_the_gate(number, caplog):
    for ask in HOSTILE_ASKS:
        survive(number, ask, caplog)


def test_the_work_is_bounded_by_the_first_characters():
    _, record = question("glaucoma")
    case = AskedReply(Prediction(record, Reply("a", "x" * 10**6 + "</s>"), Unparsed("no_match")))
    assert len(case.text) == len(case.reply) == LONGEST
    assert "special_tokens" not in {f.rule for f in failures_of(Prediction(record, Reply("a", case.reply), "GLAUCOMA"))}


def test_mutated_replies_never_need_the_gate(caplog):
    rng = random.Random(0)
    rows = labelled()
    signs = "<>()[]{}|:;.,\n \"'`*_#-–：；。无未否\u202e\ud800\0９５"
    with caplog.at_level(logging.ERROR):
        for row in rng.choices(rows, k=200):
            text = list(row.reply[:400])
            for _ in range(rng.randrange(1, 8)):
                at = rng.randrange(len(text) + 1)
                text[at : at + rng.randrange(3)] = rng.choices(signs, k=rng.randrange(3))
            rules_on(row.ask, "".join(text), row.finish)
    assert not [record for record in caplog.records if "rule" in record.message]


def test_a_rule_that_raises_is_logged_and_finds_nothing(monkeypatch, caplog):
    from lmod_train.tasks.failures import rules

    def broken(case):
        raise ValueError("no")

    monkeypatch.setattr(rules, "RULES", {"broken": broken})
    assert failures_of(prediction_of(labelled()[0])) == []
    assert "The rule broken failed" in caplog.text
