"""Steps common to all parsers: finish reasons, thinking, markup and loops; no parser raises."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import string
from itertools import cycle, product
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
from lmod_train.tasks.parsing.stage import parse_stage
from lmod_train.tasks.parsing.visible import REPEATS, split_repetition
from tests.growth import growth
from tests.tabled import tabled
from tests.tasks.parsing import grids
from tests.tasks.parsing.asked import ASKS, parse
from tests.tasks.parsing.test_replies import REPLIES

POLAR = ("GLAUCOMA", "NON-GLAUCOMA")
PARSERS = [
    (parse_choice, POLAR),
    (parse_choice, ("cataract", "diabetic retinopathy", "glaucoma", "normal")),
    (parse_choice, ("TRUE", "FALSE")),
    (parse_stage, ("1", "2", "3", "4")),
    (parse_regions, ("optic disc", "optic cup")),
    (parse_option, ("optic disc", "optic cup", "no abnormality", "yes")),
]


def outcome(text: str, finish: Any = "stop", error: str = "") -> str:
    answer = read(Reply("id", text, finish, error), parse_choice, POLAR)
    return f"?{answer.reason}" if isinstance(answer, Unparsed) else str(answer)


@tabled(
    ("text", "finish", "wanted"),
    [
        ("GLAUCOMA; Explanation: the cup is", "length", "GLAUCOMA"),
        ("The image you have provided appears to be a", "length", "?truncated"),
        ("", "length", "?truncated"),
        ("", "stop", "?empty"),
        ("", "content_filter", "?refused"),
        ("The image you have provided appears to be a", "content_filter", "?refused"),
        ("GLAUCOMA; Explanation: the", "content_filter", "GLAUCOMA"),
        ("I will not say GLAUCOMA.", "refusal", "?refused"),
        ("GLAUCOMA", "refusal", "?refused"),
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


@tabled("ask", [ask for ask in TWO_ANSWERS if "anatomy" not in ask])
@tabled("doubt", ["", " I cannot decide.", " I can't make up my mind.", " 我无法判断。"])
@tabled("join", ["; {b}.", " or {b}.", ". Or rather {b}?", "\n{b}\n"])
def test_two_answers_without_a_correction_are_unparsed(join: str, doubt: str, ask: str) -> None:
    for (first, _), (second, _) in (TWO_ANSWERS[ask], TWO_ANSWERS[ask][::-1]):
        read_as = parse(ask, first + join.format(b=second) + doubt)
        assert isinstance(read_as, Unparsed), first + join.format(b=second)
        assert read_as.reason == "ambiguous" or "rather" in join, first + join.format(b=second) + doubt


@tabled("ask", [ask for ask in TWO_ANSWERS if "anatomy" not in ask])
def test_two_explained_answers_are_unparsed(ask: str) -> None:
    (first, _), (second, _) = TWO_ANSWERS[ask]
    for label in ("Explanation", "Explanations", "Reason"):
        text = f"{first}; {label}: as seen.\n{second}; {label}: as seen."
        assert isinstance(parse(ask, text), Unparsed), text


@pytest.mark.parametrize(("text", "finish", "error"), [("", "error", "HTTP 500"), ("GLAUCOMA", "stop", "late error")])
def test_an_error_is_failed_whatever_text_came_with_it(text: str, finish: str, error: str) -> None:
    assert read(Reply("id", text, finish, error), parse_choice, POLAR) == Unparsed("failed", error)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [REPEATS - 1, REPEATS])
def test_a_loop_begins_at_the_measured_count(count: int) -> None:
    assert split_repetition("It is a thin rim. " * count)[1] is (count == REPEATS)


LOOPED = ["rim", "disc", "cup", "vein", "macula", "fovea", "artery", "drusen", "scar"]


@tabled("unit", range(1, 10))
def test_a_loop_has_units_of_up_to_eight_words(unit: int) -> None:
    text = "The image shows: "
    looped = " ".join(LOOPED[:unit]) + ". "
    whole = text + looped * 12
    assert split_repetition(whole) == ((text, True) if unit <= 8 else (whole, False))
    assert split_repetition(text + looped * 8)[1] is (unit <= 8)
    assert split_repetition(text + looped * 7) == (text + looped * 7, False)


def test_text_ends_before_the_first_of_several_loops() -> None:
    for first, second in (
        ("rim disc cup. ", "vein. "),
        ("vein. ", "rim disc cup. "),
        ("rim. ", "见见见"),
        ("见见见", "rim. "),
    ):
        text = f"Seen: {first * 9}and {second * 9}"
        assert split_repetition(text) == ("Seen: ", True), text


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
CHECKED = {"repetition._SPACELESS", "clean._RUN"}  # what is unbounded repeats what matched, and is behind the place


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


UNITS = [
    *(c for c in string.punctuation + " \n"),
    "a",
    "no ",
    "no, ",
    "not ",
    "Yes/no, ",
    "glaucoma, cataract; ",
    "glaucoma ",
    "Glaucoma: ",
    "drusen - ",
    "GLAUCOMA: no glaucoma, ",
    "Region ID: 1; Type: ",
    "Region ID: 1 and ",
    "1 - a",
    "1, ",
    "<think>",
    "Diagnosis: ",
    "stage ",
    "Stage: 2 ",
    "R2 ",
    "non-",
    "the ",
    "cannot ",
    "未见",
    "是",
    "青光眼",
    "青光眼：",
    "2级",
    "yes/",
    "Final answer: ",
    "The answer is ",
    "wait ",
    "i ",
    "Sex: ",
    "male ",
    "Age Group: 3; ",
    "30-39 ",
    "over 80, ",
    "group 3 ",
    "\\boxed{",
    "&lt;",
    "<b>",
    "~~",
    "macula is ",
    "is ",
    "explanation",
    "I am unable to ",
    "consult a ",
    "xy: TRUE ",
    "diabetic or ",
    "diabetic, hypertensive/",
    "mild NPDR ",
    "moderate to ",
    "drusen or AMD ",
    "based on , ",
    "between stage 2 and ",
    "in glaucoma, ",
    "a normal eye with ",
    "the macula that is not ",
    "not call the ",
    "异常的不是",
    "第1个框为",
    "框1和",
    ". Or rather ",
    "GLAUCOMA: 7 ",
    "no image ",
    "not say that no ",
    "there is, however, ",
    "I first thought ",
    "not glaucoma but ",
    "not free of the ",
    "- no healthy rim ",
    "Diagnosi: glaucmoa\n",
    "AMD TRUE? ",
    "#1 iris, ",
    "grade this eye as ",
    "0 means no retinopathy, ",
    "Normal: the macula and ",
    "an eye with ",
    "patient's sex ",
    "the stage of the hole in ",
    "my mother has glaucoma ",
    "最初认为",
    "不是视盘，而是",
    "1 (optic disc), ",
    "2-3期",
    "had the cup been ",
    "the age group of this patient is ",
    "not in this eye ",
    "either glaucoma or ",
    "with a cup it would be ",
    "the screener said ",
    "what looks like ",
    "male rather than female ",
    "与其说是男性，",
    "glaucoma: no evidence of it, ",
    "not see anything abnormal about the ",
    "vessels of this fundus ",
    "glaucoma because of ",
    "| Stage | Why |\n|---|---|\n",
    "| a ",
    "a; Why: b\n",
    "region 1 (optic disc ",
    "everything about ",
    "male patients a ",
    "Sex: M, ",
    "A or ",
    "A, B and ",
    "the answer is A, ",
    "option ",
    "a: ",
    "A: no\n",
    "A. superior or ",
    "superior temporal or ",
    "is likely the ",
    "选A或",
    "Confidence: 8",
    "confidence ",
]
SIZE = 4_000
READ_BY = ("glaucoma", "conditions abnormal macula", "icdr", "sex", "age_group", "anatomy SS", "option al")
"""Questions that every parser has one of."""


def hostile(unit: str, size: int) -> tuple[str, str]:
    """Return the unit over and over, plain and numbered so that it is no loop, which would be cut off first."""
    numbered = "".join(f"{unit}{i * i % 97 if i % 3 else ''}" for i in range(size // len(unit)))
    return (unit * size)[:size], numbered[:size]


def growth_of(ask: str, unit: str, size: int, times: int) -> float:
    texts = {long: hostile(unit, long) for long in (size, times * size)}
    return growth(lambda long: [parse(ask, text) for text in texts[long]], size, times)


@pytest.mark.parametrize(
    ("ask", "unit"),
    [
        ("glaucoma", "no "),
        ("conditions abnormal macula", "Yes/no, "),
        ("icdr", "stage "),
        ("sex", '"'),
        ("age_group", "30-39 "),
        ("anatomy SS", "Region ID: 1; Type: "),
        ("option al", "A or "),
    ],
)
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
NUMBERED = [
    "{}级",
    "Stage: {}",
    "stage {}",
    "Age Group: {}",
    "Group {}",
    "第{}组",
    "{}岁",
    "{}0s",
    "R{}",
    "Region ID: {}; Type: Iris",
]


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


@pytest.mark.xfail(reason="the list is read as findings; a correction raises the version of every task", strict=True)
def test_a_heading_before_a_list_of_what_is_absent_changes_nothing():
    for heading in ("", "Findings:\n", "Here is my reading of the image:\n\n"):
        text = f"{heading}The following are absent: AMD, DR, glaucoma."
        assert read(Reply("a", text), parse_choice, ("GLAUCOMA", "NON-GLAUCOMA")) == "NON-GLAUCOMA", heading
