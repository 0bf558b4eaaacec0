"""What cannot all be true of an image or a patient costs its own values, each listed; the rest stays."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from PIL import Image

from lmod_train.core.types import Dropped, Sample
from lmod_train.data.cells.image_names import folder_of
from lmod_train.data.sources.grid import Grid, Row
from lmod_train.extensions.table.columns import understand
from lmod_train.extensions.table.meanings import Answers
from lmod_train.extensions.table.plan import Plan, asked_of, tasks_of
from lmod_train.extensions.table.source import OwnTable


def read(root: Path, header: str, *rows: str, **meant: str) -> tuple[list[Sample], list[tuple[str, str]]]:
    """Return the samples of a table, and line and detail of each contradicted value; ``#`` is the number of the row."""
    names = ("file", *header.split(";"))
    lines = [Row(n, (f"{n}.png", *row.replace("#", str(n)).split(";"))) for n, row in enumerate(rows, 2)]
    for line in lines:
        Image.new("RGB", (8, 8)).save(root / line.cells[0])
    grid, folder = Grid(root, names, tuple(lines), "text", 1), folder_of(root)
    columns = understand(grid, folder, Answers(meant))
    assert not any(c.doubt for c in columns), [c.doubt for c in columns]
    plan = Plan(root, root, "clinic", "CFP", questions=tuple(asked_of(grid, columns, "CFP", ())))
    items = list(OwnTable(plan, grid, columns, folder, tasks_of(columns, plan.questions, "CFP")).samples())
    lost = [(d.key, d.detail) for d in items if isinstance(d, Dropped) and d.reason == "contradictory values"]
    return [item for item in items if isinstance(item, Sample)], lost


FILL = ["glaucoma;1;0;0", "cataract;0;0;0", "normal;0;0;0", "DR;0;1;3", "no DR;0;0;0"]
"""Rows without a contradiction."""


@pytest.mark.parametrize(
    ("row", "lost"),
    [
        ("glaucoma;0;0;0", {"dx", "glaucoma"}),
        ("no glaucoma;1;0;0", {"dx", "glaucoma"}),
        ("normal;1;0;0", {"dx", "glaucoma"}),
        ("normal;0;0;2", {"dx", "diabetic_retinopathy", "icdr"}),
        ("DR, glaucoma;1;0;4", {"dx", "diabetic_retinopathy", "icdr"}),
        ("cataract;0;1;0", {"diabetic_retinopathy", "icdr"}),
        ("glaucoma;1;1;1", set()),
        ("cataract;1;1;1", set()),
        ("suspect glaucoma;0;0;0", set()),
        ("history of glaucoma;1;0;0", set()),
        (";0;0;0", set()),
    ],
)
def test_columns_that_say_yes_and_no_of_a_disease(tmp_path: Path, row: str, lost: set[str]):
    names = ["dx", "glaucoma", "diabetic_retinopathy", "icdr"]
    (*_, sample), found = read(tmp_path, ";".join(names), *FILL, row)
    assert {detail.partition(":")[0] for _, detail in found} == lost and {line for line, _ in found} <= {"line 7"}
    assert not set(sample.labels) & (lost - {"dx"})
    assert "dx" not in lost or not set(sample.labels) & {"diagnosis", "table/diagnosis"}
    cells = dict(zip(names[1:], row.split(";")[1:], strict=True))
    kept = {{"diabetic_retinopathy": "diabetic retinopathy"}.get(name, name) for name in cells if name not in lost}
    assert kept <= set(sample.labels), "what nothing contradicts stays"


@pytest.mark.parametrize(
    ("header", "first", "second"),
    [("sex;gender", "F;male", "F;female"), ("age;Alter", "60;70", "60;60"), ("eye;side", "OD;OS", "OD;right"),
     ("split;subset", "train;test", "train;training")],
)  # fmt: skip
def test_two_columns_of_one_fact(tmp_path: Path, header: str, first: str, second: str):
    rows = [f"glaucoma;{first}", f"normal;{second}"]
    (one, other), lost = read(tmp_path, f"dx;{header}", *rows)
    assert [line for line, _ in lost] == ["line 2"] * 2
    facts = [(s.patient.sex, s.patient.age, s.patient.laterality, s.split) for s in (one, other)]
    assert facts[0] == (None, None, None, "") and facts[1] != facts[0]
    assert one.labels["diagnosis"] == "glaucoma"


@pytest.mark.parametrize("order", list(permutations(("p1;F", "p1;F", "p1;M", "p2;M"))))
def test_a_patient_of_both_sexes_has_none(tmp_path: Path, order: tuple[str, ...]):
    samples, lost = read(tmp_path, "patient;sex;dx", *(f"{row};glaucoma" for row in order), "p3;F;normal")
    of_first = [n for n, row in enumerate(order, 2) if row.startswith("p1")]
    assert [line for line, _ in lost] == [f"line {n}" for n in of_first]
    assert [s.patient.sex is None for s in samples] == [*(n in of_first for n in range(2, 6)), False]


def test_ages_of_a_patient_may_differ_between_dates(tmp_path: Path):
    rows = [
        "p1;60;2020-01-01;glaucoma",
        "p1;61;2021-01-01;normal",
        "p2;50;2020-01-01;normal",
        "p2;70;2020-01-01;normal",
    ]
    samples, lost = read(tmp_path, "patient;age;date;dx", *rows)
    assert [line for line, _ in lost] == ["line 4", "line 5"]
    assert [s.patient.age for s in samples] == [60, 61, None, None]


def test_images_are_of_one_patient_if_either_of_two_numbers_is_the_same(tmp_path: Path):
    rows = ["a;1;glaucoma", "a;2;normal", "b;2;normal", "1;3;normal", ";3;normal"]
    samples, _ = read(tmp_path, "patient_id;MRN;dx", *rows, patient_id="patient", MRN="patient")
    groups = [s.group for s in samples]
    assert groups[0] == groups[1] == groups[2] != groups[3] == groups[4]
    again, _ = read(tmp_path, "patient_id;dx", "a;normal", "1;glaucoma")
    assert again[0].group == groups[0], "a second number does not change the names of patients"


@pytest.mark.parametrize(("second", "is_asked"), [("#", False), ("m#", False), ("x", True)])
def test_two_numbers_of_patients_that_disagree_are_asked(tmp_path: Path, second: str, is_asked: bool):
    rows = tuple(Row(n, (f"{n}.png", f"p{n // 2}", second.replace("#", str(n // 2)))) for n in range(2, 12))
    grid = Grid(tmp_path, ("file", "patient_id", "MRN"), rows, "text", 1)
    found = understand(grid, folder_of(tmp_path), Answers())
    assert [c.meaning for c in found[1:] if not c.doubt] == (["patient"] if is_asked else ["patient", "patient"])
    assert [c.options for c in found if c.doubt] == [("--column ignore=MRN",)] * is_asked, "one id of all images"


IDS = ["K{}", "{:06}", "AB-{:03}", "2024{:04}", "{}", "x{}y"]
LABELS = ["G{m}", "{m}", "grade {m}", "0,{m}", "{v}", "20/{v}", "1{v}.5", "20{v}-01-01", "word"]


@pytest.mark.parametrize("form", [*IDS, *LABELS])
def test_numbers_that_rows_share_may_be_the_patients(tmp_path: Path, form: str):
    cells = [form.format(n // 2, m=n % 3, v=10 + n * 7 % 9) for n in range(24)]
    for named in ("Kuerzung", "xq"):
        grid = Grid(tmp_path, ("file", named), tuple(Row(n, (f"{n}.png", c)) for n, c in enumerate(cells)), "text", 1)
        (column,) = understand(grid, folder_of(tmp_path), Answers())[1:]
        assert bool(column.doubt) == (form in IDS), column
        if column.doubt:
            assert column.options == (f"--column patient={named}",) and f"--column ignore={named}" in column.doubt
        beside = Grid(tmp_path, ("patient", named), tuple(Row(n, (f"p{n}", c)) for n, c in enumerate(cells)), "text", 1)
        assert not any(c.doubt for c in understand(beside, folder_of(tmp_path), Answers()))
