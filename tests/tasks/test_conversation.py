"""Free conversation: what counts as said, and how alike two texts are."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.types import Prediction, Record, Reply, Sample, Unparsed
from lmod_train.scoring.text import token_f1, words_of
from lmod_train.tasks.conversation import Conversation
from lmod_train.tasks.prompt import prompt
from tests.tabled import tabled

TASK = Conversation()


def record(n: int, answer: str, **fields) -> Record:
    defaults = {
        "id": f"conversation/talk/{n}/1", "task": "conversation", "task_class": "", "task_version": 1,
        "source": "talk", "key": str(n), "modality": "CFP", "image": ("a.jpg",), "image_plain": ("a.jpg",),
        "image_sha256": (str(n),), "split": "test", "group": str(n), "language": "en",
        "messages": prompt("What is it?"), "choices": (),
    }  # fmt: skip
    return Record(answer=answer, **defaults | fields)


def predictions(*pairs: tuple[str, str]) -> list[Prediction]:
    made = []
    for n, (reply, answer) in enumerate(pairs):
        asked = record(n, answer)
        said = Reply(asked.id, reply)
        made.append(Prediction(asked, said, TASK.parse(said, asked)))
    return made


def test_it_asks_no_source() -> None:
    sample = Sample("s", "k", "CFP", Path("a.jpg"), "g", "l", labels={"glaucoma": "yes"})
    assert list(TASK.ask(sample)) == []
    assert (TASK.name, TASK.choices) == ("conversation", ())


@tabled(
    ("reply", "answer"),
    [
        (Reply("a", "  Pale disc.\n"), "Pale disc."),
        (Reply("a", "I cannot tell."), "I cannot tell."),
        (Reply("a", "<think>hm</think>Pale."), "Pale."),
        (Reply("a", "Pale and", "length"), "Pale and"),
        (Reply("a", "..."), Unparsed("empty", "...")),
        (Reply("a", ""), Unparsed("empty")),
        (Reply("a", "<think>hm", "length"), Unparsed("truncated")),
        (Reply("a", "", "content_filter"), Unparsed("refused")),
        (Reply("a", "Pale and", "content_filter"), "Pale and"),
        (Reply("a", "I will not.", "refusal"), Unparsed("refused", "I will not.")),
        (Reply("a", "text", "error", "HTTP 500"), Unparsed("failed", "HTTP 500")),
    ],
)
def test_what_was_said_or_why_nothing(reply: Reply, answer: object) -> None:
    assert TASK.parse(reply) == answer


def test_a_loop_is_no_answer() -> None:
    found = TASK.parse(Reply("a", "The disc is " + "pale " * 40))
    assert isinstance(found, Unparsed)
    assert found.reason == "repetition"


def test_the_reference_is_read_as_itself() -> None:
    for answer in ("Left.", "A pale optic disc\nwith a large cup.", "视盘苍白。"):
        (prediction,) = predictions((answer, answer))
        assert prediction.answer == answer


@tabled(
    ("said", "reference", "f1"),
    [
        ("the disc", "a disc", 1.0), ("disc disc", "disc", 2 / 3), ("cup", "disc", 0.0), ("", "", 1.0),
        ("optic disc is pale", "pale optic disc", 6 / 7), ("视盘红", "视盘苍白", 4 / 7),
        ("Ｇlaucoma！", "glaucoma", 1.0),
    ],
)  # fmt: skip
def test_token_f1_by_hand(said: str, reference: str, f1: float) -> None:
    assert token_f1(said, reference) == pytest.approx(f1)
    assert token_f1(reference, said) == pytest.approx(f1)


def test_words_lose_case_marks_and_articles() -> None:
    assert words_of("The “cup-to-disc” ratio, 0.6 — an EYE's") == ["cuptodisc", "ratio", "06", "eyes"]


def test_scores() -> None:
    pairs = [("Left.", "left"), ("a pale disc", "pale cup"), ("", "left"), ("right", "left")]
    made = predictions(*pairs)
    scores = {s.metric: s for s in TASK.score([*made, *made])}
    assert (scores["exact_match"].value, scores["exact_match"].n) == (0.25, 4)
    assert scores["token_f1"].value == pytest.approx((1 + 0.5) / 4)
    assert scores["exact_match_answered"].value == pytest.approx(1 / 3)
    assert (scores["token_f1_answered"].value, scores["token_f1_answered"].n) == (pytest.approx(0.5), 3)
    assert (scores["share_answered"].value, scores["share_unparsed"].value) == (0.75, 0.25)
    low, high = scores["token_f1"].low, scores["token_f1"].high
    assert low is not None
    assert high is not None
    assert 0 <= low < 0.375 < high <= 1


def test_images_not_turns_are_resampled() -> None:
    made = predictions(*[("left", "left"), ("x", "left")] * 8)
    together = [Prediction(record(0, p.record.answer, id=p.record.id), p.reply, p.answer) for p in made]
    (score,) = (s for s in TASK.score(together) if s.metric == "exact_match")
    assert (score.n, score.value, score.low, score.high) == (16, 0.5, None, None)  # one image proves no interval


def test_no_predictions_give_no_scores() -> None:
    assert TASK.score([]) == []
