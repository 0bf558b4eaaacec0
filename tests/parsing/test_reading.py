"""What is common to all parsers: how a reply ended, thinking, markup, loops, and that nothing ever raises."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.parsing.choice import parse_choice
from lmod_train.parsing.reading import read
from lmod_train.parsing.regions import parse_regions
from lmod_train.parsing.repetition import REPEATS, split_repetition
from lmod_train.parsing.stage import parse_stage
from lmod_train.types import Reply, Unparsed, status_of

POLAR = ("GLAUCOMA", "NON-GLAUCOMA")
PARSERS = [
    (parse_choice, POLAR),
    (parse_choice, ("cataract", "diabetic retinopathy", "glaucoma", "normal")),
    (parse_choice, ("TRUE", "FALSE")),
    (parse_stage, ("1", "2", "3", "4")),
    (parse_regions, ("optic disc", "optic cup")),
]


def outcome(text: str, finish: Any = "stop", error: str = "") -> str:
    answer = read(Reply("id", text, finish, error), parse_choice, POLAR)
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else str(answer)


@pytest.mark.parametrize(
    ("text", "finish", "wanted"),
    [
        ("GLAUCOMA; Explanation: the cup is", "length", "GLAUCOMA"),
        ("The image you have provided appears to be a", "length", "?truncated"),
        ("", "length", "?truncated"),
        ("", "stop", "?empty"),
        ("</s>", "stop", "?empty"),
        ("\u200b\ufeff", "stop", "?empty"),
        ("I'm sorry, I cannot diagnose this as I", "length", "?refused"),
        ("<think>It might be GLAUCOMA", "length", "?truncated"),
        ("<think>It is GLAUCOMA.", "stop", "?truncated"),
        ("<think>It is GLAUCOMA.</think>", "stop", "?empty"),
        ("<think>It is GLAUCOMA.</think>NON-GLAUCOMA", "stop", "NON-GLAUCOMA"),
        ("It is GLAUCOMA.</think>NON-GLAUCOMA", "stop", "NON-GLAUCOMA"),
        ("GLAUCOMA<think>or maybe NON-GLAUCOMA", "length", "GLAUCOMA"),
        ("◁think▷GLAUCOMA◁/think▷NON-GLAUCOMA", "stop", "NON-GLAUCOMA"),
        ("◁think▷GLAUCOMA", "stop", "?truncated"),
        ("[THINK]GLAUCOMA[/THINK]NON-GLAUCOMA", "stop", "NON-GLAUCOMA"),
        ("<unused94>thought GLAUCOMA<unused95>NON-GLAUCOMA", "stop", "NON-GLAUCOMA"),
        ("<|channel|>analysis<|message|>GLAUCOMA<|channel|>final<|message|>NON-GLAUCOMA", "stop", "NON-GLAUCOMA"),
        ("<think>a</think><think>GLAUCOMA</think>NON-GLAUCOMA", "stop", "NON-GLAUCOMA"),
        ("<thinking>GLAUCOMA</thinking>\n<answer>NON-GLAUCOMA</answer>", "stop", "NON-GLAUCOMA"),
        ("ＧＬＡＵＣＯＭＡ", "stop", "GLAUCOMA"),
        ("<b>GLAUCOMA</b><br>Explanation: x", "stop", "GLAUCOMA"),
        ("&lt;GLAUCOMA&gt;", "stop", "GLAUCOMA"),
        ("GLAUCOMA<end_of_sentence>", "stop", "GLAUCOMA"),
        ("glaucoma " * 200, "length", "?repetition"),
        ("sign sign sign sign sign sign sign sign sign", "length", "?repetition"),
        ("GLAUCOMA; Explanations: " + "planations: " * 30, "length", "GLAUCOMA"),
        ("<planations: <planations: " + "planations: " * 30, "stop", "?repetition"),
        ("青光青光青光青光青光青光青光青光青光", "length", "?repetition"),
    ],
)
def test_endings(text: str, finish: str, wanted: str) -> None:
    assert outcome(text, finish) == wanted


@pytest.mark.parametrize(("text", "finish", "error"), [("", "error", "HTTP 500"), ("GLAUCOMA", "stop", "late error")])
def test_an_error_is_failed_whatever_text_came_with_it(text: str, finish: str, error: str) -> None:
    assert read(Reply("id", text, finish, error), parse_choice, POLAR) == Unparsed("failed", error)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [REPEATS - 1, REPEATS])
def test_a_loop_begins_at_the_measured_count(count: int) -> None:
    assert split_repetition("It is a thin rim. " * count)[1] is (count == REPEATS)


_PIECES = st.sampled_from(
    ["glaucoma", "NON-GLAUCOMA", "no ", "not", "Region ID: ", "1", "; Type: ", "optic disc", "Stage: ",
    "200 um", "IV", "<", ">",
     "<think>", "</think>", "{", '"', "\n", ",", ".", "Final answer:", "Correction:", "yes", "/", "未见",
     "青光眼", "是否", "\ud800",
     "\x00", "&#xD800;", "\u202e", "²", "９" * 20, "Explanation:", "DISEASE:", "normal", "cannot", " or ",
     "\\boxed{", "（", "一期"]
)  # fmt: skip


@pytest.mark.parametrize(("parser", "choices"), PARSERS)
@settings(max_examples=80, deadline=None)
@given(text=st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)), cut=st.booleans())
def test_nothing_raises_and_answers_are_legal(parser: Any, choices: tuple[str, ...], text: str, cut: bool) -> None:
    answer = read(Reply("id", text, "length" if cut else "stop"), parser, choices)
    assert status_of(answer) in ("answered", "unparsed", "refused", "truncated")
    if parser is parse_regions and not isinstance(answer, Unparsed):
        assert isinstance(answer, dict)
        assert any(structure in choices for structure in answer.values())
        assert all(number >= 0 for number in answer)
    elif not isinstance(answer, Unparsed):
        assert answer in choices


@pytest.mark.parametrize(("parser", "choices"), PARSERS)
@pytest.mark.parametrize(
    "unit",
    ["a", " ", "\n", "no ", "no, ", "glaucoma, cataract; ", "Region ID: 1; Type: ", "Region ID: 1 and ",
    "1, ", "<", "<think>",
     "Diagnosis: ", "stage ", "non-", "the ", "cannot ", "未见", "是", "((((", "yes/", "Final answer: ", "\"'",
     "- ", "wait ", "i "],
)  # fmt: skip
def test_time_is_linear_on_hostile_text(parser: Any, choices: tuple[str, ...], unit: str) -> None:
    # Numbered so that the text is no loop, which would be cut away before the parser sees it.
    short, long = (
        (f"{unit}{i % 7 if i % 3 else ''}" for i in (0, 1)),
        "".join(f"{unit}{i * i % 97}" for i in range(3000)),
    )
    read(Reply("id", "".join(short)), parser, choices)
    text = long[:20000]
    started = time.process_time()
    read(Reply("id", text), parser, choices)
    parser(text, choices)
    parser((unit * 20000)[:20000], choices)
    assert time.process_time() - started < 1.5
