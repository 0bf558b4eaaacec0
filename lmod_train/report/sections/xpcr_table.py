"""Table 2 of X-PCR, and the tables of its supplement by modality, with rows for runs of chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.chains import every_chain
from lmod_train.report.contents import Part
from lmod_train.report.results import Results
from lmod_train.report.section import Section, added

TABLES = [f"xpcr_table_{number}" for number in range(2, 9)]


class XpcrTable(Section):
    """The printed rows of X-PCR's Table 2 and of Tables 3 to 8 of its supplement with their states, and runs."""

    title: ClassVar[str] = "X-PCR, Tables 2 to 8"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; a sentence instead beside phantoms, and nothing without chains."""
        tables = added("PaperTables")
        if tables and any(every_chain(results)):
            yield from tables(tables=TABLES).parts(results)
