"""Nearest neighbours on features of a frozen vision network; nothing is optimised."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lmod_train.core.errors import BadArgument, WeightsMismatch
from lmod_train.core.types import Batch
from lmod_train.models.modules.frozen_features import FrozenFeatures
from lmod_train.models.vision.feature_table import Encoder


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
        """Return the log-likelihoods (B, choices) of features (B, width), in float32 whatever the precision of the run.

        Raises:
            BadArgument: There are no neighbours: neither a training split nor a checkpoint.
        """
        with torch.autocast(features.device.type, enabled=False):
            return self._votes(features.float()).log()

    def _votes(self, features: Tensor) -> Tensor:
        """Return the shares of the vote (B, choices), above 0, of features (B, width)."""
        bank, targets = (self.bank[name].to(features.device) for name in ("features", "targets"))
        if not len(bank):
            cure = "name a fitted checkpoint"
            raise BadArgument("ckpt_path", None, "a checkpoint, or a training split to take neighbours from", cure)
        alike = functional.normalize(features, dim=1) @ functional.normalize(bank, dim=1).T
        cosine, nearest = alike.topk(min(self._neighbours, len(bank)), dim=1)
        weights = ((cosine - cosine[:, :1]) / self._temperature).exp()
        votes = torch.zeros(len(features), len(self.choices), device=features.device)
        votes.scatter_add_(1, targets[nearest], weights)
        share = votes / votes.sum(1, keepdim=True).clamp_min(self.FLOOR)
        return (share + self.FLOOR) / (1 + len(self.choices) * self.FLOOR)

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
            cure = "name a checkpoint that was fitted on the same task"
            raise WeightsMismatch("ckpt_path", list(self.choices), choices, cure)
        self.bank = kept

    def configure_optimizers(self) -> None:
        """Return no optimiser."""
