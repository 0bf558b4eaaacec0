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
from lmod_train.report.sections.image_use import ImageOfChains
from lmod_train.report.sections.regimes import Regimes
from lmod_train.report.sections.xpcr_table import XpcrTable

SECTIONS = (XpcrTable, ChainScores, FirstErrors, Confidence, Regimes, ImageOfChains, ChainAccount)


class Chains(Section):
    """X-PCR's table, whole chains, first errors, confidence, regimes, the image's share, and what was asked."""

    title: ClassVar[str] = "Chains"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the parts of the sections about chains; nothing without chains."""
        for section in SECTIONS:
            yield from section().parts(results)
