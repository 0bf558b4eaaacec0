"""Baselines on features of a frozen vision network: a linear probe and nearest neighbours.

They measure a pre-trained network before fine-tuning, in minutes on a CPU. Both are trained and scored like every other
module; features are computed once for all runs (`lmod_train.vision.table`). Neither depends on a seed or on the order
of the records: one epoch is enough.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections import Counter
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from lightning_utilities.core.rank_zero import rank_zero_warn
from torch import Tensor, nn
from torch.nn import functional

from lmod_train.errors import BadArgument, WeightsMismatch
from lmod_train.modules.base import LmodModule
from lmod_train.modules.classifier import worded
from lmod_train.modules.fine_tuning import inverse_frequencies
from lmod_train.modules.training_data import TrainingData, training_data
from lmod_train.types import Batch, Identity, Reply
from lmod_train.vision.batch import FeatureBatch
from lmod_train.vision.feature_table import Encoder, FeatureDialect, feature_table
from lmod_train.vision.logistic_regression import ITERATIONS, Fit, logistic_regression
from lmod_train.vision.weights_file import located
from lmod_train.wording import refuse_several_questions

CONSTANT = 1e-6
"""Standard deviation up to which a feature counts as constant."""

ABSENT = -1e4
"""Logit of a class without a training crop, whose likelihood is then 0."""

MARK = "logistic_regression"
"""Entry of a checkpoint that was fitted to convergence, with the settings of the fit."""


class FrozenFeatures(LmodModule):
    """Base class of the modules on frozen features, with replies in the record's words and likelihoods.

    Args:
        encoder: Encoder that computes the features.
        choices: Classes; set from the datamodule's one task.
        cache: Where features are cached: ``disk`` (below ``CURATED/cache``) or ``memory`` (this process).
        name: Name of the model in replies and reports.

    Raises:
        BadArgument: There are no choices, because the datamodule has several tasks.
    """

    def __init__(
        self,
        encoder: Encoder,
        choices: tuple[str, ...] = (),
        cache: Literal["disk", "memory"] = "disk",
        name: str = "frozen_features",
    ) -> None:
        super().__init__()
        if not choices:
            raise BadArgument(
                "data.tasks", "several tasks", "exactly one task for a classifier", "give data.tasks one item"
            )
        self.encoder, self.choices, self._cache, self._name = encoder, tuple(choices), cache, name
        self.dialect = FeatureDialect(self.choices)
        self.collate = self.dialect

    def setup(self, stage: str) -> None:
        """Compute all features before the first batch; each process computes a share and reads those of the others.

        No process waits in a collective call, which would time out in a long first run.

        Raises:
            BadArgument: The training records, which every command checks, ask several questions about whole images; or
                `fit` has none, or is to draw some of them more often.
        """
        data = training_data(self.trainer)
        if stage == "fit":
            _refuse_unused(data)
        refuse_several_questions(data.records("train"), self.choices)
        share = (self.trainer.global_rank, self.trainer.world_size)
        device = self.trainer.strategy.root_device
        table = feature_table(data.records("all"), data.curated, self.encoder, device, self._cache, self.print, share)
        self.dialect = FeatureDialect(self.choices, table)
        self.collate = self.dialect

    def training_features(self) -> tuple[Tensor, Tensor]:
        """Return features (crops, width) and classes (crops) of the training split; both may have no rows."""
        data = training_data(self.trainer)
        batch = self.dialect(data.records("train"), data.curated)
        return batch.features, batch.targets

    def identity(self) -> Identity:
        """Return the encoder's weights and shape."""
        weights = () if self.encoder.weights == "random" else (located(self.encoder.weights),)
        return replace(super().identity(), weights=weights)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "encoder": self.encoder.key()}

    @abstractmethod
    def scores(self, features: Tensor) -> Tensor:
        """Return the log-likelihoods (B, choices) of features (B, width)."""

    def respond(self, batch: Batch) -> list[Reply]:
        """Return the most likely choice as a reply to each record; one line per region, in the requested format."""
        rows: list[list[Tensor]] = [[] for _ in batch.records]
        own = FeatureBatch.of(batch)
        scores = self.scores(own.features).float().cpu()
        for owner, score in zip(own.owners, scores, strict=True):
            rows[owner].append(score)
        rendered = f"<features of {self.encoder.image_size} px>"
        return [
            worded(record, self.choices, row, rendered=rendered, step=self.step, model=self._name)
            for record, row in zip(batch.records, rows, strict=True)
        ]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the key of the encoder."""
        super().on_save_checkpoint(checkpoint)
        checkpoint["encoder"] = self.encoder.key()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint that was fitted on the features of another encoder.

        Raises:
            WeightsMismatch: The encoder differs, or the tensors do.
        """
        super().on_load_checkpoint(checkpoint)
        theirs, ours = checkpoint.get("encoder"), self.encoder.key()
        if theirs != ours:
            raise WeightsMismatch(
                "ckpt_path", [f"encoder {ours}"], [f"encoder {theirs}"], "name the encoder it was fitted with"
            )


def _refuse_unused(data: TrainingData) -> None:
    """Refuse an empty training split, and options of the training loader that a fit to all records does not use.

    Raises:
        BadArgument: There are no training records, or `data.balance` is not ``none``.
    """
    if not data.records("train"):
        raise BadArgument("data.curated", "no training records", "records in the split train", "curate more samples")
    balance = getattr(data, "balance", "none")
    if balance != "none":
        cure = "leave it out; a linear probe weights classes by model.init_args.class_weights: inverse"
        raise BadArgument("data.balance", balance, "none, as each training record is used exactly once", cure)


class LinearProbe(FrozenFeatures):
    """Logistic regression on features standardised by the training split.

    `fit` uses all training records at once, until convergence (`lmod_train.vision.logistic_regression`), in one
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
        if self.head is None:
            raise RuntimeError("call configure_model() first")
        with torch.autocast(features.device.type, enabled=False):
            standard = (features.to(self.mean) - self.mean) / self.std
            return functional.log_softmax(self.head(standard).float(), dim=1)

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
        if self.head is None:
            raise RuntimeError("call configure_model() first")
        features, targets = self.training_features()
        standard = self._standardised(features.double())
        known, rows = np.unique(targets.numpy(), return_inverse=True)
        counts = Counter(rows.tolist())
        weights = inverse_frequencies([counts[i] for i in range(len(known))])[rows].numpy() if self._inverse else None
        fit = logistic_regression(standard.numpy(), rows, len(known), self._c, weights, self._iterations)
        self.head.weight[known] = torch.from_numpy(fit.weight).to(self.head.weight)
        self.head.bias.fill_(ABSENT)
        self.head.bias[known] = torch.from_numpy(fit.bias).to(self.head.bias)
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

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the settings of the fit."""
        super().on_save_checkpoint(checkpoint)
        checkpoint[MARK] = {"c": self._c, "class_weights": "inverse" if self._inverse else "none"}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint that was not fitted to convergence.

        Raises:
            WeightsMismatch: A version up to 0.1 trained it for some epochs by AdamW; its encoder, choices or tensors
                differ.
        """
        super().on_load_checkpoint(checkpoint)
        if MARK not in checkpoint:
            found = f"a linear layer that lmod_train {checkpoint.get('lmod_version')} trained by AdamW for some epochs"
            cure = "fit it again, in a new run folder: `fit` with --trainer.max_epochs 1 takes seconds"
            raise WeightsMismatch("ckpt_path", ["a logistic regression fitted to convergence"], [found], cure)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return an optimiser that changes nothing, as the weights are set by the fit; it counts the step."""
        return torch.optim.SGD(self.parameters(), lr=0.0)


class NearestNeighbour(FrozenFeatures):
    """k nearest neighbours: a vote of the most similar training crops, weighted by exp(cosine / temperature).

    Nothing is optimised: `fit` stores the training features in the checkpoint, and one epoch is enough. Without a
    checkpoint the training split of the curated folder is used.

    References: Wu et al. 2018 (arXiv 1805.01978), section 3.4; Caron et al. 2021 (DINO), k = 20, temperature 0.07.

    Args:
        encoder: Encoder that computes the features.
        choices: Classes; set from the datamodule's one task.
        cache: Where features are cached: ``disk`` or ``memory``.
        neighbours: Number of neighbours, from 1. All are used if there are fewer.
        temperature: Temperature of the weights, above 0.
        name: Name of the model in replies and reports.

    Raises:
        BadArgument: `neighbours` or `temperature` is out of its range.
    """

    FLOOR = 1e-6
    """Share of the vote that is added to every class, so that no likelihood is zero."""

    def __init__(
        self,
        encoder: Encoder,
        choices: tuple[str, ...] = (),
        cache: Literal["disk", "memory"] = "disk",
        neighbours: int = 20,
        temperature: float = 0.07,
        name: str = "nearest_neighbour",
    ) -> None:
        super().__init__(encoder, choices, cache, name)
        if neighbours < 1:
            raise BadArgument("neighbours", neighbours, "at least 1", "set neighbours: 20")
        if temperature <= 0:
            raise BadArgument("temperature", temperature, "a number above 0", "set temperature: 0.07")
        self._neighbours, self._temperature = neighbours, temperature
        self.automatic_optimization = False  # there is nothing to optimise
        self.bank: dict[str, Tensor] = {}

    def setup(self, stage: str) -> None:
        """Compute all features, and select those of the training split.

        Raises:
            BadArgument: In `fit`, the training split is empty or is to be balanced; or it asks several questions.
        """
        super().setup(stage)
        features, targets = self.training_features()
        self.bank = {"features": features, "targets": targets}

    def _settings(self) -> dict[str, Any]:
        data: Any = getattr(self._trainer, "datamodule", None)  # None where the module is used without a datamodule
        voters = [[r.id, r.image_sha256, r.answer] for r in (data.records("train") if data else ())]
        digest = hashlib.sha256(json.dumps(voters).encode()).hexdigest()
        votes = {"voters": digest, "neighbours": self._neighbours, "temperature": self._temperature}
        return {**super()._settings(), **votes}

    def scores(self, features: Tensor) -> Tensor:
        """Return the log-likelihoods (B, choices) of features (B, width).

        Raises:
            BadArgument: There are no neighbours: neither a training split nor a checkpoint.
        """
        bank, targets = (self.bank[name].to(features.device) for name in ("features", "targets"))
        if not len(bank):
            raise BadArgument(
                "ckpt_path",
                None,
                "a checkpoint, or a training split to take neighbours from",
                "name a fitted checkpoint",
            )
        alike = functional.normalize(features, dim=1) @ functional.normalize(bank, dim=1).T
        cosine, nearest = alike.topk(min(self._neighbours, len(bank)), dim=1)
        weights = ((cosine - cosine[:, :1]) / self._temperature).exp()
        votes = torch.zeros(len(features), len(self.choices), device=features.device)
        votes.scatter_add_(1, targets[nearest], weights)
        share = votes / votes.sum(1, keepdim=True).clamp_min(self.FLOOR)
        return ((share + self.FLOOR) / (1 + len(self.choices) * self.FLOOR)).log()

    def training_step(self, batch: Batch, batch_idx: int) -> None:
        """Do nothing: `setup` has selected the training features."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the training features."""
        super().on_save_checkpoint(checkpoint)
        checkpoint["bank"] = {**self.bank, "choices": list(self.choices)}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Load the training features from the checkpoint.

        Raises:
            WeightsMismatch: Its encoder, choices or module differ.
        """
        super().on_load_checkpoint(checkpoint)
        kept = dict(checkpoint.get("bank", {}))
        choices = kept.pop("choices", [])
        if choices != list(self.choices):
            raise WeightsMismatch(
                "ckpt_path", list(self.choices), choices, "name a checkpoint that was fitted on the same task"
            )
        self.bank = kept

    def configure_optimizers(self) -> None:
        """Return no optimiser."""
