"""Reading replies: which reply counts, what is absent, what is failed, and that nothing is scored twice or lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Answer, Prediction, Question, Record, Reply, Sample, Score, Unparsed
from lmod_train.scoring.completeness import share_failed
from lmod_train.tasks.base import Task
from lmod_train.tasks.parsed_replies import Scored, parse_replies, scores_of
from tests.tabled import tabled


class Shout(Task):
    """Reads a reply by shouting it; the score counts the right ones."""

    name = "shout"
    version = 1
    choices = ("YES", "NO")

    def __init__(self, language: str = "en") -> None:
        self.language = language

    def ask(self, sample: Sample) -> Iterator[Question]:
        yield from ()

    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        return reply.reply.upper() if reply.reply else Unparsed("empty")

    def score(self, predictions: Sequence[Prediction]) -> list[Score]:
        if not predictions:
            return []
        right = sum(p.answer == p.record.answer for p in predictions)
        return [Score(self.name, "all", "accuracy", len(predictions), right / len(predictions))]


class Whisper(Shout):
    name = "whisper"


def record(id: str, answer: str = "YES", task: str = "shout", task_class: str = "") -> Record:
    return Record(
        id=id, task=task, task_class=task_class or f"{__name__}.{task.capitalize()}", task_version=1, source="s",
        key=id, modality="CFP", image=(), image_plain=(), image_sha256=(), split="val", group=id, language="en",
        messages=(), choices=("YES", "NO"), answer=answer,
    )  # fmt: skip


class Stumble(Shout):
    def parse(self, reply: Reply, record: Record) -> Answer | Unparsed:
        if reply.reply == "mend me":
            raise BadArgument("record", record.id, "another", "curate it again")
        return str(int(reply.reply))


def test_a_parser_that_raises_costs_one_answer_and_is_logged(caplog: pytest.LogCaptureFixture):
    replies = {"a": Reply("a", "vii"), "b": Reply("b", "7")}
    broken, sound = parse_replies(Stumble(), [record("a"), record("b")], replies)
    assert isinstance(broken.answer, Unparsed)
    assert (broken.answer.reason, broken.status) == ("parser_error", "unparsed")
    assert "vii" in broken.answer.detail
    assert sound.answer == "7"
    assert "reply to a" in caplog.text


def test_an_error_with_a_cure_is_not_swallowed():
    with pytest.raises(BadArgument):
        parse_replies(Stumble(), [record("a")], {"a": Reply("a", "mend me")})


def test_a_record_without_a_reply_is_absent_and_order_is_that_of_the_records():
    predictions = parse_replies(
        Shout(), [record("b"), record("a"), record("c")], {"a": Reply("a", "yes"), "b": Reply("b", "")}
    )
    assert [(p.record.id, p.answer) for p in predictions] == [("b", Unparsed("empty")), ("a", "YES")]


@pytest.mark.parametrize("reply", [Reply("a", "yes", error="timeout"), Reply("a", "yes", finish_reason="error")])
def test_an_error_is_failed_even_where_some_text_came_with_it(reply: Reply):
    (prediction,) = parse_replies(Shout(), [record("a")], {"a": reply})
    assert prediction.answer == Unparsed("failed", reply.error)
    assert prediction.status == "failed"


def test_a_padding_duplicate_counts_once_and_other_tasks_are_passed_over():
    records = [record("a"), record("a"), record("w", task="whisper")]
    predictions = parse_replies(Shout(), records, {"a": Reply("a", "no"), "w": Reply("w", "yes")})
    assert [p.record.id for p in predictions] == ["a"]
    assert scores_of([Shout()], predictions) == [Score("shout", "all", "accuracy", 1, 0.0), share_failed("shout", 0, 1)]


def test_scores_come_task_by_task_and_none_for_a_task_without_predictions():
    shout, whisper = Shout(), Whisper()
    records = [record("a"), record("b", "NO"), record("w", task="whisper")]
    replies = {i: Reply(i, "yes") for i in ("a", "b", "w")}
    predictions = parse_replies(whisper, records, replies) + parse_replies(shout, records, replies)
    assert scores_of([shout, whisper], predictions) == [
        Score("shout", "all", "accuracy", 2, 0.5),
        share_failed("shout", 0, 2),
        Score("whisper", "all", "accuracy", 1, 1.0),
        share_failed("whisper", 0, 1),
    ]
    assert scores_of([shout, whisper], []) == []


@tabled(
    ("replies", "accuracy", "failed", "not_asked"),
    [
        ({"a": "yes", "b": "yes", "c": "yes"}, (3, 1 / 3), (3, 0.0), None),
        ({"a": "yes", "b": None}, (1, 1.0), (2, 0.5), (3, 1 / 3)),
        ({"a": None, "b": None, "c": None}, (0, None), (3, 1.0), None),
        ({}, (0, None), (0, None), (3, 1.0)),
    ],
)
def test_scores_are_over_replies_and_what_has_none_is_counted_beside_them(replies, accuracy, failed, not_asked):
    records = [record("a"), record("b", "NO"), record("c", "NO")]
    given = {id: Reply(id, text or "", error="" if text else "HTTP 500") for id, text in replies.items()}
    scores = scores_of([Shout()], parse_replies(Shout(), records, given), [*records, record("w", task="whisper")])
    found = {s.metric: (s.n, s.value) for s in scores}
    expected = {"accuracy": accuracy, "share_failed": failed} | ({"share_not_asked": not_asked} if not_asked else {})
    assert found == expected


def test_predictions_of_a_task_not_given_are_an_error_that_names_it():
    predictions = parse_replies(Whisper(), [record("w", task="whisper")], {"w": Reply("w", "yes")})
    with pytest.raises(BadArgument, match="whisper"):
        scores_of([Shout()], predictions)


class Sure(Shout):
    def confidence(self, reply: Reply, record: Record) -> float | None:
        return None if reply.reply == "yes" else float(reply.reply)


def test_a_stated_confidence_is_kept_where_it_is_0_to_1_and_never_costs_an_answer():
    texts = {"a": "0.25", "b": "yes", "c": "7", "d": "vii", "e": "nan", "f": "1"}
    replies = {name: Reply(name, text) for name, text in texts.items()} | {"g": Reply("g", "0.5", "error", "lost")}
    predictions = parse_replies(Sure(), [record(name) for name in "abcdefg"], replies)
    assert [p.confidence for p in predictions] == [0.25, None, None, None, None, 1.0, None]
    assert [p.status for p in predictions] == ["answered"] * 6 + ["failed"]
    assert parse_replies(Shout(), [record("a")], {"a": Reply("a", "yes")})[0].confidence is None


def test_known_predictions_are_taken_for_the_same_record_and_reply_alone():
    asked = [record("a"), record("b"), record("c")]
    replies = {id: Reply(id, "yes") for id in "abc"}
    known = [replace(p, answer="KNOWN") for p in parse_replies(Shout(), asked, replies)]
    now = [asked[0], replace(asked[1], answer="NO"), asked[2]]
    again = parse_replies(Shout(), now, {**replies, "c": Reply("c", "no")}, known)
    assert [p.answer for p in again] == ["KNOWN", "YES", "NO"]


def test_known_scores_are_taken_for_the_same_predictions_alone():
    found = parse_replies(Shout(), [record("a"), record("b")], {id: Reply(id, "yes") for id in "ab"})
    known = {"shout": Scored(found, [Score("shout", "all", "known", 2, 0.0)])}
    assert [s.metric for s in scores_of([Shout()], found, known=known)] == ["known"]
    assert "known" not in {s.metric for s in scores_of([Shout()], found[:1], known=known)}
