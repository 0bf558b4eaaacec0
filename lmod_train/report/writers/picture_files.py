"""PNG and SVG: the figures of a report, with the numbers of each as CSV beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lmod_train.report.contents import Figure
from lmod_train.report.writers.csv import write_csv


def write_picture(figure: Figure, folder: Path) -> None:
    """Draw one figure to ``FOLDER/NAME.png`` and ``.svg``, and write its numbers to ``FOLDER/NAME.csv``."""
    figure.draw(figure.table, folder)
    write_csv(replace(figure.table, name=figure.name), folder)
