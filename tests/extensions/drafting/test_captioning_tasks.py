"""The tasks that ask for questions from captions, and for their alteration: text alone, and what a reply is worth."""

from __future__ import annotations

from lmod_train.core.types import Prediction, Reply, Unparsed
from lmod_train.extensions.drafting.captions import Caption, CaptionQuestions, CaptionRewriting
from tests.tabled import tabled

CAPTION = Caption("a b/1", "images/1.jpg", "Drusen </s> of the left eye.", group="p", phantom=True)


def test_each_kind_is_asked_for_once_without_the_image():
    records = CaptionQuestions().records([CAPTION])
    assert [r.id.rpartition("/")[2] for r in records] == ["binary_question", "open_question", "single_choice_question"]
    for record in records:
        assert [m.role for m in record.messages] == ["system", "user"] and record.image == ()
        assert record.messages[1].parts[0].text.endswith("Provided text:\nDrusen \u2039/s> of the left eye.")
        assert record.id.startswith("caption_questions/captions/a%20b/1/") and record.phantom and record.group == "p"


@tabled(
    ("reply", "expected"),
    [
        (Reply("", "Q: What?, A: drusen. 问：什么？答：疣。"), None),
        (Reply("", "Q: What?, A: drusen."), "no_match"),
        (Reply("", ""), "empty"),
        (Reply("", "eye " * 9000), "repetition"),
        (Reply("", "Q: What?, A: drusen. 问：什么？答：疣。", "length"), "truncated"),
        (Reply("", "no", "refusal"), "refused"),
        (Reply("", "", "error", "timeout"), "failed"),
    ],
)
def test_a_reply_is_answered_if_it_ended_and_holds_a_question(reply: Reply, expected: str | None):
    task = CaptionQuestions()
    (record,) = task.records([CAPTION], ["open_question"])
    found = task.parse(reply, record)
    assert (found.reason if isinstance(found, Unparsed) else None) == expected
    scores = {s.metric: s.value for s in task.score([Prediction(record, reply, found)]) if s.subset == "all"}
    assert scores.get("share_answered") == (None if expected == "failed" else float(expected is None))


def test_an_alteration_is_any_text_of_a_reply_that_ended():
    task = CaptionRewriting()
    record = task.record(CAPTION, "binary_question/1/false", "words")
    assert task.parse(Reply("", "<think>x</think> 问：红"), record) == "问：红"
    assert isinstance(task.parse(Reply("", "..."), record), Unparsed)
    assert isinstance(task.parse(Reply("", "问：红", "length"), record), Unparsed)
