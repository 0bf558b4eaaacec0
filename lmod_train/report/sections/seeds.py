"""Spread of the scores over the seeds of a training, apart from the intervals over patients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import Part, Text
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.seeds import NOTE, seeds_table
from lmod_train.report.series_differences import NOTE as BETWEEN
from lmod_train.report.series_differences import differences_table


class Seeds(Section):
    """Mean and standard deviation over seeds, the interval of the mean over patients, and differences of series."""

    title: ClassVar[str] = "Spread over seeds"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; nothing without two runs of one series."""
        found = seeds_table(results)
        if found is not None:
            yield Text(NOTE)
            yield found
        differences = differences_table(results)
        if differences is not None:
            yield Text(BETWEEN)
            yield differences
