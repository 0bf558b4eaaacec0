import csv
import io
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lmod_train.escaping import for_csv, for_markdown, for_terminal, from_csv

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


@pytest.mark.parametrize("text", COMMANDS)
@pytest.mark.parametrize("medium", [for_terminal, for_markdown, for_csv])
def test_what_commands_a_terminal_is_written_out(text, medium):
    shown = medium(f"x{text}y")
    assert shown.isprintable() and "\\u" in shown.lower()


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
    assert "<" not in shown and ">" not in shown and "\n" not in shown
    for place, letter in enumerate(shown):
        if letter in "|`[]!*":
            before = shown[:place]
            assert (len(before) - len(before.rstrip("\\"))) % 2 == 1


@pytest.mark.parametrize("text", ["plain words", "四 级", "cnn_anatomy", "a b-c (d), 0.5 / 7 %", "Ünï", "👁️‍🗨️"])
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
