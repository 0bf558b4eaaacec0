"""Base class of baselines on features of a frozen vision network.

They measure a pre-trained network before fine-tuning, in minutes on a CPU, and are trained and scored like every other
module; features are computed once for all runs (`lmod_train.models.vision.table`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Literal

from torch import Tensor

from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import refuse_several_questions
from lmod_train.core.types import Batch, Identity, Reply
from lmod_train.models.modules.base import LmodModule, classes_of_one_task
from lmod_train.models.modules.classifier import worded
from lmod_train.models.modules.training_data import TrainingData, training_data
from lmod_train.models.vision.feature_table import Encoder, FeatureDialect, feature_table
from lmod_train.models.vision.picture_batch import FeatureBatch
from lmod_train.models.vision.published_weights import located


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
        self.encoder, self.choices = encoder, classes_of_one_task(choices)
        self._cache, self._name = cache, name
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
        table = feature_table(data.records("all"), data.images, self.encoder, device, self._cache, self.print, share)
        self.dialect = FeatureDialect(self.choices, table)
        self.collate = self.dialect

    def training_features(self) -> tuple[Tensor, Tensor]:
        """Return features (crops, width) and classes (crops) of the training split; both may have no rows."""
        data = training_data(self.trainer)
        batch = self.dialect(data.records("train"), data.images)
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
        own = FeatureBatch.of(batch)
        scores = self.scores(own.features).float().cpu()
        rendered = f"<features of {self.encoder.image_size} px>"
        return worded(own, scores, self.choices, rendered=rendered, step=self.step, model=self._name)

    def _input(self) -> dict[str, Any]:
        return {"encoder": self.encoder.key()}


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
