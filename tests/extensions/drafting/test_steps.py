"""The steps on phantom captions: every planted fault is found or counted as missed, and the result is balanced."""

from __future__ import annotations

from collections import Counter

import pytest

from lmod_train.core.types import Prediction, Reply
from lmod_train.extensions.drafting.caption_steps import (
    Drafts,
    Settings,
    balanced,
    counts_of,
    letters,
    paper_keywords,
    requests,
    share_true,
    written,
)
from lmod_train.extensions.drafting.captions import Caption, CaptionQuestions
from tests.captioned import FOUND_AS, made
from tests.extensions.drafting.example import statement

SETTINGS = Settings(paper_keywords(), seed=1)


@pytest.mark.parametrize("positions", ["seed", "model"])
def test_every_planted_fault_is_left_out_for_its_reason_and_nothing_else_is(positions):
    drafts, faults = made(120, 0.05, Settings(paper_keywords(), positions=positions, seed=1), lazy=0.1)
    assert {*faults.values()} >= {*FOUND_AS}
    found = {(*one.id.split("/")[:2], one.step, one.reason) for one in drafts.left if one.step != "balance"}
    planted = {(*place, *FOUND_AS[fault]) for place, fault in faults.items() if fault in FOUND_AS}
    also = {(*place, "read", "no_translation") for place, f in faults.items() if FOUND_AS.get(f, ("",))[0] == "read"}
    assert planted <= found <= planted | also
    kept = {tuple(item.id.split("/")[:2]) for item in drafts.items}
    missed = {place for place, fault in faults.items() if fault == "wrong_finding"}
    assert missed and kept.issuperset(missed - {tuple(o.id.split("/")[:2]) for o in drafts.left if o.step == "balance"})
    assert {one.reason for one in drafts.left if one.step == "balance"} <= {"not_altered", "surplus"}
    assert share_true(drafts.items) == 0.5
    if positions == "seed":
        assert max(letters(drafts.items).values()) - min(letters(drafts.items).values()) <= 1


def test_every_alteration_is_checked_and_not_only_the_first():
    items = tuple(statement(n, f"Finding {n} is seen", f"可见表现{n}") for n in range(6))
    asked = requests(Drafts(items, (), {}), {"1": Caption("1", "1.jpg", "Findings.")}, SETTINGS)
    replies = [f"Question: Nothing {n} is seen. 问：未见表现{n}" for n in range(len(asked))]
    replies[-1] = "Question: Nothing <|im_end|> is seen. 问：未见表现"
    predictions = [Prediction(r, Reply(r.id, text), text) for r, text in zip(asked, replies, strict=True)]
    done = balanced(Drafts(items, (), {}), SETTINGS, predictions)
    assert len(asked) == 3
    last = f"1/{asked[-1].chain_step.removesuffix('/false')}"
    assert [(one.id, one.reason) for one in done.left if one.step == "check"] == [(last, "marks")]


def test_the_other_reading_leaves_more_true_statements_and_no_surplus():
    drafts, _ = made(120, 0.0, Settings(reading="share_of_true"))
    assert share_true(drafts.items) == pytest.approx(0.561, abs=0.06)
    assert not drafts.left


def test_replies_that_did_not_end_are_counted_and_not_read():
    caption, task = Caption("1", "1.jpg", "Drusen."), CaptionQuestions()
    records = task.records([caption])
    text = "Q: What is seen?, A: drusen. 问：可见什么？答：玻璃膜疣。"
    ended = [
        Reply(records[0].id, text, "length"),
        Reply(records[1].id, text, "refusal"),
        Reply(records[2].id, "", "error", "no"),
    ]
    predictions = [Prediction(r, reply, task.parse(reply, r)) for r, reply in zip(records, ended, strict=True)]
    drafts = written(predictions, {"1": caption})
    assert not drafts.items
    assert Counter(one.reason for one in drafts.left) == {"truncated": 1, "refused": 1, "failed": 1}
    assert counts_of(drafts) == [("read", "failed", 1), ("read", "refused", 1), ("read", "truncated", 1)]


def test_the_same_replies_and_seed_give_the_same_questions():
    assert made(20, 0.02, SETTINGS)[0] == made(20, 0.02, SETTINGS)[0]
