"""Writes the report of one or more runs to a folder."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from lmod_train.artifacts.run import Run
from lmod_train.artifacts.scores import SCORE_COLUMNS
from lmod_train.errors import BadArgument
from lmod_train.escaping import for_csv, from_csv, without_folders
from lmod_train.files import write_durably
from lmod_train.lock import is_empty
from lmod_train.report.curves import draw_calibration, draw_curves
from lmod_train.report.figures import draw_confusions, draw_modalities, draw_scores
from lmod_train.report.headline import headline_rows
from lmod_train.report.judged_tables import agreement_rows, judged_rows
from lmod_train.report.origin import not_as_published, remarks
from lmod_train.report.page import CAP, page
from lmod_train.report.published import published_beside
from lmod_train.report.runs import Figures, labels, read_figures, read_outcomes
from lmod_train.report.shortcuts import shortcuts_of
from lmod_train.report.tables import tables
from lmod_train.report.ways import spreads

WRITTEN = ("scores.csv", "tables.md", "index.html")
"""Files by which the folder of an earlier report is recognised, even of an incomplete one."""


def report(
    runs: Sequence[Path],
    out: Path,
    curated: Path | None = None,
    cap: int = CAP,
    trust: Sequence[str] = (),
    log: Callable[[str], object] = str,
) -> Path:
    """Write ``scores.csv``, ``tables.md``, the figures and ``index.html``; return the path of the latter.

    Scores are read from ``scores.csv`` of each run; only comparisons of several runs are computed here. The same runs
    give identical files.

    Args:
        runs: Run folders, each containing ``predictions.parquet`` and ``scores.csv``.
        out: Folder to write to; files of an earlier report are replaced.
        curated: Curated folder with the images; None uses the one in each run's ``config.yaml``. Missing images are
            noted next to each prediction.
        cap: Maximum number of predictions on the page.
        trust: Modules outside this package with task classes that a run names, which may be imported.
        log: Called with each remark that readers of the scores must know.

    Raises:
        Untrusted: A run names a task class outside this package and `trust`.
        BadArgument: No run was given, or one twice; a task of a run is not installed; `out` contains other files.
        ArtifactError: A file of a run is missing.
    """
    runs = [Path(run) for run in runs]
    if Run(out).has_begun():
        expected = "a folder that is not a run, whose scores would be overwritten"
        raise BadArgument("--out", str(out), expected, "name another folder, e.g. `--out REPORT`")
    if (out / "manifest.json").exists():
        raise BadArgument(
            "--out", str(out), "a folder that is not a curated folder", "name another folder, e.g. `--out REPORT`"
        )
    if out.is_dir() and not any((out / name).exists() for name in WRITTEN) and not is_empty(out):
        raise BadArgument(
            "--out", str(out), "a new or empty folder, or one of an earlier report", "e.g. `--out REPORT`"
        )
    figures = read_figures(runs)
    names = labels(figures)
    outcomes = {name: read_outcomes(run, trust) for name, run in zip(names, runs, strict=True)}
    items = {name: found.items for name, found in outcomes.items()}
    choices = {task: words for found in outcomes.values() for task, words in found.choices.items()}
    images = {name: curated or found.curated for name, found in outcomes.items()}
    shortcuts = shortcuts_of(images.values(), [p for found in outcomes.values() for p in found.predictions])
    out.mkdir(parents=True, exist_ok=True)
    _join_scores(figures, out / "scores.csv")
    with write_durably(out / "tables.md") as beside:
        beside.write_text(tables(figures, outcomes, shortcuts), encoding="utf-8")
    drawn = draw_scores(figures, names, out)
    drawn += draw_modalities(figures, names, list(items.values()), out)
    drawn += draw_confusions(names, list(items.values()), choices, out)
    drawn += draw_curves(figures, names, list(items.values()), choices, out)
    drawn += draw_calibration(figures, names, list(items.values()), choices, out)
    with write_durably(out / "index.html") as beside:
        pictures = [out / f"{name}.png" for name in drawn]
        printed = published_beside(figures, not_as_published(outcomes))
        judges = judged_rows(figures, outcomes), agreement_rows(figures, outcomes)
        spread = spreads(figures, outcomes)
        html = page(headline_rows(figures), pictures, outcomes, images, cap, printed, shortcuts, *judges, spread)
        beside.write_text(html, encoding="utf-8")
    for remark in remarks(outcomes):
        log(remark)
    return out / "index.html"


def _join_scores(runs: Sequence[Figures], out: Path) -> None:
    """Write the scores of all runs to one file, with names of runs instead of folders, and models without paths."""
    with write_durably(out) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SCORE_COLUMNS)
        for run in runs:
            with Run(run.path).scores.open(newline="", encoding="utf-8") as own:
                rows = [[run.run, *map(from_csv, row[1:])] for row in list(csv.reader(own))[1:]]
            writer.writerows([for_csv(without_folders(cell)) for cell in row] for row in rows)
