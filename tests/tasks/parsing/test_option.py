"""Labelled replies to single-choice questions; `?reason` is the reason of an `Unparsed`."""

from __future__ import annotations

import random

import pytest

from lmod_train.core.option_letters import LETTERS
from lmod_train.core.types import Reply, Unparsed
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from tests.tabled import tabled
from tests.tasks.parsing.options import OPTIONS, labelled
from tests.tasks.parsing.test_reading import mutated

FOUR = ("optic disc", "macula", "superior arcade", "periphery")


def outcome(text: str, choices: tuple[str, ...] = FOUR, cut: bool = False) -> str:
    """Return the letter of the option that is read, or the reason why there is none."""
    answer = read(Reply("id", text, "length" if cut else "stop"), parse_option, choices)
    assert isinstance(answer, str | Unparsed)
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else LETTERS[choices.index(answer)]


def measured(split: str) -> tuple[list[tuple[str, str, str]], int, int, int]:
    """Return the wrong readings of a half, and the numbers of its answers, of read replies and of right ones."""
    rows = [(row, outcome(row.reply, OPTIONS[row.asked], row.outcome == "truncated")) for row in labelled()]
    rows = [(row, found) for row, found in rows if row.split == split]
    read_ = [(row, found) for row, found in rows if not found.startswith("?")]
    wrong = [(row.reply, row.answer or row.outcome, found) for row, found in read_ if found != row.answer]
    return wrong, sum(bool(row.answer) for row, _ in rows), len(read_), len(read_) - len(wrong)


def test_there_are_enough_labelled_replies_in_both_languages() -> None:
    rows = labelled()
    assert len(rows) == len({(row.asked, row.reply) for row in rows}) >= 300
    assert len([row for row in rows if any("\u4e00" <= c <= "\u9fff" for c in row.reply)]) >= 60
    assert all(bool(row.answer) != bool(row.outcome) for row in rows)
    assert min(sum(row.split == split for row in rows) for split in ("develop", "held_out")) >= 150


def test_labelled_replies_are_read_and_not_misread() -> None:
    wrong, answers, _, right = measured("develop")
    assert wrong == [("retina and optic nerve", "none", "E")]  # the second structure is no option
    assert right == answers


def test_held_out_replies_are_read() -> None:
    wrong, answers, found, right = measured("held_out")
    assert len(wrong) <= 1 and found >= 143 and right >= 143 and answers == 145


def test_the_reasons_of_replies_without_an_answer() -> None:
    rows = [row for row in labelled() if row.split == "develop" and row.outcome not in ("", "none")]
    others = [row.reply for row in rows if outcome(row.reply, OPTIONS[row.asked], row.outcome == "truncated")
              != f"?{row.outcome}"]  # fmt: skip
    assert others == ["Yes and no.", "可能是A，也可能是B"]


@tabled(
    ("text", "wanted"),
    [
        ("B, A is wrong", "B"),
        ("A, B are wrong", "?no_match"),
        ("C/D = 0.7, so B", "B"),
        ("The B-scan shows a detachment", "?no_match"),
        ("The macula and the optic disc are both affected. B", "B"),
        ("Answer: It is the macula (B).", "B"),
        ("The lesion is on the optic disc, not the macula.", "A"),
        ("It is in the macula rather than the optic disc.", "B"),
        ("Answer: B. The optic disc (A) is normal.", "B"),
        ("B\n\nThe optic disc looks normal, so A is out.", "B"),
        ("The correct answer is B: macula, because the optic disc is unaffected.", "B"),
        ("Answer: none of the options", "?no_match"),
        ("The image shows the optic disc and the macula. The bleeding is at the superior arcade.", "?ambiguous"),
        ("I'm torn between B and C. I'll say C.", "C"),
        ("My final choice is B, although C is tempting.", "B"),
        ("Maybe B", "?no_match"),
        ("The best option is not A.", "?no_match"),
        ("The answer isn't B but C", "C"),
        ("Since A, B, and D are incorrect, C.", "C"),
        ("A: optic disc, B: macula, C: superior arcade, D: periphery", "?ambiguous"),
        ("A. optic disc ✗\nB. macula ✓\nC. superior arcade ✗\nD. periphery ✗", "B"),
        ("(A) No. (B) Yes. (C) No. (D) No.", "B"),
        ("A. optic disc\nB. macula\nC. superior arcade\nD. periphery\nThe haemorrhage makes it C.", "C"),
        ("Answer: B\n\nOptions:\nA. optic disc\nB. macula\nC. superior arcade\nD. periphery", "B"),
        ("Question: where?\nA. optic disc\nB. macula\nC. superior arcade\nD. periphery\nAnswer: B", "B"),
        ("A. macula", "?ambiguous"),
        ("Step 1: A. Step 2: B.", "?ambiguous"),
        ("IQA: A; AL: B; LC: C; DD: D; SG: A; CD: B", "?ambiguous"),
        ("IQA: A; AL: B; LC: C\nAnswer: B; Confidence: 90%", "B"),
        ("Answer: <B>; Confidence: <80>%", "B"),
        ("<b>B</b>", "B"),
        ("Answer: B; Confidence: A", "B"),
        ("B. No, wait. Or D?", "?ambiguous"),
        ("Answer: I", "?out_of_range"),
        ("Answer: Z", "?out_of_range"),
        ("Answer: E or B", "?ambiguous"),
        ("B or none", "B"),
        ("", "?empty"),
        ("<think>A</think>B", "B"),
        ("<think>so it is A", "?truncated"),
        ("A or B " * 30, "?repetition"),
        ("I'm sorry, I can't help with that.", "?refused"),
    ],
)
def test_replies(text: str, wanted: str) -> None:
    assert outcome(text) == wanted


@tabled("letter", LETTERS)
def test_every_letter_of_a_long_list_is_read(letter: str) -> None:
    options = tuple(f"finding number {name}" for name in (f"{i}{i}" for i in range(26)))
    for form in (
        "{}",
        "({})",
        "Answer: {}; Confidence: 80%",
        "Option {}",
        "答案：{}",
        "{}. " + options[LETTERS.index(letter)],
    ):
        assert outcome(form.format(letter), options) == letter, form
        if letter not in "AB":
            assert outcome(form.format(letter), options[:2]) in ("?out_of_range", "?ambiguous"), form


def survive(count: int, seed: int) -> None:
    """Read so many mutated replies; an exception, an answer that is no option, or a parser error ends it."""
    chance = random.Random(seed)
    rows = labelled()
    for _ in range(count):
        row = chance.choice(rows)
        found = outcome(mutated(row.reply, chance), OPTIONS[row.asked], chance.random() < 0.5)
        assert found != "?parser_error"


def test_mutated_replies_never_raise() -> None:
    survive(250, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_hundred_thousand_mutated_replies_never_raise(seed: int) -> None:
    survive(10_000, seed)


@tabled("choices", [("a",), ("", ""), ("x", "x"), ("A", "B"), ("(", "[a"), ("a" * 3000, "b")])
def test_strange_options_never_raise(choices: tuple[str, ...]) -> None:
    for text in ("A", "B", "x", "a and b", "(", "Answer: [a", "选B"):
        assert isinstance(parse_option(text, choices), str | Unparsed)
