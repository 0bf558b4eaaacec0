"""The base metric: gathers predictions, keeps one per record id, and scores them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.distributed import gather_all_tensors

from lmod_train.core.artifacts.predictions import prediction_line, prediction_of_line
from lmod_train.core.types import Prediction, Score

ScoreFunction = Callable[[Sequence[Prediction]], list[Score]]
"""Function from predictions to scores, usually ``task.score``; picklable if the metric has to be."""


class Scores:
    """A sequence of scores that torchmetrics passes on as is; it walks into lists and fails on frozen dataclasses."""

    def __init__(self, scores: Sequence[Score]) -> None:
        self._scores = tuple(scores)

    def __iter__(self) -> Iterator[Score]:
        """Iterate over the scores in their order."""
        return iter(self._scores)

    def __len__(self) -> int:
        """Return the number of scores."""
        return len(self._scores)


class PredictionMetric(Metric):
    """Scores of predictions gathered over batches and ranks.

    Ranks may hold different numbers of predictions, also none. Each id is scored once, with its last update: padding
    duplicates of a distributed sampler drop out. By default `compute` gathers over all ranks first; where only some
    ranks log, pass ``sync_on_compute=False`` and call `sync` on every rank.

    Args:
        score: Function from predictions to scores.
        **options: Options of `torchmetrics.Metric`, such as ``sync_on_compute``.

    Example:
        >>> metric = PredictionMetric(lambda predictions: [Score("demo", "all", "n", len(predictions), None)])
        >>> metric.update([])
        >>> [score.n for score in metric.compute()]
        [0]
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False
    outcomes: list[Tensor] | Tensor

    def __init__(self, score: ScoreFunction, **options: Any) -> None:
        super().__init__(**{"dist_sync_fn": _gather_bytes} | options)
        self.score = score
        self.add_state("outcomes", default=[], dist_reduce_fx="cat")

    def update(self, predictions: Sequence[Prediction]) -> None:
        """Add predictions; an empty batch adds nothing."""
        text = b"".join(prediction_line(prediction) for prediction in predictions)
        if text:
            assert isinstance(self.outcomes, list)
            self.outcomes.append(torch.frombuffer(bytearray(text), dtype=torch.uint8).to(self.device))

    def predictions(self) -> list[Prediction]:
        """Return the predictions of this rank, or of all ranks after `sync`, one per id, in id order."""
        parts = self.outcomes if isinstance(self.outcomes, list) else [self.outcomes]
        lines = b"".join(part.cpu().numpy().tobytes() for part in parts).splitlines()
        last = {p.record.id: p for p in map(prediction_of_line, lines)}
        return [last[key] for key in sorted(last)]

    def compute(self) -> Any:
        """Return the `Scores` of all gathered predictions; without any, those of an empty list."""
        return Scores(self.score(self.predictions()))


def _gather_bytes(state: Tensor, group: Any = None) -> list[Tensor]:
    """Gather bytes over ranks; the placeholder state of a rank without predictions has another dtype before."""
    gathered: list[Tensor] = gather_all_tensors(state.to(torch.uint8), group)
    return gathered
