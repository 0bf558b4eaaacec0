"""Drafts in replies: every layout that models give, each reason why there is none, and the way back."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lmod_train.core.types import Unparsed
from lmod_train.extensions.drafting.drafts import Draft, parts_of, read_draft
from tests.tabled import tabled

DRAFT = Draft("Which structure?", ("cup", "rim", "macula", "fovea"), "B", "PRESENT. At the\nupper left.")


def test_the_requested_form_is_read_back():
    assert read_draft(DRAFT.text) == DRAFT
    assert (DRAFT.right, DRAFT.wrong) == ("rim", ("cup", "macula", "fovea"))


@tabled(
    "change",
    [
        lambda t: f"<think>Question: hm</think>\n{t}",
        lambda t: t.replace("Options:\n", ""),
        lambda t: t.replace("Question:", "**Question:**").replace("Answer:", "**Answer**:"),
        lambda t: t.replace("Options", "OPTIONS").replace("Right letter: B", "Right letter: (B)"),
        lambda t: t.replace("A. ", "A) ").replace("B. ", "(B) ").replace("C. ", "C: "),
        lambda t: t.replace("Which structure?", "Which\n  structure?"),
        lambda t: t.replace("macula", "macula\n"),
        lambda t: f"Here it is.\n\n{t}\n",
    ],
)
def test_other_layouts_are_read_as_the_same_draft(change):
    assert read_draft(change(DRAFT.text)) == DRAFT


@tabled(
    ("reply", "reason", "detail"),
    [
        ("", "empty", ""),
        ("...", "empty", "..."),
        ("I cannot write questions.", "no_match", "no Question"),
        (DRAFT.text.replace("Right letter: B\n", ""), "no_match", "no Right letter"),
        (DRAFT.text.replace("Right letter: B", "Right letter: none"), "no_match", "no letter after"),
        (DRAFT.text.replace("Right letter: B", "Right letter: Both"), "no_match", "no letter after"),
        (f"{DRAFT.text}\n{DRAFT.text}", "ambiguous", "two lines Question"),
        (DRAFT.text.replace("C. ", "D. "), "ambiguous", "letters of the options: A B D D"),
        (DRAFT.text.partition("Answer")[0], "no_match", "no Answer"),
        ("x " * 20_000, "repetition", "x x"),
    ],
)
def test_a_reply_without_a_draft_gives_the_reason(reply: str, reason: str, detail: str):
    found = read_draft(reply)
    assert isinstance(found, Unparsed)
    assert found.reason == reason and detail in found.detail


def test_a_letter_of_no_option_is_kept_and_has_no_right_option():
    found = read_draft(DRAFT.text.replace("letter: B", "letter: E"))
    assert isinstance(found, Draft) and (found.letter, found.right) == ("E", "")


@given(st.text(max_size=400))
def test_no_text_raises(text: str):
    for reply in (text, DRAFT.text + text, text.join(DRAFT.text.splitlines(keepends=True))):
        assert isinstance(read_draft(reply), Draft | Unparsed)


def test_parts_of_a_long_answer():
    assert parts_of(replace(DRAFT, answer="Size: small\nin width\nSize: large\n**Shape:** round").answer) == {
        "size": "small in width",
        "shape": "round",
    }
