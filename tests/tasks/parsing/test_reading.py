"""Steps common to all parsers: finish reasons, thinking, markup and loops; no parser raises."""

from __future__ import annotations

import importlib
import json
import pkgutil
import random
import re
import string
from itertools import cycle, product
from pathlib import Path
from re._constants import MAXREPEAT
from re._parser import SubPattern
from re._parser import parse as parse_pattern
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmod_train.core.types import Reply, Unparsed, status_of
from lmod_train.tasks import parsing
from lmod_train.tasks.parsing.choice import parse_choice
from lmod_train.tasks.parsing.option import parse_option
from lmod_train.tasks.parsing.reading import read
from lmod_train.tasks.parsing.regions import parse_regions
from lmod_train.tasks.parsing.sex import parse_sex
from lmod_train.tasks.parsing.stage import parse_stage
from tests.growth import growth
from tests.tabled import stored, tabled
from tests.tasks.parsing import grids
from tests.tasks.parsing.asked import ASKS, parse
from tests.tasks.parsing.test_replies import REPLIES

POLAR = ("GLAUCOMA", "NON-GLAUCOMA")
PARSERS = [
    (parse_choice, POLAR),
    (parse_choice, ("cataract", "diabetic retinopathy", "glaucoma", "normal")),
    (parse_choice, ("TRUE", "FALSE")),
    (parse_stage, ("1", "2", "3", "4")),
    (parse_sex, ("MALE", "FEMALE")),
    (parse_regions, ("optic disc", "optic cup")),
    (parse_option, ("optic disc", "optic cup", "no abnormality", "yes")),
]


TWO_ANSWERS = {
    "glaucoma": (("GLAUCOMA", "GLAUCOMA"), ("NON-GLAUCOMA", "NON-GLAUCOMA")),
    "four_way": (("DISEASE: cataract", "cataract"), ("DISEASE: glaucoma", "glaucoma")),
    "conditions drusen": (("DRUSEN TRUE", "TRUE"), ("DRUSEN FALSE", "FALSE")),
    "conditions abnormal macula": (("ABNORMAL MACULA: TRUE", "TRUE"), ("ABNORMAL MACULA: FALSE", "FALSE")),
    "sex": (("Sex: MALE", "MALE"), ("Sex: FEMALE", "FEMALE")),
    "age_group": (("Age Group: 4", "40–49"), ("Age Group: 5", "50–59")),
    "icdr": (("Stage: 2", "2"), ("Stage: 3", "3")),
    "option al": (("Answer: B", "inferior temporal quadrant"), ("Answer: C", "superior nasal quadrant")),
    "option zdd": (("B", "青光眼"), ("C", "年龄相关性黄斑变性")),
    "anatomy CFP": (
        ("Region ID: 1; Type: optic disc", {1: "optic disc"}),
        ("Region ID: 1; Type: optic cup", {1: "optic cup"}),
    ),
}  # what is written and what is read


BETWEEN = (". ", "\n\n", "; Explanations: as seen. ", "; Explanations: as seen.\n\n")


@tabled("ask", TWO_ANSWERS)
@tabled("cue", grids.CORRECTIONS)
def test_an_announced_correction_replaces_the_answer(cue: str, ask: str) -> None:
    """Both orders, each with one of the texts between; the slow test has all of them."""
    shift = grids.CORRECTIONS.index(cue) + [*TWO_ANSWERS].index(ask)
    for i, ((first, _), (second, wanted)) in enumerate((TWO_ANSWERS[ask], TWO_ANSWERS[ask][::-1])):
        text = first + BETWEEN[(shift + 3 * i) % len(BETWEEN)] + cue.format(b=second)
        assert parse(ask, text) == wanted, text


@pytest.mark.slow
@pytest.mark.parametrize("ask", TWO_ANSWERS)
def test_an_announced_correction_replaces_the_answer_with_any_text_between(ask: str) -> None:
    for cue, between, turn in product(grids.CORRECTIONS, BETWEEN, (1, -1)):
        (first, _), (second, wanted) = TWO_ANSWERS[ask][::turn]
        text = first + between + cue.format(b=second)
        assert parse(ask, text) == wanted, text


@pytest.mark.parametrize(("text", "finish", "error"), [("", "error", "HTTP 500"), ("GLAUCOMA", "stop", "late error")])
def test_an_error_is_failed_whatever_text_came_with_it(text: str, finish: str, error: str) -> None:
    assert read(Reply("id", text, finish, error), parse_choice, POLAR) == Unparsed("failed", error)  # type: ignore[arg-type]


_PIECES = st.sampled_from(
    ["glaucoma", "NON-GLAUCOMA", "no ", "not", "Region ID: ", "1", "; Type: ", "optic disc", "Stage: ",
    "200 um", "IV", "<", ">",
     "<think>", "</think>", "{", '"', "\n", ",", ".", "Final answer:", "Correction:", "yes", "/", "未见",
     "青光眼", "是否", "\ud800",
     "\x00", "&#xD800;", "\u202e", "²", "９" * 20, "Explanation:", "DISEASE:", "normal", "cannot", " or ",
     "\\boxed{", "（", "一期"]
)  # fmt: skip


@pytest.mark.parametrize(("parser", "choices"), PARSERS)
@settings(max_examples=25, deadline=None)
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


MODULES = [
    importlib.import_module(f"{parsing.__name__}.{found.name}") for found in pkgutil.iter_modules(parsing.__path__)
]
PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": pattern
    for module in MODULES
    for name, pattern in vars(module).items()
    if isinstance(pattern, re.Pattern)
}
CHECKED = {"visible._SPACELESS", "clean._RUN"}  # what is unbounded repeats what matched, and is behind the place


def unbounded(tree: Any) -> bool:
    """Return whether a parsed pattern repeats anything without an upper bound."""
    for operator, argument in tree:
        if str(operator) in ("MAX_REPEAT", "MIN_REPEAT") and argument[1] is MAXREPEAT:
            return True
        inner = argument if isinstance(argument, list | tuple) else [argument]
        parts = [part for item in inner for part in (item if isinstance(item, list) else [item])]
        if any(unbounded(part) for part in parts if isinstance(part, SubPattern)):
            return True
    return False


@tabled("pattern", ["a*", "(?:ab)+?", "x|(?:y(?=z{2,}))", "(?<!q)(?:w{0,3}r+)"])
def test_an_unbounded_repeat_is_found(pattern: str) -> None:
    assert unbounded(parse_pattern(pattern))


@tabled("name", sorted(set(PATTERNS) - CHECKED))
def test_no_pattern_repeats_without_a_bound(name: str) -> None:
    # With a bound on every repeat the work at each place of a reply is bounded, so that time is linear in its length.
    assert not unbounded(parse_pattern(PATTERNS[name].pattern, PATTERNS[name].flags & ~re.UNICODE))
    assert not re.search(r"\{\d+, \d+\}", PATTERNS[name].pattern)  # braces that an f-string took for its own


STRUCTURES = stored(__file__, "linear.STRUCTURES")
"""Headings, marks, boxes, columns, numbers and fields."""
UNITS = [
    *string.punctuation, " ", "\n", *json.loads((Path(__file__).parent / "hostile.json").read_text("utf-8")),
    *STRUCTURES,
]  # fmt: skip
SIZE = 4_000
READ_BY = ("glaucoma", "conditions abnormal macula", "icdr", "sex", "age_group", "anatomy SS", "option al")
"""Questions that every parser has one of."""


def hostile(unit: str, size: int, first: int = 0) -> tuple[str, str]:
    """Return the unit over and over, plain and numbered so that it is no loop, which would be cut off first."""
    numbered = "".join(f"{unit}{i * i % 97 if i % 3 else ''}" for i in range(first, first + size // len(unit)))
    return (unit * size)[:size], numbered[:size]


def growth_of(ask: str, unit: str, size: int, times: int) -> float:
    texts = {long: hostile(unit, long) for long in (size, times * size)}
    return growth(lambda long: [parse(ask, text) for text in texts[long]], size, times)


@pytest.mark.parametrize(("ask", "unit"), stored(__file__, "reading.adversarial_text_is_read_in_linear_time"))
def test_adversarial_text_is_read_in_linear_time(ask: str, unit: str) -> None:
    """One unit a parser; the slow test reads every unit with each of them."""
    assert growth_of(ask, unit, SIZE // 8, 8) < 2.5


def test_many_bare_answers_are_read_in_linear_time() -> None:
    assert growth_of("conditions abnormal macula", "xy: TRUE ", SIZE, 8) < 2.5


@tabled(("ask", "unit"), zip(cycle(READ_BY), UNITS, strict=False))
def test_adversarial_text_never_raises(ask: str, unit: str) -> None:
    assert status_of(parse(ask, hostile(unit, SIZE // 8)[1])) in ("answered", "unparsed", "refused", "truncated")


def looped_in_linear_time(unit: str) -> None:
    for ask in ("glaucoma", "conditions drusen", "macular_hole_stage", "sex", "age_group", "anatomy CFP"):
        assert growth(lambda size, ask=ask: parse(ask, (unit * size)[:size]), 12_500) < 2.5, ask


def test_a_model_that_loops_is_read_in_linear_time() -> None:
    looped_in_linear_time("optic disc, ")


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["(", "{", "[", "-", ":", "|", "?", "\n", '"', "~", "optic "])
def test_a_model_that_loops_on_anything_is_read_in_linear_time(unit: str) -> None:
    looped_in_linear_time(unit)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_long_adversarial_text_is_read_in_linear_time(unit: str) -> None:
    for ask in READ_BY:
        assert growth_of(ask, unit, SIZE, 10) < 2.5, ask


PLACES = (
    string.printable
    + "‑–—→：；，。？！（）【】「」ⅠⅦİıſK²½①％：未无非否是有青光眼期级第组岁男女\u200b\u202e\ud800\x00🗸✗"
)


def mutated(text: str, chance: random.Random) -> str:
    """Return a reply with some pieces left out, doubled, moved, or exchanged for any sign."""
    for _ in range(chance.randint(1, 4)):
        at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        to = min(to, at + chance.randint(0, 12))
        piece = "".join(chance.choices(PLACES, k=chance.randint(1, 3)))
        text = chance.choice(
            (
                text[:at] + text[to:],
                text[:at] + text[at:to] * 3 + text[to:],
                text[:at] + piece + text[to:],
                text[at:] + text[:at],
            )
        )
    return text


def survive(count: int, seed: int) -> None:
    """Read so many mutated replies, each by its own task and by another; a parser that raises ends it."""
    chance = random.Random(seed)
    for _ in range(count):
        row, other = chance.choice(REPLIES), chance.choice(ASKS)
        text = mutated(row["reply"], chance)
        for ask in (row["ask"], other):
            answer = parse(ask, text, chance.choice(("stop", "length")))
            assert status_of(answer) in ("answered", "unparsed", "refused", "truncated")
            assert not isinstance(answer, Unparsed) or answer.reason != "parser_error"


def test_mutated_replies_never_raise() -> None:
    survive(300, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_a_hundred_thousand_mutated_replies_never_raise(seed: int) -> None:
    survive(10_000, seed)  # at the parsers themselves: the gate in `parse_replies` is not on this way


NUMERALS = ["Ⅶ", "VV", "İ", "ı", "²", "①", "IIII", "VIX", "〇〇", "٣", "ⅻ", "½", "1e9", "9" * 40, "-0", "+2"]
NUMBERED = stored(__file__, "reading.NUMBERED")


@tabled("numeral", NUMERALS)
@tabled("layout", NUMBERED)
def test_strange_numerals_never_raise(numeral: str, layout: str) -> None:
    """Each text by every parser, and by the tasks in turn; the slow test has every task."""
    text = layout.format(numeral)
    for parser, choices in PARSERS:
        parser(text, choices)
    for ask in ASKS[(len(layout) + len(numeral)) % 8 :: 8]:
        parse(ask, text)


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKS)
def test_strange_numerals_never_raise_in_any_task(ask: str) -> None:
    for numeral, layout in product(NUMERALS, NUMBERED):
        parse(ask, layout.format(numeral))


def test_a_heading_before_a_list_of_what_is_absent_changes_nothing():
    for heading in ("", "Findings:\n", "Here is my reading of the image:\n\n"):
        text = f"{heading}The following are absent: AMD, DR, glaucoma."
        assert read(Reply("a", text), parse_choice, ("GLAUCOMA", "NON-GLAUCOMA")) == "NON-GLAUCOMA", heading
