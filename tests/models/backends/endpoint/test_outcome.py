"""How an attempt ends."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.models.backends.endpoint.outcome import (
    Completion,
    Trouble,
    Usage,
    completion_of,
    refused_status,
    usage_of,
    wait_of,
)


def body(content="YES", reason="stop", **message):
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": reason}
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    return {"choices": [choice], "model": "m-2026", "system_fingerprint": "fp", "usage": usage}


def test_a_reply_with_its_model_and_tokens():
    assert completion_of(body()) == Completion("YES", "stop", "m-2026", "fp", Usage(7, 2))


@pytest.mark.parametrize(
    ("made", "text", "ending"),
    [
        (body(reason="length"), "YES", "length"),
        (body(None, "length"), "", "length"),
        (body(None, "length", reasoning_content="hm"), "<think>hm</think>", "length"),
        (body("YES", reasoning="hm"), "<think>hm</think>YES", "stop"),
        (body("", "content_filter"), "", "content_filter"),
        (body(None, refusal="I will not."), "I will not.", "refusal"),
        (body("I will not.", "refusal"), "I will not.", "refusal"),
        (body([{"type": "text", "text": "YE"}, {"type": "text", "text": "S"}, 3]), "YES", "stop"),
        (body("", "stop"), "", "stop"),
        (body("YES", "eos_token"), "YES", "stop"),
        (body("a\ud800b"), "a?b", "stop"),
    ],
)
def test_endings(made, text, ending):
    ended = completion_of(made)
    assert (ended.text, ended.ending) == (text, ending)
    ended.text.encode()


@pytest.mark.parametrize(
    ("made", "cure"),
    [
        (body(None), "the server's log"),
        (body([]), "the server's log"),
        (body([{"type": "image"}]), "the server's log"),
        (body({"text": "YES"}), "the server's log"),
        (body(None, reasoning_content="It is a disc."), "--reasoning-parser"),
        (body("", reasoning="It is a disc."), "--reasoning-parser"),
        (body([{"text": " "}], "eos_token", reasoning="It is a disc."), "--reasoning-parser"),
    ],
)
def test_a_complete_reply_without_a_text_has_failed_and_one_of_no_text_is_empty(made, cure):
    ended = completion_of(made)
    assert isinstance(ended, Trouble) and not ended.again and ended.usage == Usage(7, 2)
    assert cure in ended.text.partition("Next: ")[2]
    made["choices"][0]["finish_reason"] = "length"
    assert isinstance(completion_of(made), Completion), "cut off"
    for text in ("", [{"text": ""}]):
        assert completion_of(body(text)) == Completion("", "stop", "m-2026", "fp", Usage(7, 2))


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 0}, Usage(7, 0)),
        ({"prompt_tokens": "7", "completion_tokens": 2.0}, Usage(7, 2)),
        ({"prompt_tokens": 7}, None), ({"prompt_tokens": 7, "completion_tokens": None}, None),
        ({"prompt_tokens": 7, "completion_tokens": 2.5}, None), ({"prompt_tokens": "7 ", "completion_tokens": 2}, None),
        ({"prompt_tokens": True, "completion_tokens": 2}, None), ({"prompt_tokens": -1, "completion_tokens": 2}, None),
        ({"prompt_tokens": float("inf"), "completion_tokens": 2}, None), ([], None), (None, None), ("7", None),
    ],
)  # fmt: skip
def test_tokens_are_counts_or_not_known(stated, expected):
    assert usage_of({"usage": stated}) == expected and completion_of({**body(), "usage": stated}).usage == expected


def test_a_server_that_never_states_the_end_is_believed_where_the_user_says_so():
    unstated = {"choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": "YES"}]}}]}
    assert isinstance(completion_of(unstated), Trouble)
    assert completion_of(unstated, stated=False) == Completion("YES", "stop")
    assert completion_of(body(reason="length"), stated=False).ending == "length"


@pytest.mark.parametrize(
    "made",
    [
        None, [], "text", 3, {}, {"choices": []}, {"choices": None}, {"choices": ["YES"]}, {"choices": [{}]},
        {"choices": [{"message": "YES", "finish_reason": "stop"}]}, {"error": {"message": "upstream"}},
        {**body(), "error": "quota"}, body("YE", None), body("YE", ""), body(None, "tool_calls"), body("", "error"),
    ],
)  # fmt: skip
def test_what_is_no_reply_is_asked_again(made):
    ended = completion_of(made)
    assert isinstance(ended, Trouble) and ended.again and ended.text and "\n" not in ended.text


KEYS = st.sampled_from(["choices", "message", "content", "finish_reason", "usage", "error", "refusal"]) | st.text()
LEAVES = st.none() | st.booleans() | st.integers() | st.text()


BODIES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner))


@settings(max_examples=25)
@given(BODIES)
def test_no_body_raises(made):
    read(made)


@pytest.mark.slow
@given(BODIES)
def test_none_of_many_bodies_raises(made):
    read(made)


def read(made):
    assert isinstance(completion_of(made), Completion | Trouble)
    assert isinstance(completion_of({"choices": [made]}), Completion | Trouble)
    assert isinstance(completion_of({"choices": [{"message": made, "finish_reason": "stop"}]}), Completion | Trouble)


@pytest.mark.parametrize(
    ("status", "again", "slower", "hopeless"),
    [
        (400, False, False, False), (401, False, False, True), (402, False, False, True), (403, False, False, False),
        (404, False, False, False), (408, True, False, False), (413, False, False, False), (422, False, False, False),
        (429, True, True, False), (500, True, False, False), (502, True, False, False), (503, True, True, False),
        (504, True, False, False), (529, True, True, False),
    ],
)  # fmt: skip
def test_statuses(status, again, slower, hopeless):
    ended = refused_status(status, {"retry-after": "7"}, '{"error": {"message": "why\\nnot"}}')
    own = status in (400, 413, 422)
    assert ended == Trouble(f"HTTP {status}: why not", again, slower, 7.0 if again else 0.0, hopeless, own=own)


def test_a_filtered_prompt_is_a_refusal_and_an_empty_account_is_hopeless():
    filtered = '{"error": {"code": "content_filter", "message": "The response was filtered"}}'
    assert refused_status(400, {}, filtered) == Completion("", "content_filter")
    quota = refused_status(429, {}, '{"error": {"code": "insufficient_quota", "message": "You exceeded"}}')
    assert quota.hopeless and not quota.again


@pytest.mark.parametrize(
    "text", ["", "<html>no</html>", "[1]", '"x"', "null", '{"detail": [{"msg": "m"}]}', "[" * 9999]
)
def test_no_error_body_raises(text):
    assert refused_status(500, {}, text).again


def test_a_long_message_is_cut():
    assert len(refused_status(500, {}, "x" * 9999).text) < 400


def test_retry_after_in_seconds_milliseconds_or_as_a_date():
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert wait_of({"retry-after": "2.5"}) == 2.5
    assert wait_of({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert 20 < wait_of({"retry-after": soon}) <= 30
    assert [wait_of({"retry-after": v}) for v in ("-3", "nan", "inf", "soon", "Wed, 21 Oct 2015 07:28:00 GMT")] == [
        0
    ] * 5
    assert wait_of({}) == 0


def test_a_reply_that_is_withheld_without_a_message_is_no_failure():
    """Gemini sends none; any other reply without one is asked again."""
    withheld = completion_of({"choices": [{"finish_reason": "content_filter", "index": 0}], "model": "g"})
    assert isinstance(withheld, Completion) and (withheld.ending, withheld.text) == ("content_filter", "")
    assert isinstance(completion_of({"choices": [{"finish_reason": "stop", "index": 0}]}), Trouble)


def test_a_prompt_that_a_filter_refuses_is_no_failure():
    for code in ("content_filter", "invalid_prompt", "image_content_policy_violation"):
        ended = refused_status(400, {}, json.dumps({"error": {"code": code, "message": "flagged"}}))
        assert isinstance(ended, Completion) and ended.ending == "content_filter"
    assert isinstance(refused_status(400, {}, '{"error": {"code": "invalid_value"}}'), Trouble)


def test_an_error_of_gemini_is_read_with_its_wait():
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    error = {"error": {"code": 429, "message": "quota", "details": [{"@type": "Help"}, info]}}
    for body in ([error], error):
        ended = refused_status(429, {}, json.dumps(body))
        assert isinstance(ended, Trouble) and (ended.wait, ended.text, ended.slower) == (34.5, "HTTP 429: quota", True)
    assert refused_status(429, {"retry-after": "2"}, json.dumps([error])).wait == 2.0
    for delay in ("soon", 3, None, "-1s", "1e99s"):
        info["retryDelay"] = delay
        assert refused_status(429, {}, json.dumps([error])).wait == 0.0
