"""Ready single-choice questions: asked with their options, read by letter or text, scored with chance."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.types import Prediction, Question, Reply, Sample
from lmod_train.tasks.prompt import prompt
from lmod_train.tasks.question import ReadyQuestion
from tests.contracts import record_from

OPTIONS = ("optic disc", "optic cup", "macula", "fovea", "none of these")
READY = [Question("question", prompt(f"Question {n}?"), OPTIONS, OPTIONS[n % 5], variant=str(n)) for n in range(10)]
SAMPLE = Sample("clinic", "1", "CFP", Path("1.jpg"), "p", "CC0", asked=tuple(READY))


def test_every_ready_question_is_asked_with_its_options_in_order():
    asked = list(ReadyQuestion().ask(SAMPLE))
    assert [q.answer for q in asked] == [f"Answer: {letter}" for letter in "ABCDE" * 2]
    assert "A. optic disc\nB. optic cup" in asked[0].messages[0].parts[-1].text
    assert list(ReadyQuestion(sources=["another"]).ask(SAMPLE)) == []


REPLIES = {"B": "optic cup", "The answer is C.": "macula", '{"answer": "D"}': "fovea", "optic disc": "optic disc"}


@pytest.mark.parametrize(("text", "answer"), [*REPLIES.items(), ("A or B", None), ("", None)])
def test_a_reply_is_read_by_letter_or_text(text: str, answer: str | None):
    task = ReadyQuestion()
    record = record_from(next(task.ask(SAMPLE)), SAMPLE, task)
    read = task.parse(Reply("a", text), record)
    assert read == answer if answer else not isinstance(read, str)


def test_always_the_same_letter_scores_chance():
    task = ReadyQuestion()
    records = [record_from(q, SAMPLE, task) for q in task.ask(SAMPLE)]
    for replies, expected in ((["A"] * 10, 0.2), ([r.answer for r in records], 1.0)):
        told = [
            Prediction(r, Reply(r.id, t), task.parse(Reply(r.id, t), r)) for r, t in zip(records, replies, strict=True)
        ]
        scores = {s.metric: s.value for s in task.score(told) if s.subset == "all"}
        assert scores["accuracy_strict"] == expected and scores["chance"] == pytest.approx(0.2)
