"""Chains with and without earlier answers in the words: effect of context, and propagation of errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from lmod_train.core.tables import Heads, table
from lmod_train.report.chains import every_chain
from lmod_train.report.contents import Figure, Part, Text
from lmod_train.report.contexts import Effect, effect_heads, effect_rows, effects
from lmod_train.report.figures.differences import COLUMNS, draw_differences
from lmod_train.report.figures.heat import draw_heat
from lmod_train.report.figures.sheet import MOST
from lmod_train.report.results import Results
from lmod_train.report.section import Section
from lmod_train.scoring.comparison import FEWEST_DISCORDANT
from lmod_train.scoring.regimes import WHOLE
from lmod_train.scoring.steps import in_order

NOTE = f"""Runs of one model and its weights in two regimes, on the same questions. independent: each question alone.
cas_last and cas_all: after the model's own answer to the preceding stage, or to all earlier ones. oracle: after the
true earlier answers. planted: after a wrong answer to the preceding stage. Effect of context: with own answers minus
alone; error propagation: with true answers minus with own ones. Differences are of the shares of right answers, with
an interval over patients. p: exact McNemar test with patients as the independent units, only with
{FEWEST_DISCORDANT} or more questions that one regime alone answers rightly. Holm: adjusted for the stages of the two
runs. Mean: unweighted mean of the differences of the stages. CCR: over the chains that are complete among these
questions. A stage without a difference (n = 0) is not applicable: it has no earlier stage, so that both regimes asked
it in the same words."""
ALT = "Difference of the shares of right answers at each stage of {} between two regimes, with 95 % intervals."
HEADS: Heads = ["model", "effect", "first", "second", *effect_heads("first", "second")]


class Regimes(Section):
    """Paired differences between the regimes of each model, stage by stage."""

    title: ClassVar[str] = "Chains: effect of earlier answers"

    def parts(self, results: Results) -> Iterator[Part]:
        """Yield a table and a figure per task; nothing unless a model was asked in two regimes."""
        for task, runs in every_chain(results):
            found = list(effects(runs))
            if found:
                yield Text(NOTE)
                rows = [[e.model, e.kind, e.first, e.second, *row] for e in found for row in effect_rows(e)]
                yield table(f"regimes-{task}", HEADS, rows, f"{task}: regimes on the same questions")
                yield _figure(task, found)


def _figure(task: str, found: Sequence[Effect]) -> Figure:
    rows = [
        [f"{e.kind}: {e.first} - {e.second}", e.model, stage, score.n, score.value, (score.low, score.high)]
        for e in found
        for stage, score in (*((s.step, s.score) for s in e.stages), *((WHOLE[s.metric], s) for s in e.whole))
    ]
    order = [*in_order(s.step for e in found for s in e.stages), *WHOLE.values()]
    panels = list(dict.fromkeys(str(row[0]) for row in rows))
    rows.sort(key=lambda row: (panels.index(str(row[0])), order.index(str(row[2]))))
    many = len({e.model for e in found}) > MOST
    name, title = f"regimes-{task}", f"{task}: effect of earlier answers at each stage"
    return Figure(name, title, ALT.format(task), table(name, COLUMNS, rows), draw_heat if many else draw_differences)
