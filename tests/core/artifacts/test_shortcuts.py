"""`audit.csv` is read as it was written, and another table is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.core.artifacts.shortcuts import COLUMNS, FILE, Shortcut, read_shortcuts, write_shortcuts
from lmod_train.core.errors import ArtifactError, LeavesFolder

ROWS = [
    Shortcut("four_way", "border_mask", "test", "accuracy", 24, 0.6125, 0.5, 0.7),
    Shortcut("conditions", "words", "test", "accuracy", 0, None),
    Shortcut("=mine", "words", "test", "p", 24, 1 / 3),
]


@pytest.fixture
def curated(tmp_path: Path) -> Path:
    write_shortcuts(tmp_path / FILE, ROWS)
    return tmp_path


def test_rows_are_read_as_they_were_written(curated: Path):
    assert COLUMNS == ("task", "shortcut", "split", "metric", "n", "value", "low", "high")
    assert read_shortcuts(curated) == ROWS
    assert "\n=" not in (curated / FILE).read_text(), "no cell is a formula"
    assert read_shortcuts(curated / "nowhere") == []


@pytest.mark.parametrize(
    ("whole", "damaged"),
    [("split", "part"), ("0.6125", "many"), ("24", ""), (",0.5,0.7", ""), ("0.7", "0.7,more"), ("0.7", "0.7\0")],
)
def test_another_table_is_refused_with_the_way_to_write_it_again(whole: str, damaged: str, curated: Path):
    file = curated / FILE
    file.write_text(file.read_text().replace(whole, damaged))
    with pytest.raises(ArtifactError, match=r"no table of shortcuts.*\nNext: .*lmod_train blind"):
        read_shortcuts(curated)


def test_a_table_behind_a_link_is_not_read(curated: Path):
    received = curated / "received"
    received.mkdir()
    (received / FILE).symlink_to(curated / FILE)
    with pytest.raises(LeavesFolder):
        read_shortcuts(received)
