"""The papers' tables by the command line: without a run, and beside one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmod_train import cli
from tests.cli.test_report import curated, run_of  # noqa: F401


def test_the_published_tables_need_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["report", "--published", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'out' / 'index.html'}\n"
    tables = (tmp_path / "out" / "tables.md").read_text(encoding="utf-8")
    assert "LMOD, Table 2" in tables and "LMOD+, Table 9" in tables and len(tables.splitlines()) <= 600
    assert any("0.9986 i" in file.read_text(encoding="utf-8") for file in (tmp_path / "out" / "tables").glob("*.csv"))
    assert {f.suffix for f in (tmp_path / "out" / "tables").glob("lmod_plus_table_5.*")} == {".csv", ".tex"}
    assert str(tmp_path) not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_the_report_of_lmod_plus(curated: Path, tmp_path: Path):  # noqa: F811
    run = run_of(curated, tmp_path / "run", 1)
    assert cli.main(["report", str(run), "--out", str(tmp_path / "out"), "--config", "lmod_plus"]) == 0
    tables = (tmp_path / "out" / "tables.md").read_text(encoding="utf-8")
    assert "### LMOD+, Table 5" in tables and "as they have records of phantoms: anatomy, four_way, glaucoma" in tables
    assert "measured here" not in tables  # phantoms never stand in a published table
