"""Likelihoods of choices from what servers return, against known numbers."""

import json
import math

import pytest

from lmod_train.models.backends.endpoint.likelihood import (
    Method,
    Token,
    closing_tokens,
    of_prompts,
    of_reply,
    prompt_tokens,
    top_tokens,
    turn,
)

PROMPT = [None, {"5": {"logprob": -3.0, "rank": 4}}, {"6": {"logprob": -2.0, "rank": 1}}]


def response(*replied, **more):
    """Return a response with the log-probabilities of a prompt and of a reply's tokens, each with the likeliest."""
    top = {"900": {"logprob": -0.01, "rank": 1}}
    listed = [top | {str(i): {"logprob": p, "rank": 7, "decoded_token": "x"}} for i, p in replied]
    return {"prompt_logprobs": [*PROMPT, *listed], **more}


def entry(chosen, top):
    """Return an entry of `logprobs.content`, as OpenAI documents it."""
    listed = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in top.items()]
    return {"token": chosen, "logprob": top.get(chosen, -8.0), "bytes": list(chosen.encode()), "top_logprobs": listed}


def replied(*entries, content=..., **message):
    """Return a response whose content is spelled by the tokens, or another one."""
    spelled = "".join(e["token"] for e in entries if isinstance(e, dict)) if content is ... else content
    return {"choices": [{"message": {"content": spelled, **message}, "logprobs": {"content": list(entries)}}]}


def test_a_prompt_s_log_probabilities_are_summed_over_the_reply_and_its_end_token():
    bodies = {
        "1": response((1, -1.0), (2, -0.5), (9, -40.0)),
        "10": response((1, -1.0), (0, -2.0), (2, -0.25), (9, -40)),
    }
    assert of_prompts(bodies, 3, Method("sum", closing=2, last="6")) == {"1": -1.5, "10": -3.25}
    assert of_prompts(bodies, 3, Method("mean", closing=2, last="6")) == {"1": -0.75, "10": round(-3.25 / 3, 6)}
    assert of_prompts(bodies, 3, Method("sum", closing=1, last="6"))["1"] == -41.5, "to the first closing token"


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"prompt_logprobs": None},
        {"prompt_logprobs": "none"},
        {"choices": []},
        None,
        response(),
        response((1, -1.0)),
        response((1, float("nan")), (2, -1.0)),
        response((1, None), (2, -1.0)),
        response((1, True), (2, -1.0)),
        response((1, 10**400), (2, -1.0)),
        {"prompt_logprobs": [None, *({str(i): {"logprob": -1.0}} for i in (5, 7, 1, 2))]},
        {"prompt_logprobs": [None, {}, {}, {}, {}]},
    ],
)  # fmt: skip
def test_a_choice_without_numbers_leaves_none(other):
    bodies = {"YES": response((1, -1.0), (2, -0.5)), "NO": other}
    assert of_prompts(bodies, 3, Method("sum", last="6")) == {}
    assert of_prompts(bodies, 0, Method("sum", last="6")) == {}, "the length of the prompt is not known"


def test_a_prompt_whose_last_token_merges_with_every_choice_gives_none():
    """ ": Stage" is one token more than ":" and one other than ": " and "Stage"; all choices share it."""
    bodies = {stage: response((1, -1.0), (int(stage), -0.5), (2, -0.1)) for stage in ("3", "4")}
    assert len(of_prompts(bodies, 3, Method("sum", last="6"))) == 2
    assert of_prompts(bodies, 3, Method("sum", last="224")) == {}


def test_log_probabilities_of_prompts_are_read_in_either_place():
    inside = {"choices": [{"prompt_logprobs": PROMPT}]}
    expected = [Token("", 0.0, ""), Token("5", -3.0, ""), Token("6", -2.0, "")]
    assert prompt_tokens(inside) == prompt_tokens({"prompt_logprobs": PROMPT}) == expected


def named(text):
    return [Token(c, -1.0, c) for c in text]


@pytest.mark.parametrize(
    ("prompt", "begun", "closed", "count"),
    [
        ("Q:", "Q:OK", "Q:OK.", 1),
        ("Q:", "Q:OK", "Q:OK.\n", 2),
        ("Q:", "Q:OK", "Q:OK", 0),
        ("Q:", "Q:OK", "Q:OK ", 0),
        ("Q: ", "Q:_OK", "Q:_OK.", 0),
        ("Q:", "Q:OK", "Q:OC.", 0),
        ("Q:", "", "", 0),
    ],
)
def test_the_end_of_a_reply_is_found_from_three_renderings(prompt, begun, closed, count):
    assert closing_tokens(named(prompt), named(begun), named(closed)) == count


def test_a_turn_keeps_the_fields_of_the_run_but_its_length():
    fields = {"model": "m", "max_tokens": 512, "temperature": 0.0}
    body = turn(fields, [{"role": "user", "content": "Q"}], "YES")
    assert body["max_tokens"] == 1 and body["temperature"] == 0.0 and body["add_generation_prompt"] is False
    assert body["messages"][-1] == {"role": "assistant", "content": "YES"}
    assert turn({"max_completion_tokens": 9}, [], "YES")["max_completion_tokens"] == 1


YES_NO = {"YES": "YES", "NO": "NO"}
STAGES = {str(i): f"Stage: {i}" for i in range(3)}


def test_the_first_token_that_differs_gives_every_choice():
    body = replied(entry("NO", {"NO": -0.2, "YES": -2.0, "Y": -9.0, "N": -8.0, "The": -5.0}), entry("!", {"!": -0.1}))
    assert of_reply(body, YES_NO) == {"YES": -2.0, "NO": -0.2}


def test_a_common_beginning_is_followed():
    digits = {" 1": -0.1, " 2": -2.5, " 0": -4.0, " 10": -6.0}
    body = replied(entry("Stage", {"Stage": -0.5, "The": -1.0}), entry(":", {":": -0.25}), entry(" 1", digits))
    assert of_reply(body, STAGES) == {"0": -4.75, "1": -0.85, "2": -3.25}
    deeper = {"A 1": "A 1", "A 2": "A 2", "B": "B"}
    body = replied(entry("A", {"A": -0.5, "B": -1.0}), entry(" 2", {" 1": -3.0, " 2": -0.1}))
    assert of_reply(body, deeper) == {"A 1": -3.5, "A 2": -0.6, "B": -1.0}


THOUGHT = [entry("It", {"It": -0.1, "NO": -9.0}), entry(" is NO", {" is NO": -0.2}), entry(".", {".": -0.1})]
ANSWER = [entry("YES", {"YES": -0.3, "NO": -1.5}), entry("<|end|>", {"<|end|>": -0.1})]
OPENS, CLOSES = (entry(tag, {tag: -0.01}) for tag in ("<think>", "</think>\n\n"))
EXPECTED = {"YES": -0.3, "NO": -1.5}


@pytest.mark.parametrize(
    ("entries", "message", "expected"),
    [
        (ANSWER, {"content": "YES"}, EXPECTED),
        (ANSWER, {"content": "YES", "reasoning_content": "It is NO."}, EXPECTED),
        ([*THOUGHT, *ANSWER], {"content": "YES", "reasoning_content": "It is NO."}, EXPECTED),
        ([OPENS, *THOUGHT, CLOSES, *ANSWER], {"content": "YES", "reasoning": "It is NO."}, EXPECTED),
        ([OPENS, *THOUGHT, CLOSES, *ANSWER], {"content": "<think>It is NO.</think>\n\nYES"}, EXPECTED),
        ([OPENS, *THOUGHT, CLOSES, *ANSWER], {"content": "YES"}, EXPECTED),
        (THOUGHT, {"content": "YES", "reasoning_content": "It is NO."}, {}),
        ([*THOUGHT, *ANSWER], {"content": "YES", "reasoning_content": "Something else."}, {}),
        ([*THOUGHT[:1], entry(" is YES", {" is YES": -0.1})], {"content": "YES", "reasoning_content": "It is YES"}, {}),
        ([*THOUGHT[:1], *ANSWER], {"content": "YES", "reasoning_content": "It YES"}, {}),
        (ANSWER, {"content": "YES; Explanation: pale"}, {}),
        (ANSWER, {"content": None}, {}),
        (ANSWER, {"content": ""}, {}),
    ],
)
def test_likelihoods_are_of_the_tokens_that_spell_the_content(entries, message, expected):
    assert of_reply(replied(*entries, **message), YES_NO) == expected


def test_white_space_before_a_reply_is_passed_over():
    body = replied(entry("\n", {"\n": -0.1}), entry(" YES", {" YES": -0.3, " NO": -1.5, "NO": -7.0}))
    assert of_reply(body, YES_NO) == {"YES": -0.3, "NO": -1.5}


@pytest.mark.parametrize(
    "body",
    [
        replied(entry("YES", {"YES": -0.1, "Yes": -4.0})),  # NO is not among them
        replied(entry("The", {"The": -0.1, "stage": -1.0})),  # another format
        replied(entry("YES", {})),
        replied(),
        {},
        None,
        {"choices": [{"logprobs": None}]},
        {"choices": [{"logprobs": {"content": [{"token": "YES", "logprob": "x", "top_logprobs": []}]}}]},
        {"choices": [{"logprobs": {"content": [{"token": 3, "logprob": -1.0, "bytes": [999], "top_logprobs": []}]}}]},
    ],
)
def test_never_a_part_of_the_choices(body):
    assert of_reply(body, YES_NO) == {}


def test_one_and_ten_are_told_apart_only_by_tokens_of_their_own():
    texts = {str(i): str(i) for i in (1, 2, 10)}
    assert of_reply(replied(entry("2", {"1": -2.0, "2": -0.1, "10": -3.0})), texts) == {
        "1": -2.0,
        "2": -0.1,
        "10": -3.0,
    }
    assert of_reply(replied(entry("2", {"1": -2.0, "2": -0.1})), texts) == {}, "1 stands for two choices"
    assert of_reply(replied(entry("1", {"1": -0.1, "2": -2.0}), entry("0", {"0": -0.1, "": -3.0})), texts) == {}


def test_chinese_choices_are_compared_by_bytes():
    half, tail = entry("?", {"?": -0.5}) | {"bytes": [0xE6, 0x9C]}, entry("?", {"?": -0.1}) | {"bytes": [0x89]}
    body = replied({**half, "top_logprobs": [half, entry("无", {"无": -1.5})]}, tail, content="有")
    assert of_reply(body, {"有": "有", "无": "无"}) == {"有": -0.5, "无": -1.5}


def test_a_token_that_begins_two_choices_is_of_neither():
    texts = {c: c for c in ("GLAUCOMA", "GLIOMA")}
    assert of_reply(replied(entry("GLIOMA", {"GL": -2.0, "GLIOMA": -0.2})), texts) == {}
    body = replied(entry("GL", {"GL": -0.5, "GLIOMA": -2.0}), entry("AUCOMA", {"AUCOMA": -0.25}))
    assert of_reply(body, texts) == {"GLAUCOMA": -0.75, "GLIOMA": -2.0}


def test_the_number_of_top_tokens():
    assert top_tokens(replied(entry("A", {"A": -1.0, "B": -2.0}))) == 2
    assert top_tokens(None) == top_tokens(replied()) == 0


def test_what_json_holds_is_read():
    body = json.loads(json.dumps(response((1, -1.0), (2, -math.log(2)))))
    assert of_prompts({"a": body, "b": body}, 3, Method("sum", last="6"))["a"] == pytest.approx(-1.693147)
