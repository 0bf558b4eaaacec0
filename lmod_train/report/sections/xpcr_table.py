"""Table 2 of X-PCR with rows for runs of chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.chains import every_chain
from lmod_train.report.contents import Part
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.paper_tables import PaperTables

TABLE = "xpcr_table_2"


class XpcrTable(Section):
    """The printed rows of X-PCR's Table 2 with their states, and a row per run."""

    title: ClassVar[str] = "X-PCR, Table 2"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the table; a sentence instead beside phantoms, and nothing without chains."""
        if any(every_chain(results)):
            yield from PaperTables([TABLE]).parts(results)
