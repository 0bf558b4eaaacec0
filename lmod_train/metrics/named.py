"""Single figures as tensors, for any LightningModule's ``self.log``."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from lmod_train.errors import BadArgument
from lmod_train.metrics.prediction import PredictionMetric, Ruler


class Figure(PredictionMetric):
    """One figure of the ruler; `compute` gives a 0-d float32 tensor, NaN where there is nothing to score.

    Args:
        score: The ruler, of one task.
        metric: Name of the figure in ``scores.csv``.
        subset: ``all`` or ``key=value``; a subset that did not occur is NaN.
        **options: Of `torchmetrics.Metric`.
    """

    higher_is_better = True

    def __init__(self, score: Ruler, metric: str, subset: str = "all", **options: Any) -> None:
        super().__init__(score, **options)
        self.metric, self.subset = metric, subset

    def compute(self) -> Tensor:
        """Return the figure.

        Raises:
            BadArgument: The ruler has scores, but none, or several, of that name.
        """
        scores = list(super().compute())
        named = [s for s in scores if s.metric == self.metric]
        if scores and not named:
            known = ", ".join(sorted({s.metric for s in scores}))
            raise BadArgument("metric", self.metric, f"one of {known}", "name a figure that this task has")
        found = [s.value for s in named if s.subset == self.subset]
        if len(found) > 1:
            tasks = sorted({s.task for s in named})
            raise BadArgument("score", tasks, "the scores of one task", "make one metric for each task")
        value = found[0] if found else None
        return torch.tensor(float("nan") if value is None else value, device=self.device)


class Accuracy(Figure):
    """Accuracy in one of its three versions (`scoring.classification`)."""

    def __init__(
        self, score: Ruler, version: Literal["strict", "answered", "chance_filled"] = "strict", **options: Any
    ) -> None:
        super().__init__(score, f"accuracy_{version}", **options)


class RegionF1(Figure):
    """F1 over regions by one of the two published definitions (`scoring.regions`)."""

    def __init__(self, score: Ruler, definition: Literal["lmod_plus", "lmod_v1"] = "lmod_plus", **options: Any) -> None:
        super().__init__(score, f"f1_{definition}", **options)


class _Fixed(Figure):
    name: ClassVar[str]

    def __init__(self, score: Ruler, subset: str = "all", **options: Any) -> None:
        super().__init__(score, self.name, subset, **options)


class HallucinationResistance(_Fixed):
    """HR, also printed as HC and PPV: the share of predicted region ids that exist."""

    name = "hr"


class Sensitivity(_Fixed):
    """Share of the diseased that are called so; no answer is a miss."""

    name = "sensitivity"


class Specificity(_Fixed):
    """Share of the healthy that are called so; no answer is a miss."""

    name = "specificity"


class RejectionRate(_Fixed):
    """Share of the items that were refused."""

    name = "share_refused"
    higher_is_better = False
