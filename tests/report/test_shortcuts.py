"""What is reached without looking at the eye stands beside the scores of the same task and split."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train.extensions.looking.sections import Shortcuts
from lmod_train.report.report import write_report
from tests.report.make import curate, run
from tests.report.shown import shown

ROWS = """task,shortcut,split,metric,n,value,low,high
four_way,border mask,test,accuracy,24,0.6125,0.5,0.7
four_way,border mask,val,accuracy,9,0.7777,0.4,0.9
conditions,words,test,accuracy,0,,,
four_way,names,test,accuracy,24,1.0,0.9,1.0
four_way,border mask,test,p,24,0.01,,
"""


@pytest.fixture
def curated(tmp_path: Path) -> Path:
    folder = curate(tmp_path / "curated")
    (folder / "audit.csv").write_text(ROWS)
    return folder


def test_they_stand_in_tables_and_page_for_the_task_and_split_that_are_asked(curated: Path, tmp_path: Path):
    page = write_report([run(tmp_path / "tuned", 0.9, curated=curated)], tmp_path / "out", sections=[Shortcuts()])
    tables = (tmp_path / "out" / "tables.md").read_text()
    (row,) = [line for line in tables.splitlines() if "border mask" in line]
    assert "0.613" in row or "0.612" in row
    assert "0.500-0.700" in row and "0.778" not in tables
    html = page.read_text()
    assert html.count("border mask") == 1 and "conditions" not in html
    assert "| names" not in tables, "no model sees them"


def test_no_rows_make_no_table(three):
    assert shown(Shortcuts(), three[0]) == ""
