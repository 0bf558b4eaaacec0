"""Baselines on features of a frozen vision network: a linear probe and nearest neighbours.

They measure a pre-trained network before fine-tuning, in minutes on a CPU. Both are trained and scored like every other
module; features are computed once for all epochs and runs (`lmod_train.vision.table`).
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from lmod_train.errors import BadArgument, WeightsMismatch
from lmod_train.modules.base import LmodModule
from lmod_train.modules.classifier import worded
from lmod_train.modules.training_data import training_data
from lmod_train.types import Batch, Identity, Reply
from lmod_train.vision.batch import FeatureBatch
from lmod_train.vision.feature_table import Encoder, FeatureDialect, feature_table
from lmod_train.vision.weights_file import located
from lmod_train.wording import refuse_several_questions


class FrozenFeatures(LmodModule):
    """Base class of the modules on frozen features, with replies in the record's words and likelihoods.

    Args:
        encoder: Encoder that computes the features.
        choices: Classes; set from the datamodule's one task.
        cache: Where features are cached: ``disk`` (below ``CURATED/cache``) or ``memory`` (this process).

    Raises:
        BadArgument: There are no choices, because the datamodule has several tasks.
    """

    model_name: ClassVar[str]

    def __init__(
        self, encoder: Encoder, choices: tuple[str, ...] = (), cache: Literal["disk", "memory"] = "disk"
    ) -> None:
        super().__init__()
        if not choices:
            raise BadArgument(
                "data.tasks", "several tasks", "exactly one task for a classifier", "give data.tasks one item"
            )
        self.encoder, self.choices, self._cache = encoder, tuple(choices), cache
        self.dialect = FeatureDialect(self.choices)
        self.collate = self.dialect

    def setup(self, stage: str) -> None:
        """Compute all features before the first batch; each process computes a share and reads those of the others.

        No process waits in a collective call, which would time out in a long first run.

        Raises:
            BadArgument: The training records, which every command checks, ask several questions about whole images.
        """
        data = training_data(self.trainer)
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
            worded(record, self.choices, row, rendered=rendered, step=self.step, model=self.model_name)
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


class LinearProbe(FrozenFeatures):
    """A linear layer on features standardised by the training split.

    Args:
        encoder: Encoder that computes the features.
        choices: Classes; set from the datamodule's one task.
        cache: Where features are cached: ``disk`` or ``memory``.
        lr: Learning rate of AdamW.
        weight_decay: Weight decay of AdamW.
    """

    model_name = "linear_probe"

    def __init__(
        self,
        encoder: Encoder,
        choices: tuple[str, ...] = (),
        cache: Literal["disk", "memory"] = "disk",
        lr: float = 1e-2,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(encoder, choices, cache)
        self._lr, self._weight_decay = lr, weight_decay
        self.head: nn.Linear | None = None
        self.mean: Tensor
        self.std: Tensor

    def configure_model(self) -> None:
        """Build the linear layer with weights of 0, and compute mean and deviation of the training features.

        Without training records these are 0 and 1; a checkpoint holds its own.
        """
        if self.head is not None:
            return
        width = self.encoder.width
        self.head = nn.Linear(width, len(self.choices))
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        features, _ = self.training_features()
        some = len(features) > 1
        self.register_buffer("mean", features.mean(0) if some else torch.zeros(width))
        self.register_buffer("std", features.std(0).clamp_min(1e-6) if some else torch.ones(width))

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """Return the linear layer, and mean and deviation of the features."""
        return {**super().state_dict(*args, **kwargs), **{name: getattr(self, name) for name in ("mean", "std")}}

    def scores(self, features: Tensor) -> Tensor:
        """Return the log-likelihoods (B, choices) of features (B, width)."""
        if self.head is None:
            raise RuntimeError("call configure_model() first")
        standard = (features.to(self.mean) - self.mean) / self.std
        return functional.log_softmax(self.head(standard).float(), dim=1)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the mean cross-entropy over crops, in nats."""
        own = FeatureBatch.of(batch)
        loss = functional.nll_loss(self.scores(own.features), own.targets)
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        return self.weighed(loss, batch_idx)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return AdamW with a constant learning rate, as the problem is convex."""
        return torch.optim.AdamW(self.parameters(), lr=self._lr, weight_decay=self._weight_decay)


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

    Raises:
        BadArgument: `neighbours` or `temperature` is out of its range.
    """

    model_name = "nearest_neighbour"
    FLOOR = 1e-6
    """Share of the vote that is added to every class, so that no likelihood is zero."""

    def __init__(
        self,
        encoder: Encoder,
        choices: tuple[str, ...] = (),
        cache: Literal["disk", "memory"] = "disk",
        neighbours: int = 20,
        temperature: float = 0.07,
    ) -> None:
        super().__init__(encoder, choices, cache)
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
            BadArgument: The training split is empty, in `fit`, or asks several questions.
        """
        super().setup(stage)
        features, targets = self.training_features()
        if stage == "fit" and not len(features):
            raise BadArgument(
                "data.curated", "no training records", "records in the split train", "curate more samples"
            )
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
