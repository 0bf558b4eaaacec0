"""Answers to open questions: all words of a reply, unless it only declines."""

from __future__ import annotations

from typing import Any

from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.refusal import read_open, read_words
from tests.tabled import tabled


def outcome(text: str, finish: Any = "stop", error: str = "") -> str:
    answer = read_open(Reply("a", text, finish, error))
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else answer


@tabled(
    "text",
    [
        "Macular hole",
        "Macular hole. Please consult an ophthalmologist.",
        "I cannot be sure, but it looks like a macular hole.",
        "Sorry, it is a macular hole.",
        "The macula cannot be seen because of vitreous haemorrhage.",
        "Lesion of unknown origin under the conjunctiva",
        "抱歉，图中可见黄斑水肿",
        "不明原因的视网膜出血",
        "角膜混浊，眼底窥不清",
    ],
)
def test_an_answer_keeps_all_its_words(text: str) -> None:
    assert outcome(text) == text
    assert outcome(f"<think>I cannot tell.</think> {text} ") == text


@tabled(
    "text",
    [
        "I'm sorry, but I can't provide a diagnosis. It is important to consult an ophthalmologist.",
        "I can't help with identifying medical conditions in images.",
        "Unable to determine.",
        "Unknown",
        "抱歉，我不是医生，无法作出诊断。建议您尽快就医。",
        "我看不到图片。",
        "不清楚",
        "根据提供的信息，无法判断。",
    ],
)
def test_a_reply_that_only_declines_is_refused(text: str) -> None:
    assert outcome(text) == "?refused"
    assert read_words(Reply("a", text)) == text


@tabled(
    ("text", "finish", "error", "wanted"),
    [
        ("", "stop", "", "?empty"),
        ("<think>hm", "length", "", "?truncated"),
        ("Pale disc and", "length", "", "Pale disc and"),
        ("黄斑水肿" * 10, "stop", "", "?repetition"),
        ("", "content_filter", "", "?refused"),
        ("Pale disc", "refusal", "", "?refused"),
        ("Pale disc", "error", "timed out", "?failed"),
    ],
)
def test_endings(text: str, finish: str, error: str, wanted: str) -> None:
    assert outcome(text, finish, error) == wanted
