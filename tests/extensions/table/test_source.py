"""Every row of a table is a sample or a listed loss, whatever stands in its cells."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lmod_train.core.types import Dropped, Sample
from lmod_train.data.cells.image_names import folder_of
from lmod_train.data.sources.grid import Grid, Row
from lmod_train.extensions.table.columns import understand
from lmod_train.extensions.table.meanings import Answers
from lmod_train.extensions.table.plan import Plan, asked_of, tasks_of
from lmod_train.extensions.table.source import OwnTable

HEADER = ("image", "patient", "eye", "sex", "age", "diagnosis", "split")
CELLS = {
    "image": ["1.jpg", "2.jpg", "3", "none.jpg", "", "a/1.jpg"],
    "patient": ["p1", "p2", ""],
    "eye": ["OD", "links", "OU", ""],
    "sex": ["F", "M", "x9", ""],
    "age": ["64", "0", "150", "67 y", ""],
    "diagnosis": ["glaucoma", "normal", "no DR", "DR; AMD", "suspect glaucoma", ""],
    "split": ["train", "test", ""],
}
ROW = st.tuples(*(st.sampled_from(CELLS[name]) for name in HEADER))


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photographs")
    for name in ("1.jpg", "2.jpg", "3.jpg", "4.jpg"):
        Image.new("RGB", (8, 8)).save(root / name)
    return root


def items_of(root: Path, rows: list[tuple[str, ...]]) -> list[Sample | Dropped]:
    grid = Grid(root / "1.jpg", HEADER, tuple(Row(n, row) for n, row in enumerate(rows, 2)), "text", 1)
    folder = folder_of(root)
    meant = {"image": "image", "patient": "patient", "eye": "laterality", "sex": "sex", "age": "age",
             "diagnosis": "diagnosis", "split": "split"}  # fmt: skip
    columns = understand(grid, folder, Answers(meant))
    plan = Plan(Path("t.csv"), root, "clinic", "CFP", questions=tuple(asked_of(grid, columns, "CFP", ())))
    return list(OwnTable(plan, grid, columns, folder, tasks_of(columns, plan.questions, "CFP")).samples())


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=12))
def test_rows_are_samples_and_losses(photographs: Path, rows: list[tuple[str, ...]]):
    items = items_of(photographs, rows)
    samples = [item for item in items if isinstance(item, Sample)]
    lost = {item.key for item in items if isinstance(item, Dropped) and item.extent == "gone" and "line" in item.key}
    assert len(samples) + len(lost) == len(rows), "rows = samples + listed losses"
    unused = [item for item in items if isinstance(item, Dropped) and item.reason == "no row in the table"]
    named = {row[0] for row in rows}
    spellings = {"1.jpg": {"1.jpg", "a/1.jpg"}, "2.jpg": {"2.jpg"}, "3.jpg": {"3"}, "4.jpg": set[str]()}
    left = [file for file, cells in spellings.items() if not cells & named]
    assert sorted(item.file for item in unused) == left
    assert len({s.key for s in samples}) == len(samples)
    for sample in samples:
        assert sample.patient.sex in ("female", "male", None) and sample.patient.laterality in ("left", "right", None)
        assert sample.patient.age in (64, 0, 67, None) and sample.split in ("", "train", "test")
        assert sample.labels.get("diagnosis") in ("glaucoma", "normal", None)
        assert "p1" not in sample.group and "p2" not in sample.group


def test_an_image_of_two_patients_keeps_neither_diagnosis(photographs: Path):
    rows = [("1.jpg", "p1", "OD", "F", "64", "glaucoma", ""), ("1.jpg", "p2", "OD", "F", "64", "normal", "")]
    (sample,) = [item for item in items_of(photographs, rows) if isinstance(item, Sample)]
    assert "diagnosis" not in sample.labels and (sample.patient.sex, sample.patient.age) == ("female", 64)
