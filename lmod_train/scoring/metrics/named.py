"""Single metrics as tensors, for ``self.log`` of a LightningModule."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from lmod_train.core.errors import BadArgument
from lmod_train.scoring.metrics.prediction import PredictionMetric, ScoreFunction


class NamedMetric(PredictionMetric):
    """One metric of a task; `compute` returns a 0-d float32 tensor, NaN without predictions.

    Args:
        score: Score function of one task.
        metric: Name of the metric in ``scores.csv``.
        subset: ``all`` or ``key=value``; NaN for a subset that does not occur.
        **options: Options of `torchmetrics.Metric`.
    """

    higher_is_better = True

    def __init__(self, score: ScoreFunction, metric: str, subset: str = "all", **options: Any) -> None:
        super().__init__(score, **options)
        self.metric, self.subset = metric, subset

    def compute(self) -> Tensor:
        """Return the value of the metric.

        Raises:
            BadArgument: The scores have no metric of that name, or several.
        """
        scores = list(super().compute())
        named = [s for s in scores if s.metric == self.metric]
        if scores and not named:
            known = ", ".join(sorted({s.metric for s in scores}))
            raise BadArgument("metric", self.metric, f"one of {known}", "name a metric of this task")
        found = [s.value for s in named if s.subset == self.subset]
        if len(found) > 1:
            tasks = sorted({s.task for s in named})
            raise BadArgument("score", tasks, "the scores of one task", "make one metric for each task")
        value = found[0] if found else None
        return torch.tensor(float("nan") if value is None else value, device=self.device)


class Accuracy(NamedMetric):
    """Accuracy in one of three versions (see `lmod_train.scoring.classification`)."""

    def __init__(
        self, score: ScoreFunction, version: Literal["strict", "answered", "chance_filled"] = "strict", **options: Any
    ) -> None:
        super().__init__(score, f"accuracy_{version}", **options)


class RegionF1(NamedMetric):
    """F1 over regions by one of the two published definitions (see `lmod_train.scoring.region_scores`)."""

    def __init__(
        self, score: ScoreFunction, definition: Literal["lmod_plus", "lmod_v1"] = "lmod_plus", **options: Any
    ) -> None:
        super().__init__(score, f"f1_{definition}", **options)


class _Fixed(NamedMetric):
    name: ClassVar[str]

    def __init__(self, score: ScoreFunction, subset: str = "all", **options: Any) -> None:
        super().__init__(score, self.name, subset, **options)


class HallucinationResistance(_Fixed):
    """Share of predicted region ids that exist (HR, also printed as HC and PPV)."""

    name = "hr"


class Sensitivity(_Fixed):
    """Share of positive items with a positive answer; a missing answer is wrong."""

    name = "sensitivity"


class Specificity(_Fixed):
    """Share of negative items with a negative answer; a missing answer is wrong."""

    name = "specificity"


class RejectionRate(_Fixed):
    """Share of items whose reply is a refusal."""

    name = "share_refused"
    higher_is_better = False
