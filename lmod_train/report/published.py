"""Published scores, measured on real data, that extensions state for comparison with the scores of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lmod_train.core.extension import joined, loaded
from lmod_train.report.origin import not_as_published
from lmod_train.report.results import Results

HERE = "measured here"
"""State of the row of a run in a table of published scores."""
Kind = Literal["supervised", "zero-shot", "error type"]


def published_beside(results: Results, *, kind: Kind | None = None) -> list[Published]:
    """Return the published scores that may stand beside those of runs: the only way of a printed score into a section.

    Left out are those of tasks that a run asks of phantoms, or that all runs ask in other ways than published, as
    published scores are of real eyes; and those over other choices than the runs have.

    Args:
        results: The runs.
        kind: Only those of this kind; None returns the scores over all items, not the shares of error types.
    """
    barred = not_as_published(results.outcomes)
    found, known = [], [p for stated in loaded(joined("published")) for p in stated()]
    asked = (task for outcomes in results.outcomes.values() for task in outcomes.items)
    for task in (task for task in dict.fromkeys((*results.tasks, *asked)) if task not in barred):
        chances = [s.value for run in results.runs for s in [run.find(task, "chance")] if s and s.value is not None]
        for p in known:
            wanted = p.kind == kind if kind else p.kind != "error type"
            fits = p.chance is None or any(abs(p.chance - chance) < 1e-6 for chance in chances)
            if p.task == task and wanted and fits and p.modality in ("", "macro"):
                found.append(p)
    return found


@dataclass(frozen=True, slots=True)
class Published:
    """One published score.

    Attributes:
        task: Name of the task in this package.
        chance: Accuracy of guessing, if the paper's choices differ from the task's; otherwise None.
        modality: Modality of the score, ``macro`` for the mean of modalities, empty for all together.
        kind: ``supervised`` or ``zero-shot``; ``error type`` for a share of wrong replies.
        model: Model in the paper, or the kind of mean over models.
        metric: Metric in the paper, or the error type.
        ours: Most similar metric of this package.
        value: Score in [0, 1].
        where: Paper and table.
        note: Remark needed to interpret the score.
    """

    task: str
    chance: float | None
    modality: str
    kind: Kind
    model: str
    metric: str
    ours: str
    value: float
    where: str
    note: str

    @property
    def printed(self) -> str:
        """The score with four decimals, as in the papers."""
        return f"{self.value:.4f}"
