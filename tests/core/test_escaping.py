import csv
import io
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmod_train.core.escaping import for_csv, for_latex, for_markdown, for_terminal, from_csv

TEXTS = st.text(st.characters(exclude_categories=())) | st.text("=+-@'\\u0d1b \t\n\x1b\u202e<|9.e", max_size=12)
COMMANDS = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\rb",
    "a\nb",
    "a\x08b",
    "\u202egpj.exe",
    "\u2066x\u2069",
    "\u2028",
    "\U000e0041",
    "\udcff",
    "\ufeff",
]


@pytest.mark.parametrize("medium", [for_terminal, for_markdown, for_csv])
def test_what_commands_a_terminal_is_written_out(medium):
    shown = {text: medium(f"x{text}y") for text in COMMANDS}
    assert [(t, s) for t, s in shown.items() if not (s.isprintable() and "\\u" in s.lower())] == []


@given(TEXTS)
def test_a_terminal_gets_one_line_of_letters(text):
    shown = for_terminal(text)
    shown.encode("utf-8")
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not [
        c
        for c in shown
        if unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    ]


@given(TEXTS)
def test_markdown_holds_no_tag_and_no_column_of_its_own(text):
    shown = for_markdown(text)
    assert not re.search(r"<(?! ?\d)|>|\n", shown), "no tag begins with a digit"
    for place, letter in enumerate(shown):
        if letter in "|`[]!*":
            before = shown[:place]
            assert (len(before) - len(before.rstrip("\\"))) % 2 == 1


@pytest.mark.parametrize(
    "text", ["plain words", "四 级", "cnn_anatomy", "a b-c (d), 0.5 / 7 %", "p < 0.001", "Ünï", "👁️‍🗨️"]
)
def test_ordinary_text_stays_as_it_is(text):
    assert for_terminal(text) == for_markdown(text) == for_csv(text) == text


@given(TEXTS)
@example("'=1")
@example("''-")
@example("\\u005c")
@example("\\U0000005c")
@example(" =1")
def test_every_text_comes_back_from_a_table(text):
    file = io.StringIO()
    csv.writer(file).writerow([for_csv(text), "end"])
    (row,) = csv.reader(io.StringIO(file.getvalue()))
    assert from_csv(row[0]) == text
    assert file.getvalue().count("\n") == 1


@given(TEXTS)
def test_no_cell_begins_a_formula(text):
    cell = for_csv(text)
    if cell.strip()[:1] in ("=", "+", "-", "@", "＝", "＋", "－", "＠"):
        float(cell)


@pytest.mark.parametrize("number", [-1, 0, 3, -0.25, 1e-9, -1.5e300, 10**20])
def test_numbers_stay_numbers(number):
    assert for_csv(number) == str(number) and for_csv(str(number)) == str(number)
    assert type(number)(from_csv(for_csv(number))) == number


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", " =1", "-", "+", "--1", "-1e", "-inf", "-１"]
)
def test_formulas_of_every_spelling_are_texts(text):
    assert for_csv(text) != text and from_csv(for_csv(text)) == text
    assert for_csv(text).strip()[0] in "'\\"


PRINTED = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">"}
PRINTED |= {"textbar": "|", "char34": '"'}
LATEX = st.text("\\{}$&#%_^~<>|\"[]*-`'?!,ab \n\x1b\u202e青", max_size=20) | TEXTS


def printed(source):
    """What LaTeX prints for escaped text: an own reading of the few commands that may be in it."""
    pattern = r"\\(?:([&%$#_{}])|([a-z]+(?:34)?)\{\})|(\{[\[\]*]\})|(\{\})|([^\\{}$&#%_^~])"
    out, at = [], 0
    while at < len(source):
        found = re.compile(pattern, re.DOTALL).match(source, at)
        assert found, source[at : at + 20]
        sign, command, bracket, _, letter = found.groups()
        out.append(sign or (PRINTED[command] if command else "") or (bracket or "")[1:2] or letter or "")
        at = found.end()
    return "".join(out)


@given(LATEX)
@example(r"\input{/etc/passwd} \write18{ls} \catcode`\@=11 ^^5cinput")
@example("50 % of $x_1^2$ & #1 ~ {a} | <b> \"c\" [d] *e* --- '' `` ?` ,,")
def test_latex_prints_the_text_and_reads_no_command(text):
    shown = for_latex(text)
    assert printed(shown) == for_terminal(text)
    assert not re.search(r"--|,,|``|''|[?!]`", shown)


@pytest.mark.parametrize("text", ["[2em]", "*", "[", " [x] more"])
def test_no_text_is_an_option_of_the_row_before(text):
    assert not for_latex(text).lstrip().startswith(("[", "*"))


def test_chinese_and_accents_stay_and_commands_of_a_terminal_are_written_out_in_latex():
    assert for_latex("青光眼 é") == "青光眼 é"
    assert for_latex("\x1b[2J\u202e") == r"\textbackslash{}u001b{[}2J\textbackslash{}u202e"


@given(st.integers(0, 2**32 - 1))
@example(0x110000)
def test_a_cell_that_looks_like_a_code_is_text_if_no_character_has_it(number):
    cell = f"\\U{number:08x}"
    assert from_csv(cell) == (chr(number) if number < 0x110000 else cell)
