"""Table 1 of OphthalWeChat and the numbers of its journal version, with rows for runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from lmod_train.report.contents import Part, Text
from lmod_train.report.languages import kinds_of
from lmod_train.report.origin import phantom_tasks
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.report.sections.paper_tables import PaperTables

TABLES = [*(f"ophthalwechat_table_1{panel}" for panel in "abcd"), "ophthalwechat_journal"]
DRAWN = """The printed rows are not shown: the questions of these runs are of phantoms. `report --published` shows
them."""


class WechatTables(Section):
    """The printed rows of OphthalWeChat's Table 1 and of its journal version with their states, and a row per run."""

    title: ClassVar[str] = "OphthalWeChat, Table 1"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield the tables; a sentence instead beside phantoms, and nothing without such questions."""
        tasks = {task for outcomes in results.outcomes.values() for task in kinds_of(outcomes.items)}
        if tasks & phantom_tasks(results.outcomes):
            yield Text(DRAWN)
        elif tasks:
            yield from PaperTables(TABLES).parts(results)
