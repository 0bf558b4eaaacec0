"""Everything that is drawn from runs, in one folder."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from lmod_train.artifacts import SCORE_COLUMNS, whole
from lmod_train.report.curves import draw_calibration, draw_curves
from lmod_train.report.figures import draw_confusions, draw_modalities, draw_scores
from lmod_train.report.headline import headline_rows
from lmod_train.report.page import CAP, page
from lmod_train.report.published import published_beside
from lmod_train.report.runs import labels, read_figures, read_outcomes
from lmod_train.report.tables import tables


def report(runs: Sequence[Path], out: Path, curated: Path | None = None, cap: int = CAP) -> Path:
    """Write ``scores.csv``, ``tables.md``, the figures and ``index.html``; return the path of the page.

    Every figure of a run is read from its ``scores.csv``; nothing is scored again but what takes several runs. The same
    runs give the same bytes.

    Args:
        runs: Run folders, each with ``predictions.parquet`` and ``scores.csv``.
        out: Folder to write to; files of an earlier report in it are replaced.
        curated: Folder with the images; None takes the one that each run's ``config.yaml`` names. Without images the
            page says so beside each prediction.
        cap: Predictions on the page at most.

    Raises:
        BadArgument: No run was named, or one twice; a task of a run is not installed.
        ArtifactError: A run lacks one of its files.
    """
    runs = [Path(run) for run in runs]
    figures = read_figures(runs)
    names = labels(figures)
    outcomes = {name: read_outcomes(run) for name, run in zip(names, runs, strict=True)}
    items = {name: found.items for name, found in outcomes.items()}
    choices = {task: words for found in outcomes.values() for task, words in found.choices.items()}
    out.mkdir(parents=True, exist_ok=True)
    _join_scores(runs, out / "scores.csv")
    with whole(out / "tables.md") as beside:
        beside.write_text(tables(figures, names, items), encoding="utf-8")
    drawn = draw_scores(figures, names, out)
    drawn += draw_modalities(figures, names, list(items.values()), out)
    drawn += draw_confusions(names, list(items.values()), choices, out)
    drawn += draw_curves(figures, names, list(items.values()), choices, out)
    drawn += draw_calibration(figures, names, list(items.values()), choices, out)
    images = {name: curated or found.curated for name, found in outcomes.items()}
    with whole(out / "index.html") as beside:
        pictures = [out / f"{name}.png" for name in drawn]
        html = page(headline_rows(figures), pictures, outcomes, images, cap, published_beside(figures))
        beside.write_text(html, encoding="utf-8")
    return out / "index.html"


def _join_scores(runs: Sequence[Path], out: Path) -> None:
    """Write the rows of all runs under one heading, cell for cell."""
    with whole(out) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SCORE_COLUMNS)
        for run in runs:
            with (run / "scores.csv").open(newline="", encoding="utf-8") as own:
                writer.writerows(list(csv.reader(own))[1:])
