"""Scores as the papers print them, of the tasks of this package, to show beside those of runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import median

from lmod_train.core.vocabulary.error_types import type_called
from lmod_train.report.papers.printed import NO_MODEL, Printed, find
from lmod_train.report.published import Published


@dataclass(frozen=True, slots=True)
class _Supervised:
    """A supervised model of LMOD's Table 4 and LMOD+'s Table 7."""

    task: str
    target: str
    model: str
    ours: str
    note: str


_SUPERVISED = (
    _Supervised("anatomy", "anatomical_recognition", "CNN", "f1_lmod_plus",
                "ours answers among the record's own options"),
    _Supervised("glaucoma", "glaucoma_diagnosis", "RETFound (CFP weights)", "accuracy_strict",
                "the table names it CNN and the text RETFound; the accuracy that its program prints is, with two "
                "classes, the share of right answers"),
    _Supervised("macular_hole_stage", "mh_staging", "RETFound (OCT weights)", "retfound_accuracy",
                "the table names it CNN and the text RETFound; probably the one accuracy that its program prints after "
                "a test: the mean over stages 2 to 4 of the share put rightly on either side of the stage, never below "
                "the share of right answers; no paper says which, and a test split of 5 % (about 193 of 3,859 scans) "
                "can give 0.9817 by neither"),
)  # fmt: skip


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
    """Return all published scores: supervised models, best and median zero-shot, and the shares of error types."""
    supervised = [score for of in _SUPERVISED for score in _supervised(of)]
    zero_shot = [score for column in _ZERO_SHOT for score in _best_and_median(column)]
    return (*supervised, *zero_shot, *_error_types())


def _supervised(of: _Supervised) -> Iterator[Published]:
    for cell in find("lmod_plus", "Table 7", dataset_or_subset=of.target):
        (first,) = find("lmod_naacl", "Table 4", dataset_or_subset=of.target, modality=cell.modality)
        macro = cell.modality == "macro_avg"
        metric = _metric(cell) if first.metric == cell.metric else f"{_metric(first)} (LMOD), {_metric(cell)} (LMOD+)"
        modality = ("macro" if macro else cell.modality) if of.task == "anatomy" else ""
        note = f"mean over the five modalities; {of.note}" if macro else of.note
        where = "LMOD, Table 4; LMOD+, Table 7"
        yield Published(of.task, None, modality, "supervised", of.model, metric, of.ours, _number(cell), where, note)


def _metric(cell: Printed) -> str:
    return cell.metric.replace("f1", "F1")


def _error_types() -> Iterator[Published]:
    note = "of 100 wrong replies of 23 models, sorted by GPT-4o and by hand"
    for cell in find("lmod_plus", "Table 9", metric="proportion"):
        kind = type_called(cell.stage_or_class) or cell.stage_or_class
        yield Published("glaucoma", None, "", "error type", "", kind, "", _number(cell), "LMOD+, Table 9", note)


def _best_and_median(column: _ZeroShot) -> Iterator[Published]:
    cells = list(find(column.paper, column.table, task=column.target, metric=column.metric))
    scores = {cell.model: _number(cell) for cell in cells if cell.value and cell.model not in NO_MODEL}
    best = max(scores, key=scores.__getitem__)
    metric = _metric(cells[0])
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
