"""Published scores of the papers, measured on real data, for comparison with the scores of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from lmod_train.report.papers.printed import NO_MODEL, Printed, find
from lmod_train.report.results import RunScores


@dataclass(frozen=True, slots=True)
class Published:
    """One published score.

    Attributes:
        task: Name of the task in this package.
        chance: Accuracy of guessing, if the paper's choices differ from the task's; otherwise None.
        modality: Modality of the score, ``macro`` for the mean of modalities, empty for all together.
        kind: ``supervised`` or ``zero-shot``.
        model: Model in the paper, or the kind of mean over models.
        metric: Metric in the paper.
        ours: Most similar metric of this package.
        value: Score in [0, 1].
        where: Paper and table.
        note: Remark needed to interpret the score.
    """

    task: str
    chance: float | None
    modality: str
    kind: str
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

    @property
    def line(self) -> str:
        """The score in a sentence."""
        mean = "macro " if self.modality == "macro" else f"{self.modality} " if self.modality else ""
        note = f" ({self.note})" if self.note else ""
        return f"published ({self.where}), on real data: {self.model}, {mean}{self.metric} " + (f"{self.printed}{note}")


@dataclass(frozen=True, slots=True)
class _Supervised:
    """A supervised model of LMOD's Table 4 and LMOD+'s Table 7."""

    task: str
    target: str
    model: str
    metric: str
    ours: str
    note: str


_OPTIONS = "ours answers among the record's own options"
_SUPERVISED = (
    _Supervised("anatomy", "anatomical_recognition", "CNN", "F1", "f1_lmod_plus", _OPTIONS),
    _Supervised("glaucoma", "glaucoma_diagnosis", "RETFound (CFP weights)", "accuracy", "accuracy_strict",
                "the table names it CNN and the text RETFound; the accuracy that its program prints is, with two "
                "classes, the share of right answers"),
    _Supervised("macular_hole_stage", "mh_staging", "RETFound (OCT weights)", "accuracy", "retfound_accuracy",
                "the table names it CNN and the text RETFound; probably the one accuracy that its program prints after "
                "a test: the mean over stages 2 to 4 of the share put rightly on either side of the stage, never below "
                "the share of right answers; no paper says which, and a test split of 5 % (about 193 of 3,859 scans) "
                "can give 0.9817 by neither"),
)  # fmt: skip
_MACRO = "mean over the five modalities; LMOD+ prints the same numbers as accuracies; "


@dataclass(frozen=True, slots=True)
class _ZeroShot:
    """A column of zero-shot scores, of which the best and the median are shown."""

    task: str
    paper: str
    table: str
    where: str
    target: str
    ours: str
    metric: str = "accuracy"
    chance: float | None = None
    note: str = ""
    of_best: str = ""
    of_median: str = ""


_ZERO_SHOT = (
    _ZeroShot("anatomy", "lmod_plus", "Table 3", "LMOD+, Table 3", "anatomical_recognition", "f1_lmod_plus", "f1"),
    _ZeroShot("glaucoma", "lmod_naacl", "Table 2", "LMOD, Table 2", "glaucoma_diagnosis", "accuracy_answered",
              of_best="; 66 of the 122 answered"),
    _ZeroShot("macular_hole_stage", "lmod_naacl", "Table 2", "LMOD, Table 2", "mh_staging", "accuracy_answered"),
    _ZeroShot("conditions", "lmod_plus", "Table 3", "LMOD+, Table 3", "binary_diagnosis", "accuracy_strict"),
    _ZeroShot("four_way", "lmod_plus", "Table 3", "LMOD+, Table 3", "multiclass_diagnosis", "accuracy_strict"),
    _ZeroShot("sex", "lmod_plus", "Table 3", "LMOD+, Table 3", "sex_prediction", "accuracy_strict",
              of_median="; three of them are printed as 0"),
    _ZeroShot("age_group", "lmod_plus", "Table 3", "LMOD+, Table 3", "age_prediction", "accuracy_strict", chance=0.25,
              note="; four merged groups"),
    _ZeroShot("age_group", "lmod_v1", "Table 3", "LMOD v1, Table 3", "age_prediction", "accuracy_answered",
              chance=0.125, note="; eight groups"),
)  # fmt: skip


@cache
def published() -> tuple[Published, ...]:
    """Return the published scores that stand beside those of runs: supervised models, best and median zero-shot."""
    supervised = [score for of in _SUPERVISED for score in _supervised(of)]
    return (*supervised, *(score for column in _ZERO_SHOT for score in _best_and_median(column)))


def _supervised(of: _Supervised) -> Iterator[Published]:
    for cell in find("lmod_plus", "Table 7", dataset_or_subset=of.target):
        anatomy = of.target == "anatomical_recognition"
        modality = cell.modality.replace("macro_avg", "macro") if anatomy else ""
        note = _MACRO + of.note if modality == "macro" else of.note
        where = "LMOD, Table 4; LMOD+, Table 7"
        yield Published(of.task, None, modality, "supervised", of.model, of.metric, of.ours, _number(cell), where, note)


def _best_and_median(column: _ZeroShot) -> Iterator[Published]:
    cells = find(column.paper, column.table, task=column.target, metric=column.metric)
    scores = {cell.model: _number(cell) for cell in cells if cell.value and cell.model not in NO_MODEL}
    best = max(scores, key=scores.__getitem__)
    metric = column.metric.replace("f1", "F1")
    for model, value, note in (
        (f"{best.replace('LLaVa', 'LLaVA')} (best)", scores[best], column.of_best),
        (f"median of {len(scores)} models", median(scores.values()), column.of_median),
    ):
        remark = f"zero-shot{column.note}{note}"
        yield Published(
            column.task, column.chance, "", "zero-shot", model, metric, column.ours, value, column.where, remark
        )


def _number(cell: Printed) -> float:
    number = cell.number
    assert number is not None, cell
    return number


def published_beside(runs: Sequence[RunScores], drawn: Collection[str] = ()) -> list[Published]:
    """Return the published scores for the tasks of runs, without those of a single modality.

    Args:
        runs: The runs.
        drawn: Tasks with records of phantoms, which are left out, as published scores are of real eyes.
    """
    found = []
    for task in dict.fromkeys(task for run in runs for task in run.tasks() if task not in drawn):
        chances = [s.value for run in runs for s in [run.find(task, "chance")] if s and s.value is not None]
        for p in published():
            fits = p.chance is None or any(abs(p.chance - chance) < 1e-6 for chance in chances)
            if p.task == task and fits and p.modality in ("", "macro"):
                found.append(p)
    return found
