import csv

from lmod_train.core.tables import Column, Estimate, table
from lmod_train.report.writers.csv import write_csv


def test_numbers_are_written_as_computed_and_an_interval_in_two_columns(tmp_path):
    columns = ["model", Column("score", "number"), Column("95 % interval", "interval"), Column("f1", "estimate")]
    rows = [
        ["=1+1", 1 / 3, (0.1, 0.7), Estimate(0.25, 0.2, 0.3, 7)],
        ["b", None, (None, None), None],
        ["c", "-", "-", None],
    ]
    with write_csv(table("t", columns, rows), tmp_path).open(newline="", encoding="utf-8-sig") as file:
        heads, first, second, third = csv.reader(file)
    assert heads == ["model", "score", "95 % interval low", "95 % interval high", "f1", "f1 low", "f1 high", "f1 n"]
    assert float(first[1]) == 1 / 3 and first[2:] == ["0.1", "0.7", "0.25", "0.2", "0.3", "7"]
    assert first[0] == "'=1+1", "no formula"
    assert second[1:] == [""] * 7 and len(third) == 8
