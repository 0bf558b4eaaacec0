"""The supervised baseline of LMOD figure 7, answering in the prompt's own words.

It passes through the same parser, scores and files as a language model.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lmod_train.errors import BadArgument
from lmod_train.modules.base import LmodModule
from lmod_train.types import Batch, Record, Reply
from lmod_train.vision.batch import CropBatch
from lmod_train.vision.cnn import FeasibilityCNN
from lmod_train.vision.crop_variation import Variation, varied
from lmod_train.vision.crops import Crops
from lmod_train.vision.one_picture import refuse_other_counts
from lmod_train.wording import refuse_several_questions, reply_text, wordings


class Classifier(LmodModule):
    """The feasibility CNN on one task: region crops for anatomy, whole pictures otherwise.

    Args:
        choices: Classes, linked from the datamodule's one task.
        lr: Of Adam; the paper's is 0.001 (it does not name the optimiser).
        side: Of the square input in pixels, a multiple of 4; the paper's is 128.
        cache: Where crops lie that are cut once for all epochs and runs: ``disk`` (below ``CURATED/cache``),
            ``memory`` (of this process), or ``none``, which cuts them in every epoch.
        variation: How crops are varied in training; null for not at all, as the paper, which names no augmentation.

    Raises:
        BadArgument: There are no choices, because the datamodule has several tasks; or `side` does not fit.
    """

    def __init__(
        self,
        choices: tuple[str, ...] = (),
        lr: float = 1e-3,
        side: int = 128,
        cache: Literal["disk", "memory", "none"] = "disk",
        variation: Variation | None = None,
    ) -> None:
        super().__init__()
        if not choices:
            raise BadArgument(
                "data.tasks", "several tasks", "exactly one task for a classifier", "give data.tasks one item"
            )
        if side < 4 or side % 4:
            raise BadArgument("side", side, "a multiple of 4, as two pools halve it twice", "set side: 128")
        self.choices, self._lr, self._side = tuple(choices), lr, side
        self._cache, self._variation = cache, variation
        self.dialect = Crops(self.choices, side)
        self.collate = self.dialect
        self.model: FeasibilityCNN | None = None

    def setup(self, stage: str) -> None:
        """Cut all crops before the first batch, once a machine; other processes open what the first has cut.

        Raises:
            BadArgument: A record has no image or several, or the training records ask several questions about whole
                pictures, in `fit`.
        """
        data: Any = getattr(self.trainer, "datamodule", None)
        if data is None:
            return
        refuse_other_counts(data.records("all"))
        if stage == "fit":
            refuse_several_questions(data.records("train"), self.choices)
        if self._cache == "none":
            return
        place: Any = self._cache
        share = (self.trainer.global_rank, self.trainer.world_size)  # each rank cuts its own, none waits at a barrier
        self.dialect = self.dialect.prepared(data.records("all"), data.curated, place, share)
        self.collate = self.dialect

    def configure_model(self) -> None:
        """Build the network."""
        if self.model is None:
            self.model = FeasibilityCNN(len(self.choices), self._side)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "side": self._side}

    def forward(self, images: Tensor) -> Tensor:
        """Map crops (B, 3, side, side), 0 to 255, to logits (B, choices)."""
        return self._logits(images.to(self.dtype) / 255)

    def _logits(self, images: Tensor) -> Tensor:
        if self.model is None:
            raise RuntimeError("call configure_model() first")
        logits: Tensor = self.model(images * 2 - 1)
        return logits

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the mean cross-entropy over crops, in nats."""
        own = CropBatch.of(batch)
        images = own.crops.to(self.dtype) / 255
        if self._variation is not None:
            images = varied(images, own.targets, self.choices, self._variation)
        loss = functional.cross_entropy(self._logits(images).float(), own.targets)
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        return self.weighed(loss, batch_idx)

    def respond(self, batch: Batch) -> list[Reply]:
        """Reply with the likeliest choice; for regions one line each, in the requested format."""
        own = CropBatch.of(batch)
        scores = functional.log_softmax(self(own.crops).float(), dim=1).cpu()
        rows: list[list[Tensor]] = [[] for _ in batch.records]
        for owner, score in zip(own.owners, scores, strict=True):
            rows[owner].append(score)
        rendered, step = f"<{self._side} px crops>", self.step
        return [
            worded(record, self.choices, row, rendered=rendered, step=step, model="cnn")
            for record, row in zip(batch.records, rows, strict=True)
        ]

    def saliency(self, batch: Batch) -> Tensor:
        """Return where each crop's answer comes from, (crops, side, side) in [0, 1]: Grad-CAM.

        The class explained is the one that `respond` says: the likeliest among the choices of the crop's record.

        The 64 feature maps behind the second pool, weighted by the mean slope of the class's logit over each map, what
        is negative left out, each crop's largest value made 1 (Selvaraju et al., ICCV 2017). All 0 where nothing speaks
        for the class. It works where gradients are off.
        """
        if self.model is None:
            raise RuntimeError("call configure_model() first")
        own = CropBatch.of(batch)
        with torch.inference_mode(False), torch.no_grad():
            images = own.crops.clone().to(self.dtype) / 255  # a tensor of inference mode has no gradient
            features = self.model.features(images * 2 - 1)
        with torch.inference_mode(False), torch.enable_grad():
            features.requires_grad_()
            logits = self.model.head(features)
            offered = _offered(own, self.choices).to(logits.device)
            answers = logits.masked_fill(~offered, -torch.inf).max(dim=1).values
            (slopes,) = torch.autograd.grad(answers.sum(), features)
        maps = functional.relu((slopes.mean(dim=(2, 3), keepdim=True) * features).sum(dim=1, keepdim=True)).float()
        maps = functional.interpolate(maps.detach(), size=(self._side, self._side), mode="bilinear")[:, 0]
        return maps / maps.amax(dim=(1, 2), keepdim=True).clamp_min(1e-12)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam, its 8 million weights updated in one pass over memory."""
        return torch.optim.Adam(self.parameters(), lr=self._lr, fused=True)


def worded(record: Record, choices: tuple[str, ...], scores: list[Tensor], **fields: Any) -> Reply:
    """Return the reply that says the likeliest class of every crop, in the form and out of the choices of its record.

    A model that reads the prompt is told the choices too; sources of one modality may have different ones.

    Args:
        record: What was asked.
        choices: Words of the classes.
        scores: For each crop the log-likelihoods (choices). Those of a single picture go with the reply.
        fields: Further ones of the reply.
    """
    known = _classes_of(record, choices)
    rows = [functional.log_softmax(score[known], dim=0) for score in scores]
    text = reply_text(wordings(record, choices), [known[int(row.argmax())] for row in rows], choices)
    alone = {} if record.regions else {choices[i]: round(v.item(), 6) for i, v in zip(known, rows[0], strict=True)}
    return Reply(record.id, text, likelihoods=alone, **fields)


def _classes_of(record: Record, choices: tuple[str, ...]) -> list[int]:
    """Return the classes that a record offers; all where it offers none of them."""
    return [i for i, choice in enumerate(choices) if choice in record.choices] or list(range(len(choices)))


def _offered(batch: CropBatch, choices: tuple[str, ...]) -> Tensor:
    """Return whether the record of each crop offers each class, (crops, choices)."""
    offered = torch.zeros(len(batch.records), len(choices), dtype=torch.bool)
    for row, record in enumerate(batch.records):
        offered[row, _classes_of(record, choices)] = True
    return offered[torch.as_tensor(batch.owners, dtype=torch.long)]
