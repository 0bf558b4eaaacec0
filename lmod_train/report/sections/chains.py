"""Everything about chains in one chapter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import Part
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.chain_account import ChainAccount
from lmod_train.report.sections.chain_scores import ChainScores
from lmod_train.report.sections.confidence import Confidence
from lmod_train.report.sections.first_errors import FirstErrors
from lmod_train.report.sections.regimes import Regimes
from lmod_train.report.sections.xpcr_table import XpcrTable


class Chains(Section):
    """X-PCR's table, stages and whole chains, first errors, confidence, regimes and what was asked, one by one."""

    title: ClassVar[str] = "Chains"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the parts of the sections about chains; nothing without chains."""
        for section in (XpcrTable(), ChainScores(), FirstErrors(), Confidence(), Regimes(), ChainAccount()):
            yield from section.parts(results)
