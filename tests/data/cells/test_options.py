"""Options in every layout, and answers that are letters, texts and numbers; both polarities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmod_train.data.cells.options import counted, letters_in, listed_options, naming, with_listed
from lmod_train.data.sources.grid import read_grid
from tests.tabled import tabled

TEXTS = ["optic disc", "None", "N/A", "nil", "-"]
LETTERS = "ABCDE"
PAIRS = dict(zip(LETTERS, TEXTS, strict=True))


@tabled(
    "value",
    [
        TEXTS,
        [*TEXTS, None],
        PAIRS,
        {letter.lower(): text for letter, text in PAIRS.items()},
        {f"option_{letter}": text for letter, text in PAIRS.items()},
        repr(TEXTS),
        json.dumps(TEXTS),
        json.dumps(PAIRS),
        repr(PAIRS),
        "\n".join(TEXTS),
        "\r\n".join([*TEXTS, ""]),
        *(
            made
            for sign in ("{}. {}", "({}) {}", "{}: {}", "{}) {}", "[{}] {}", "{}、{}", "{}.{}")
            for lettered in [[sign.format(*pair) for pair in PAIRS.items()]]
            for made in (lettered, lettered[::-1], repr(lettered), "\n".join(lettered), "\n".join(lettered[::-1]))
        ),
        "A. optic disc B. None C. N/A D. nil E. -",
    ],
)
def test_options_are_read_from_every_layout(value: Any):
    assert dict(sorted(listed_options(value).items())) == PAIRS


@tabled(
    ("value", "expected"),
    [
        ("A. Type B: wet\nB. Type C: dry", ["Type B: wet", "Type C: dry"]),
        ("A. one\nB. see C. difficile", ["one", "see C. difficile"]),
        (["Hepatitis A: mild", "Hepatitis B: severe"], ["Hepatitis A: mild", "Hepatitis B: severe"]),
        (["C. difficile", "E. coli"], ["C. difficile", "E. coli"]),
        (["A. same", "A. other"], ["A. same", "A. other"]),
        ([1.0, 2, True], ["1", "2", "TRUE"]),
        (["A", "B"], ["A", "B"]),
        (["two\nlines", " blank "], ["two lines", "blank"]),
    ],
)
def test_letters_inside_an_option_are_words(value: Any, expected: list[str]):
    assert list(listed_options(value).values()) == expected


@tabled("value", ["", "[]", "nan", "None", "{}"])
def test_an_empty_cell_lists_none(value: str):
    assert listed_options(value) == {}


@tabled(
    "value",
    [
        "disc",
        ["disc"],
        "['disc' 'cup']",
        "['disc', 'cup'",
        [["disc"], ["cup"]],
        [{"text": "disc"}, {"text": "cup"}],
        {"x": "disc", "y": "cup"},
        [str(n) for n in range(11)],
        "x" * 30_000,
        "[" * 5000,
    ],
)
def test_what_lists_no_options_says_so(value: Any):
    assert "list of" in listed_options(value)


@tabled(
    ("header", "letters"),
    [
        ("option_A;option_B", "AB"),
        ("Option A;Option B", "AB"),
        ("optionA;optionB", "AB"),
        ("choice_a;choice_b", "AB"),
        ("Choice 1;Choice 2", "AB"),
        ("option_0;option_1", "AB"),
        ("选项A;选项B", "AB"),
        ("Opción A;Opción B", "AB"),
        ("Antwort A;Antwort B", "AB"),
        ("a;b", "AB"),
        ("B;A", "BA"),
        ("age;area", ""),
        ("optional;choices", ""),
        ("option_K;grade A", ""),
    ],
)
def test_columns_of_options_are_known_by_name(header: str, letters: str):
    assert "".join(letters_in(header.split(";")).values()) == letters


FOUR = dict(zip("ABCD", ["disc", "cup", "rim", "vein"], strict=True))
NUMBERS = dict(zip("ABCD", ["1", "2", "3", "4"], strict=True))


@tabled(
    ("cells", "options", "letters", "certain"),
    [
        ("0123", FOUR, "ABCD", True),
        ("1234", FOUR, "ABCD", True),
        ("012", FOUR, "ABC", True),
        ("24", FOUR, "BD", True),
        ("123", FOUR, "BCD", False),
        ("01234", FOUR, "ABCD", False),
        ("123", NUMBERS, "", True),
        ("12A", FOUR, "", True),
        ("AB", FOUR, "", True),
        ("0", {}, "", True),
    ],
)
def test_numbers_count_from_where_the_cells_show(cells: str, options: dict[str, str], letters: str, certain: bool):
    found, known = counted([*cells], [options] * len(cells))
    assert ("".join(found.values())[:4], known) == (letters, certain)
    assert counted([f"{cell}.0" for cell in cells], [options] * len(cells)) == (
        {f"{cell}.0": letter for cell, letter in found.items()},
        certain,
    )


def test_columns_that_name_an_option_are_told_from_others():
    rows = [PAIRS] * 4
    assert naming(["A", "b", "(C)", "nil"], rows) == naming(["None", "N/A", "-", "D. nil"], rows) == 1
    assert naming(["A", "", "x" * 9999, "cup"], rows) < 0.5 and naming(["", ""], rows[:2]) == 0


@pytest.mark.parametrize("kind", ["json", "data", "jsonl"])
def test_rows_without_a_list_are_lost_and_none_of_another_table(tmp_path: Path, kind: str):
    rows = [{"question": f"q{n}", "options": one} for n, one in enumerate([TEXTS, ["x"], [], TEXTS[:2], {"A": {}}])]
    text = {"json": json.dumps(rows), "data": json.dumps({"data": rows}), "jsonl": "\n".join(map(json.dumps, rows))}
    (tmp_path / "t").write_text(text[kind])
    grid = with_listed(read_grid(tmp_path / "t"), {})
    assert [grid.column(letter) for letter in "AC"] == [["optic disc", "", "optic disc"], ["N/A", "", ""]]
    assert [line for line, _ in grid.lost] == [2, 5] and not grid.notes
    plain = read_grid(tmp_path / "t")
    assert with_listed(plain, {"options": "ignore"}) is plain and with_listed(plain, {"question": "own"}) is plain
    named = with_listed(plain, {"options": "options", "question": "question"})
    assert named == grid
