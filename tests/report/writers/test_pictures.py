from pathlib import Path

from lmod_train.core.tables import Column, table
from lmod_train.report.contents import Figure
from lmod_train.report.writers.picture_files import write_picture


def test_the_numbers_stand_beside_the_figure_under_its_name(tmp_path: Path):
    drawn = []
    numbers = table("numbers", ["a", Column("b", "number")], [["x", 0.25]])
    write_picture(Figure("bars", "Bars", "alt", numbers, lambda *given: drawn.append(given)), tmp_path)
    assert drawn == [(numbers, tmp_path)]
    assert (tmp_path / "bars.csv").read_text(encoding="utf-8-sig").splitlines() == ["a,b", "x,0.25"]
