"""Words of cells that the user gives: each is honoured, or refused with the option that was meant."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.data.cells.image_names import Folder
from lmod_train.data.sources.grid import Grid, Row
from lmod_train.extensions.table.columns import understand
from lmod_train.extensions.table.meanings import Answers, Column, check_typed
from lmod_train.extensions.table.plan import asked_of, typed_words


def column(name: str, cells: Sequence[str], *values: str, meaning: str = "") -> tuple[Grid, Column]:
    """Return a table of one column, each of its cells in several rows, and what the column means."""
    grid = Grid(Path("t"), (name,), tuple(Row(n, (cell,)) for n, cell in enumerate([*cells] * 6, 2)), "text", 1)
    typed = typed_words(values, grid.header)
    (found,) = understand(grid, Folder(Path(), ()), Answers({name: meaning} if meaning else {}, typed))
    check_typed(grid, [found], typed)
    return grid, found


def answered(name: str, cells: Sequence[str], *values: str) -> Column:
    """Return a column after the options that its doubt prints."""
    options = [word for option in column(name, cells, *values)[1].options for word in option.split(" ", 1)]
    assert options[::2] == ["--value"] * (len(options) // 2)
    return column(name, cells, *values, *options[1::2])[1]


@pytest.mark.parametrize("name", ["glaucoma", "AMD", "青光眼", "Katarakt", "diabetic_retinopathy"])
@pytest.mark.parametrize("tick", ["x", "X", "✓", "*", "1", "yes", "ja", "POAG"])
@pytest.mark.parametrize("blank", ["", "-", "–"])
def test_ticks_are_yes_and_empty_cells_no_if_the_user_says_so(name: str, tick: str, blank: str):
    asked = column(name, [tick, blank, blank])[1]
    assert asked.doubt and not asked.is_used
    found = answered(name, [tick, blank, blank])
    assert found.words == {tick: "yes", blank: "no"} and found.meaning == asked.about != "ignore" and not found.doubt
    alone = column(name, [tick, blank], f"{name}:{tick}=yes")[1]
    assert alone.words == {tick: "yes"} and not alone.doubt and alone.meaning == asked.about
    unknown = column(name, [tick, blank], f"{asked.about}:{tick}=yes", f"{name}:{blank}=unknown")[1]
    assert unknown.words == {tick: "yes"} and not unknown.doubt


def test_a_column_without_empty_cells_or_with_no_is_not_one_of_ticks():
    assert not column("glaucoma", ["yes", "yes"])[1].doubt
    assert column("glaucoma", ["yes", "no", ""])[1].words == {"yes": "yes", "no": "no"}
    assert column("glaucoma", ["no", ""])[1].words == {"no": "no"}


CLOSED = {
    "sex": (["1", "2"], "female", ["boy", "3"]),
    "laterality": (["1", "2"], "left", ["up", "male"]),
    "split": (["a", "b"], "val", ["fold", "left"]),
    "glaucoma": (["x", ""], "yes", ["maybe", "glaucoma"]),
    "icdr": (["0", "9"], "4", ["5", "mild"]),
    "age": (["60", "old"], "80", ["young", "200"]),
}


@pytest.mark.parametrize("meaning", CLOSED)
def test_a_word_is_one_of_the_meaning_of_its_column(meaning: str):
    cells, right, wrong = CLOSED[meaning]
    assert column(meaning, cells, f"{meaning}:{cells[0]}={right}")[1].words[cells[0]] == right
    assert cells[0] not in column(meaning, cells, f"{meaning}:{cells[0]}=unknown")[1].words
    for word in wrong:
        with pytest.raises(BadArgument, match="expected a word for"):
            column(meaning, cells, f"{meaning}:{cells[0]}={word}")
        with pytest.raises(BadArgument, match="expected a word for"):
            column(meaning, cells, f"{meaning}:{cells[0]}={word}", meaning=meaning)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["sxe:1=male"], "did you mean `--value sex:1=male`"),
        (["SEX:1=male"], "did you mean `--value sex:1=male`"),
        (["shoes:1=male"], "name one of them"),
        (["sex:one=male"], "a cell that occurs in sex: 1, 2"),
        (["sex:1 =male"], "did you mean `--value sex:1=male`"),
        (["sex:1=mal"], "did you mean `--value sex:1=male`"),
        (["sex:1=male", "sex:3=female"], "sex:3=female"),
        (["sex:1="], "COLUMN:CELL=WORD"),
    ],
)
def test_an_option_that_would_be_passed_over_is_refused(values: list[str], said: str):
    with pytest.raises(BadArgument) as error:
        column("sex", ["1", "2"], *values)
    assert said in str(error.value)


@pytest.mark.parametrize("meaning", ["notes", "image", "patient", "date", "ignore"])
def test_a_column_whose_cells_are_no_words_takes_none(meaning: str):
    with pytest.raises(BadArgument, match="whose cells stand for words"):
        column("a", ["1", "2"], "a:1=x", meaning=meaning)


@pytest.mark.parametrize("meaning", ["", "own", "quality", "camera"])
@pytest.mark.parametrize(
    ("cells", "values", "kind", "choices"),
    [
        (["g", "p", "p"], ["C: l:g=good"], "choice", ["good", "p"]),
        (["x", ""], ["C: l:x=yes", "C: l:=no"], "yes_no", None),
        (["12", "13", "high"], ["C: l:high=30"], "number", None),
    ],
)
def test_words_of_a_column_of_ones_own_are_honoured(meaning, cells, values, kind, choices):
    grid, found = column("C: l", cells, *values, meaning=meaning)
    (question,) = asked_of(grid, [found], "CFP", ["C: l"])
    assert (question["kind"], question.get("choices")) == (kind, choices) and not found.bad


MIXED = {
    "dx": (["0", "1", "glaucoma"], {"glaucoma": "glaucoma"}),
    "diagnosis": (["0", "1", "normal", "1 = glaucoma"], {"normal": "normal"}),
    "sex": (["M", "F", "1"], {"M": "male", "F": "female"}),
    "eye": (["OD", "OS", "2"], {"OD": "right", "OS": "left"}),
    "stage": (["0", "1", "mild"], {"0": "0", "1": "1"}),
    "icdr": (["0", "1", "2", "mild NPDR"], {"0": "0", "1": "1", "2": "2"}),
    "glaucoma": (["0", "1", "3"], {"0": "no", "1": "yes"}),
}


@pytest.mark.parametrize("name", MIXED)
def test_codes_among_words_are_asked(name: str):
    cells, known = MIXED[name]
    found = column(name, cells)[1]
    assert found.doubt and not found.is_used
    code = next(cell for cell in cells if cell not in known)
    word = {"sex": "male", "eye": "left", "glaucoma": "no"}.get(name, "1")
    settled = column(name, cells, f"{name}:{code}={word}")[1]
    assert not settled.doubt and settled.words == known | {code: word}
    assert set(settled.bad) == set(cells) - set(settled.words)


@pytest.mark.parametrize("name", ["dx", "stage"])
def test_a_legend_in_the_cells_is_the_answer_that_is_printed(name: str):
    found = column(name, ["0 = normal", "1 = mild", "1", "0"])[1]
    options = " ".join(map(shlex.quote, found.options))
    assert found.doubt and ("0 = normal=normal" in options if name == "dx" else "0 = normal=0" in options)
    words = answered(name, ["0 = normal", "1 = mild", "1", "0"]).words
    first = "normal" if name == "dx" else "0"
    assert words["0"] == words["0 = normal"] == first and words["1"] == words["1 = mild"] != first


def test_a_single_code_among_words_costs_its_own_value():
    found = column("dx", [*["glaucoma", "normal"] * 10, "3"])[1]
    assert found.meaning == "diagnosis" and not found.doubt and set(found.bad) == {"3"}
