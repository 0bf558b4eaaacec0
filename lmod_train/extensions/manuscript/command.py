"""The option ``report --paper``: the files that a paper takes from a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmod_train.cli.report import report
from lmod_train.report.section import Section

NO_RUNS: list[Path] = []


def paper(runs: list[Path] = NO_RUNS, *, sections: list[Section], paper: bool = True, **settings: Any) -> None:
    """Write a report with a chapter of the tables, flow diagram and checklists that a paper needs.

    They are files too: tables/paper_*.tex and .csv, figures/paper_flow*.svg and .png.

    Args:
        runs: Folders of runs, each containing predictions.parquet and scores.csv, or of several seeds of a run.
        sections: What the report shows besides.
        paper: Add the chapter.
        **settings: Options of `report`.
    """
    from lmod_train.extensions.manuscript.sections import ForPaper

    report(runs, sections=[*sections, ForPaper()] if paper else sections, **settings)
