"""The option ``report --published``: the tables of the papers, with rows for runs."""

from __future__ import annotations

from pathlib import Path

from lmod_train.cli.report import draw

NO_RUNS: list[Path] = []


def published(
    runs: list[Path] = NO_RUNS,
    *,
    published: bool = True,
    out: Path | None = None,
    curated: Path | None = None,
    against: str = "",
    one_file: bool = False,
    trust: list[str] | None = None,
) -> None:
    """Write the tables of the papers, with rows for your runs if any are named, as tables and a web page.

    Args:
        runs: Folders of runs.
        published: Show the tables of the papers.
        out: Folder to write the report to.
        curated: Curated folder with the images; default: the one in each run's config.yaml.
        against: Run with which the others are compared, as in `report`.
        one_file: Write the page as one file with small images, for a few predictions, and not as a folder.
        trust: Module outside this package with task classes that a run names, which may be imported; can be repeated.
    """
    from lmod_train.report.section import shipped_sections

    draw(runs, shipped_sections("published"), out, curated, against, one_file, trust or ())
