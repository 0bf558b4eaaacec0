"""A plan comes back from its file as it was, and options say more of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from lmod_train.core.errors import BadArgument
from lmod_train.extensions.table.meanings import Answers, Column
from lmod_train.extensions.table.plan import Plan, is_plan, read_plan, with_options, write_plan

QUESTION = {
    "name": "quality",
    "words": "Is it sharp?",
    "column": "Schärfe",
    "kind": "choice",
    "choices": ["ja", "nein"],
}


def test_a_plan_comes_back(tmp_path: Path):
    answers = Answers({"眼": "laterality", "Foto": "image"}, {"眼": {"1": "left", "2": "right"}})
    plan = Plan(Path("a b.csv"), Path("FOTOS"), "klinik", "CFP+OCT", "CC BY 4.0", True, "Blatt 1", answers, (QUESTION,))
    columns = [Column("眼", "laterality", "", {"1": "left", "2": "right"}), Column("Foto", "image", ""),
               Column("ID", "ignore", "", doubt="whether it is the patient")]  # fmt: skip
    file = write_plan(tmp_path, plan, columns)
    assert is_plan(file) and read_plan(file) == plan
    assert "whether it is the patient" in file.read_text(encoding="utf-8")


def test_a_plan_beside_its_table_finds_it(tmp_path: Path):
    (tmp_path / "t.csv").touch()
    file = write_plan(tmp_path, Plan(Path("t.csv"), None, "a", "OCT"), [])
    assert read_plan(file).table == tmp_path / "t.csv" and read_plan(file).images is None


@pytest.mark.parametrize(
    "text", ["", "[1]", "table: a.csv", "a: &x [1]\nb: *x", "{", "columns: {a: 1}\ntable: t\nname: n"]
)
def test_another_file_is_no_plan(tmp_path: Path, text: str):
    (tmp_path / "table.yaml").write_text(text)
    with pytest.raises(BadArgument, match=r"table\.yaml"):
        read_plan(tmp_path / "table.yaml")


def test_options_say_what_columns_and_cells_mean():
    plan = with_options(
        Plan(Path("t"), None, "a", "CFP"), ["patient=Pat=Nr", "icdr=Stadium"], ["sex:1=male", "Befund:a=b=glaucoma"]
    )
    assert plan.answers.columns == {"Pat=Nr": "patient", "Stadium": "icdr"}
    assert plan.answers.values == {"sex": {"1": "male"}, "Befund": {"a=b": "glaucoma"}}
    more = with_options(plan, ["ignore=Stadium"], ["sex:2=female"])
    assert more.answers.columns["Stadium"] == "ignore" and more.answers.values["sex"] == {"1": "male", "2": "female"}


@pytest.mark.parametrize("text", ["patient=", "=ID", "patient", ""])
def test_a_column_without_meaning_or_name_is_refused(text):
    with pytest.raises(BadArgument, match="MEANING=NAME"):
        with_options(SimpleNamespace(answers=Answers({}, {})), [text], [])
