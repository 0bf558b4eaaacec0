"""The closest name beside a path that does not exist."""

from __future__ import annotations

from pathlib import Path

from lmod_train.extensions.table.places import TABLES, meant


def test_the_closest_name_of_the_kind_is_offered_whole(tmp_path: Path):
    for name in ("Labels.CSV", "labels.txt.pdf", "all of it.xlsx"):
        (tmp_path / name).write_text("x")
    (tmp_path / "labels").mkdir()
    assert meant("--table", tmp_path / "label.csv", TABLES, "-") == f"did you mean `--table {tmp_path}/Labels.CSV`?"
    assert meant("--table", tmp_path / "all_of_it.xlsx", TABLES, "-").endswith(f"'{tmp_path}/all of it.xlsx'`?")
    assert meant("--images", tmp_path / "lables", None, "-") == f"did you mean `--images {tmp_path}/labels`?"
    assert meant("--images", tmp_path / "zzz", None, "-") == f"{tmp_path} holds labels"
    assert meant("--images", tmp_path / "labels" / "zzz", None, "-") == "-"
