"""Linear probe: logistic regression on features of a frozen vision network, fitted to convergence."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import numpy as np
import torch
from lightning_utilities.core.rank_zero import rank_zero_warn
from torch import Tensor, nn
from torch.nn import functional

from lmod_train.core.errors import BadArgument
from lmod_train.core.types import Batch
from lmod_train.models.modules.base import built
from lmod_train.models.modules.fine_tuning import inverse_frequencies
from lmod_train.models.modules.frozen_features import FrozenFeatures
from lmod_train.models.vision.feature_table import Encoder
from lmod_train.models.vision.logistic_regression import ITERATIONS, Fit, logistic_regression

CONSTANT = 1e-6
"""Standard deviation up to which a feature counts as constant."""

ABSENT = -1e4
"""Logit of a class without a training crop, whose likelihood is then 0."""


class LinearProbe(FrozenFeatures):
    """Logistic regression on features standardised by the training split.

    `fit` uses all training records at once, until convergence (`lmod_train.models.vision.logistic_regression`), in one
    optimiser step. Coefficients and likelihoods are those of scikit-learn's ``LogisticRegression`` behind a
    ``StandardScaler``. The optimum is unique: all seeds give the same probe.

    Args:
        encoder: Encoder that computes the features.
        choices: Classes; set from the datamodule's one task.
        cache: Where features are cached: ``disk`` or ``memory``.
        c: Inverse strength of the L2 penalty, above 0, as scikit-learn's ``C``: the sum of the losses counts `c` times,
            half the squared coefficients once.
        class_weights: ``inverse`` weights each crop by the inverse of its class's frequency in the training split
            (scikit-learn's ``balanced``), ``none`` all equally.
        iterations: Largest number of iterations, from 1; reaching it is a warning.
        name: Name of the model in replies and reports.

    Attributes:
        result: Result of the fit; None before it, and of a checkpoint.

    Raises:
        BadArgument: `c` or `iterations` is out of its range.
    """

    def __init__(
        self,
        encoder: Encoder,
        choices: tuple[str, ...] = (),
        cache: Literal["disk", "memory"] = "disk",
        c: float = 1.0,
        class_weights: Literal["none", "inverse"] = "none",
        iterations: int = ITERATIONS,
        name: str = "linear_probe",
    ) -> None:
        super().__init__(encoder, choices, cache, name)
        if not 0 < c < float("inf"):
            raise BadArgument("c", c, "a number above 0", "set c: 1.0")
        if iterations < 1:
            raise BadArgument("iterations", iterations, "at least 1", f"set iterations: {ITERATIONS}")
        self._c, self._iterations, self._inverse = c, iterations, class_weights == "inverse"
        self.automatic_optimization = False
        self.result: Fit | None = None
        self.head: nn.Linear | None = None
        self.mean: Tensor
        self.std: Tensor

    def setup(self, stage: str) -> None:
        """Compute all features, and in `fit` check the classes of the training split.

        Raises:
            BadArgument: The training split has fewer than two classes, or cannot be used as a whole.
        """
        super().setup(stage)
        if stage == "fit":
            self._check_classes(self.training_features()[1])

    def _check_classes(self, targets: Tensor) -> None:
        """Warn about classes without a training crop.

        Raises:
            BadArgument: All crops are of one class.
        """
        absent = [word for i, word in enumerate(self.choices) if not (targets == i).any()]
        if len(self.choices) - len(absent) < 2:
            known = ", ".join(word for word in self.choices if word not in absent)
            wanted = "training records of at least two classes"
            raise BadArgument("data.curated", known, wanted, "curate with more samples")
        if absent:
            rank_zero_warn(f"no training image of {', '.join(absent)}: the model cannot learn it")

    def configure_model(self) -> None:
        """Build the linear layer with weights of 0, and a mean and deviation of the features of 0 and 1.

        `fit` or a checkpoint sets them.
        """
        if self.head is not None:
            return
        width = self.encoder.width
        self.head = nn.Linear(width, len(self.choices))
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("std", torch.ones(width))

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """Return the linear layer, and mean and deviation of the features."""
        return {**super().state_dict(*args, **kwargs), **{name: getattr(self, name) for name in ("mean", "std")}}

    def scores(self, features: Tensor) -> Tensor:
        """Return the log-likelihoods (B, choices) of features (B, width), in the precision of the linear layer."""
        head = built(self.head)
        with torch.autocast(features.device.type, enabled=False):
            standard = (features.to(self.mean) - self.mean) / self.std
            return functional.log_softmax(head(standard).float(), dim=1)

    def on_fit_start(self) -> None:
        """Print the number of parameters, and fit again in the first batch, also after a checkpoint was loaded."""
        super().on_fit_start()
        self.result = None

    def training_step(self, batch: Batch, batch_idx: int) -> None:
        """Fit to all training records in the first batch, and log the mean cross-entropy in nats; then do nothing."""
        if self.result is not None:
            return
        self.result = self._fitted()
        self._count_step()
        self.log("train/loss", self.result.loss, prog_bar=True, batch_size=len(batch))
        if not self.result.converged:
            rank_zero_warn(
                f"the linear probe has not converged after {self.result.iterations} iterations: its coefficients are "
                "not yet the optimum. Next: raise model.init_args.iterations, or lower model.init_args.c"
            )

    @torch.no_grad()
    def _fitted(self) -> Fit:
        """Set mean, deviation and linear layer by all training records, and return the fit."""
        head = built(self.head)
        features, targets = self.training_features()
        standard = self._standardised(features.double())
        known, rows = np.unique(targets.numpy(), return_inverse=True)
        counts = Counter(rows.tolist())
        weights = inverse_frequencies([counts[i] for i in range(len(known))])[rows].numpy() if self._inverse else None
        fit = logistic_regression(standard.numpy(), rows, len(known), self._c, weights, self._iterations)
        head.weight[known] = torch.from_numpy(fit.weight).to(head.weight)
        head.bias.fill_(ABSENT)
        head.bias[known] = torch.from_numpy(fit.bias).to(head.bias)
        return fit

    def _standardised(self, features: Tensor) -> Tensor:
        """Set mean and deviation to those of features (crops, width), and return the features standardised by them.

        A constant feature is divided by 1.
        """
        std = features.std(0, correction=0)
        self.mean.copy_(features.mean(0))
        self.std.copy_(torch.where(std > CONSTANT, std, 1.0))
        return (features - self.mean.to(features)) / self.std.to(features)

    def _count_step(self) -> None:
        """Count one optimiser step, unless the run is continued from a checkpoint that has it."""
        for parameter in self.parameters():
            parameter.grad = torch.zeros_like(parameter)  # mixed precision looks for infinities in it
        optimiser: Any = self.optimizers()
        if not self.global_step:
            optimiser.step()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return an optimiser that changes nothing, as the weights are set by the fit; it counts the step."""
        return torch.optim.SGD(self.parameters(), lr=0.0)
