"""The supervised baseline of LMOD figure 7, which replies in the words of the prompt.

Its replies use the same parser, scores and files as those of a language model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lmod_train.core.errors import BadArgument, check_number
from lmod_train.core.reference_replies import refuse_several_questions, reply_text, wordings
from lmod_train.core.types import Batch, Record, Reply
from lmod_train.models.modules.base import LmodModule, built, classes_of_one_task
from lmod_train.models.modules.optimisation import MOST
from lmod_train.models.vision.augmentation import MIRRORED, Views, mean_over_views, views_of
from lmod_train.models.vision.cnn import FeasibilityCNN
from lmod_train.models.vision.crop_variation import Variation, varied
from lmod_train.models.vision.crops import Crops
from lmod_train.models.vision.one_picture import refuse_other_counts
from lmod_train.models.vision.picture_batch import CropBatch, FeatureBatch
from lmod_train.models.vision.sides import refuse_sided_choices, refuse_sided_questions


class Classifier(LmodModule):
    """The feasibility CNN for one task: on region crops for anatomy, on whole images otherwise.

    Args:
        choices: Classes; set from the datamodule's one task.
        lr: Learning rate of Adam; 0.001 in the paper (which does not name the optimiser).
        side: Side of the square input in pixels, a multiple of 4; 128 in the paper.
        cache: Where crops are cached: ``disk`` (below ``CURATED/cache``), ``memory`` (of this process), or
            ``none``, which cuts them again in every epoch.
        variation: Augmentation of crops in training; null for none (the paper names none).
        views: ``flip`` averages the probabilities of an image and its mirror image in every reply (test-time
            augmentation), in twice the time; ``none`` uses the image alone. ``flip`` is refused if a choice or a
            question names a side (left, right), or if a question asks about regions. Saliency maps are those of the
            image alone.

    Raises:
        BadArgument: There are no choices, because the datamodule has several tasks; `side` is no multiple of 4; or
            `views` would change an answer.
    """

    def __init__(
        self,
        choices: tuple[str, ...] = (),
        lr: float = 1e-3,
        side: int = 128,
        cache: Literal["disk", "memory", "none"] = "disk",
        variation: Variation | None = None,
        views: Views = "none",
    ) -> None:
        super().__init__()
        if side < 4 or side % 4:
            raise BadArgument("side", side, "a multiple of 4, as two pooling layers halve it", "set side: 128")
        check_number("lr", lr, 0, MOST, "set lr: 0.001")
        self.choices, self._lr, self._side = classes_of_one_task(choices), lr, side
        self._cache, self._variation, self._views = cache, variation, views
        if views != "none":
            refuse_sided_choices(choices)
        self.dialect = Crops(self.choices, side)
        self.collate = self.dialect
        self.model: FeasibilityCNN | None = None

    def setup(self, stage: str) -> None:
        """Cut all crops before the first batch; each process cuts a share and reads those of the others.

        Raises:
            BadArgument: A record has no image or several, or `views` may change its answer; or, in `fit`, the training
                records ask several questions about whole images.
        """
        data: Any = getattr(self.trainer, "datamodule", None)
        if data is None:
            return
        refuse_other_counts(data.records("all"))
        refuse_sided_questions(data.records("all") if self._views != "none" else ())
        if stage == "fit":
            refuse_several_questions(data.records("train"), self.choices)
        if self._cache == "none":
            return
        place: Any = self._cache
        share = (self.trainer.global_rank, self.trainer.world_size)  # each rank cuts its share, without a barrier
        self.dialect = self.dialect.prepared(data.records("all"), data.images, place, share)
        self.collate = self.dialect

    def configure_model(self) -> None:
        """Build the network."""
        if self.model is None:
            self.model = FeasibilityCNN(len(self.choices), self._side)

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "side": self._side} | ({} if self._views == "none" else {"views": self._views})

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits (B, choices) of crops (B, 3, side, side) in [0, 255]."""
        return self._logits(images.to(self.dtype) / 255)

    def _logits(self, images: Tensor) -> Tensor:
        logits: Tensor = built(self.model)(images * 2 - 1)
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

    def _peak_rate(self) -> float:
        return self._lr

    def _set_peak_rate(self, value: float) -> None:
        self._lr = value

    def validation_loss(self, batch: Batch, replies: Sequence[Reply]) -> tuple[Tensor, int]:
        """Return the mean cross-entropy over crops, and their number."""
        own = CropBatch.of(batch)
        if not len(own.targets):
            return torch.zeros((), device=self.device), 0
        return functional.cross_entropy(self(own.crops).float(), own.targets), len(own.targets)

    def respond(self, batch: Batch) -> list[Reply]:
        """Return the most likely choice as a reply to each record; one line per region, in the requested format."""
        own = CropBatch.of(batch)
        views = [functional.log_softmax(self(view).float(), dim=1) for view in views_of(own.crops, self._views)]
        scores = mean_over_views(views).cpu()
        rendered = f"<{self._side} px crops{MIRRORED[self._views]}>"
        return worded(own, scores, self.choices, rendered=rendered, step=self.step, model="cnn")

    def saliency(self, batch: Batch) -> Tensor:
        """Return Grad-CAM maps of each crop's answer, (crops, side, side) in [0, 1].

        The explained class is that of `respond`: the most likely one among the choices of the crop's record. A map is
        the sum of the 64 feature maps behind the second pooling layer, weighted by the mean gradient of the class's
        logit over each, with negative values set to 0 and divided by its maximum (Selvaraju et al., ICCV 2017). It is 0
        everywhere if no value is positive. It can be computed where gradients are off.
        """
        model, own = built(self.model), CropBatch.of(batch)
        with torch.inference_mode(False), torch.no_grad():
            images = own.crops.clone().to(self.dtype) / 255  # an inference tensor has no gradient
            features = model.features(images * 2 - 1)
        with torch.inference_mode(False), torch.enable_grad():
            features.requires_grad_()
            logits = model.head(features)
            offered = _offered(own, self.choices).to(logits.device)
            answers = logits.masked_fill(~offered, -torch.inf).max(dim=1).values
            (slopes,) = torch.autograd.grad(answers.sum(), features)
        maps = functional.relu((slopes.mean(dim=(2, 3), keepdim=True) * features).sum(dim=1, keepdim=True)).float()
        maps = functional.interpolate(maps.detach(), size=(self._side, self._side), mode="bilinear")[:, 0]
        return maps / maps.amax(dim=(1, 2), keepdim=True).clamp_min(1e-12)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return Adam in its fused implementation."""
        return torch.optim.Adam(self.parameters(), lr=self._lr, fused=True)


def worded(batch: CropBatch | FeatureBatch, scores: Tensor, choices: tuple[str, ...], **fields: Any) -> list[Reply]:
    """Return for each record a reply with the most likely class of every crop, in its format and among its choices.

    Other choices are excluded, as the prompt lists those of the record, and sources of one modality may differ in them.

    Args:
        batch: The records to answer, and to which of them each crop belongs.
        scores: Log-likelihoods (crops, choices); those of a whole image are stored with the reply.
        choices: Words of the classes.
        fields: Further fields of the replies.
    """
    own: list[list[Tensor]] = [[] for _ in batch.records]
    for owner, score in zip(batch.owners, scores, strict=True):
        own[owner].append(score)
    return [_reply(record, rows, choices, fields) for record, rows in zip(batch.records, own, strict=True)]


def _reply(record: Record, scores: list[Tensor], choices: tuple[str, ...], fields: dict[str, Any]) -> Reply:
    known = _classes_of(record, choices)
    rows = [functional.log_softmax(score[known], dim=0) for score in scores]
    text = reply_text(wordings(record, choices), [known[int(row.argmax())] for row in rows], choices)
    alone = {} if record.regions else {choices[i]: round(v.item(), 6) for i, v in zip(known, rows[0], strict=True)}
    return Reply(record.id, text, likelihoods=alone, **fields)


def _classes_of(record: Record, choices: tuple[str, ...]) -> list[int]:
    """Return the indices of the classes that a record offers; all if it offers none of them."""
    return [i for i, choice in enumerate(choices) if choice in record.choices] or list(range(len(choices)))


def _offered(batch: CropBatch, choices: tuple[str, ...]) -> Tensor:
    """Return whether the record of each crop offers each class, (crops, choices)."""
    offered = torch.zeros(len(batch.records), len(choices), dtype=torch.bool)
    for row, record in enumerate(batch.records):
        offered[row, _classes_of(record, choices)] = True
    return offered[torch.as_tensor(batch.owners, dtype=torch.long)]
