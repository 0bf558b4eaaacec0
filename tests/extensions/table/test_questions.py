"""Which questions a table is asked: the benchmark's of known labels, its own of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.data.cells.image_names import Folder
from lmod_train.data.sources.grid import Grid, read_grid
from lmod_train.extensions.table.columns import understand
from lmod_train.extensions.table.meanings import Answers, Column
from lmod_train.extensions.table.plan import asked_of, tasks_of


def table(path: Path, header: str, *rows: str, answers: Answers | None = None) -> tuple[Grid, list[Column]]:
    (path / "t.csv").write_text("\n".join([f"file;{header}", *(f"{n}.jpg;{row}" for n, row in enumerate(rows * 6))]))
    grid = read_grid(path / "t.csv")
    return grid, understand(grid, Folder(path, ()), answers or Answers())


def names(grid: Grid, columns: list[Column], modality: str = "CFP", ask: tuple[str, ...] = ()) -> dict[str, str]:
    tasks = tasks_of(columns, asked_of(grid, columns, modality, ask), modality)
    return {task.name: getattr(task, "kind", "") for task in tasks}


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        ("diagnosis", ("glaucoma", "normal"), {"four_way": ""}),
        ("diagnosis", ("glaucoma", "AMD"), {"diagnosis": "choice"}),
        ("diagnosis", ("glaucoma", "normal", "AMD"), {"four_way": "", "diagnosis": "choice"}),
        ("diagnosis", ("glaucoma, AMD", "normal", "cataract"), {"four_way": "", "diagnosis": "several"}),
        ("glaucoma;drusen", ("1;0", "0;1"), {"glaucoma": "", "conditions": ""}),
        ("cataract", ("yes", "no"), {"cataract": "yes_no"}),
        ("DR grade", ("0", "1", "2"), {"dr_grade": "grade"}),
        ("ICDR", ("0", "4", "2"), {"icdr": ""}),
        ("sex;age", ("F;60", "M;70"), {"sex": "", "age_group": ""}),
        ("question;A;B;answer", ("Which?;disc;cup;A",), {"question": "", "open_question": ""}),
        ("question;answer", ("What?;a disc",), {"open_question": ""}),
        ("notes", ("a", "b"), {}),
    ],
)
def test_labels_that_are_known_are_asked_as_the_benchmark_does(tmp_path: Path, header, rows, expected):
    assert names(*table(tmp_path, header, *rows)) == expected


@pytest.mark.parametrize(
    ("header", "rows", "kind"),
    [
        ("Clarity", ("good", "poor"), "choice"),
        ("IOP", ("14,5", "21"), "number"),
        ("Dilated", ("ja", "nein"), "yes_no"),
        ("Finding text", tuple(f"some words {n}" for n in range(20)), "open"),
    ],
)
def test_any_other_column_is_asked_by_name(tmp_path: Path, header, rows, kind):
    grid, columns = table(tmp_path, header, *rows)
    if kind == "open":
        grid, columns = Grid(grid.path, grid.header, grid.rows[:20], grid.kind), columns
    assert list(names(grid, columns, ask=(header,)).values()) == [kind]
    assert names(grid, columns) == {}


def test_oct_is_not_asked_for_the_four_diagnoses_of_fundus_photographs(tmp_path: Path):
    grid, columns = table(tmp_path, "diagnosis", "glaucoma", "normal")
    assert names(grid, columns, "OCT") == {"diagnosis": "choice"}


def test_a_scale_that_the_user_names_is_the_benchmarks(tmp_path: Path):
    grid, columns = table(tmp_path, "level", "0", "3", answers=Answers({"level": "icdr"}))
    assert names(grid, columns) == {"icdr": ""}
