"""Fine-tuning of RETFound, or any network of timm, on one question, with learning rates by layer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import torch
from lightning_utilities.core.rank_zero import rank_zero_warn
from timm.models._manipulate import group_with_matcher
from timm.models.eva import Eva
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn
from torch.nn import functional

from lmod_train.core.errors import BadArgument, WeightsMismatch, check_number
from lmod_train.core.reference_replies import refuse_several_questions, reply_text, wordings
from lmod_train.core.types import Batch, Identity, Record, Reply
from lmod_train.models.modules.base import LmodModule, built, classes_of_one_task
from lmod_train.models.modules.optimisation import MOST, learning_rate
from lmod_train.models.modules.training_data import TrainingData, training_data
from lmod_train.models.vision.augmentation import FAITHFUL, MIRRORED, Augmentation, Views, mean_over_views, views_of
from lmod_train.models.vision.backbone import Backbone, Colour
from lmod_train.models.vision.centre_crop import on_square
from lmod_train.models.vision.occlusion import occlusion
from lmod_train.models.vision.one_picture import refuse_other_counts
from lmod_train.models.vision.picture_batch import PictureBatch
from lmod_train.models.vision.published_weights import Family, Pooling, located
from lmod_train.models.vision.retfound_weights import TwiceLayerNorm, norm_twice
from lmod_train.models.vision.sides import refuse_sided_choices, refuse_sided_flips, refuse_sided_questions
from lmod_train.models.vision.strict_loading import LoadReport
from lmod_train.models.vision.whole_image import WholeImages


@dataclass(frozen=True)
class LayerDecay:
    """AdamW with a learning rate per layer, linear warm-up and cosine decay; the defaults are those of LMOD.

    Attributes:
        base_lr: Peak learning rate of the head per 256 images of an optimiser step: it is multiplied by images / 256.
        decay: Ratio of a block's learning rate to that of the next block, in (0, 1]; 1 for equal learning rates.
        weight_decay: Weight decay of matrices; vectors, position embedding and class token have none.
        warmup_epochs: Length of the linear warm-up in epochs.
        min_lr: Learning rate of the head at the end; lower layers have it multiplied by their scale.
        betas: Betas of AdamW.
        eps: Epsilon of AdamW.

    Raises:
        BadArgument: A value is out of its range.
    """

    base_lr: float = 5e-3
    decay: float = 0.65
    weight_decay: float = 0.05
    warmup_epochs: float = 10
    min_lr: float = 1e-6
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise BadArgument("optimisation.decay", self.decay, "a share in (0, 1]", "set 0.65, or 1 for none")
        check_number("optimisation.base_lr", self.base_lr, 1e-12, MOST, "set 0.005 as RETFound does")
        for name in ("weight_decay", "warmup_epochs", "min_lr", "eps"):
            check_number(f"optimisation.{name}", getattr(self, name), 0, MOST, "leave it out for the default")
        for beta in self.betas:
            check_number("optimisation.betas", beta, 0, 1 - 1e-9, "set betas: [0.9, 0.999]")


RETFOUND = LayerDecay()
"""The settings with which LMOD fine-tuned RETFound."""


class FineTuning(LmodModule):
    """A vision network that is fine-tuned on one task and replies in the words of its records.

    The defaults are those of LMOD (preset ``faithful``, configs/model/retfound_faithful.yaml); the other preset is
    configs/model/retfound_retina_safe.yaml. Both differ from the original in that the last, smaller batch of an epoch
    is kept: the original drops it, and takes no step at all with fewer images than one batch.

    Args:
        weights: File of the pre-trained weights; ``package:NAME/PATH`` for a file of an installed package; or
            ``random`` for none. Nothing is downloaded. With ``--ckpt_path`` all weights come from the checkpoint, so
            that ``random`` saves reading the file.
        choices: Classes; set from the datamodule's one task.
        size: ``large`` is RETFound; ``small`` and ``tiny`` are smaller models for CPUs and tests.
        image_size: Side of the input in pixels. Position embeddings of another size are resized.
        drop_path: Probability with which an image skips the last block in training (stochastic depth).
        pooling: ``mean`` or ``cls``; null for that of the published weights, or of the architecture.
        family: Layout of RETFound's weights: ``mae`` or ``dinov2``.
        architecture: Name of the network in timm, with its tag if needed (``vit_base_patch16_224.mae``); it replaces
            `size` and `family`. Empty for RETFound's vision transformer.
        mean: Mean of the colours that is subtracted, three numbers in [0, 1]; null for the architecture's card.
        std: Standard deviation of the colours, three numbers; null for the architecture's card.
        finetuned: Whether `weights` is a file fine-tuned with the original program, head included, which can answer
            without a checkpoint. Needs `finetuned_classes`.
        double_norm: Whether ``fc_norm``, the norm before the head, is applied twice, as in RETFound's program since
            February 2025; needs mean pooling. Null: as the file implies, and once in a new training.
        finetuned_classes: The classes of that file in its order, in the words of `choices`. The original program
            numbers classes by the sorted names of the training folders, which the file does not hold: folders
            ``a_normal`` and ``b_glaucoma`` are ``[NON-GLAUCOMA, GLAUCOMA]``. The rows of the head are reordered to
            `choices`.
        augmentation: Preprocessing and augmentation of images.
        optimisation: Learning rates, their decay over the layers, and their schedule.
        label_smoothing: Share of the target that is spread over all classes, in [0, 1).
        class_weights: ``inverse`` weights each image by the inverse of its class's frequency in the training split
            (with a mean of 1 over the training images), ``none`` all equally.
        views: ``flip`` averages the probabilities of an image and its mirror image in every reply (test-time
            augmentation), in twice the time; ``none`` uses the image alone. ``flip`` is refused if a choice or a
            question names a side (left, right), or if a question asks about regions. Saliency maps are those of the
            image alone.
        name: Name of the model in replies and reports.

    Attributes:
        weighted: Whether the loss of each image is weighted by its class.

    Raises:
        BadArgument: There are no choices, because the datamodule has several tasks; a value is out of its range; or
            `finetuned_classes` are not the choices, each once; or `views` would change an answer.
    """

    rate_option = "optimisation.base_lr"

    def __init__(
        self,
        weights: str,
        choices: tuple[str, ...] = (),
        size: Literal["large", "small", "tiny"] = "large",
        image_size: int = 224,
        drop_path: float = 0.2,
        pooling: Pooling | None = None,
        family: Family = "mae",
        architecture: str = "",
        mean: Colour | None = None,
        std: Colour | None = None,
        finetuned: bool = False,
        finetuned_classes: list[str] | None = None,
        double_norm: bool | None = None,
        augmentation: Augmentation = FAITHFUL,
        optimisation: LayerDecay = RETFOUND,
        label_smoothing: float = 0.1,
        class_weights: Literal["none", "inverse"] = "none",
        views: Views = "none",
        name: str = "retfound",
    ) -> None:
        super().__init__()
        if not 0 <= label_smoothing < 1:
            raise BadArgument("label_smoothing", label_smoothing, "a share in [0, 1)", "set 0.1, or 0 for none")
        self.choices = classes_of_one_task(choices)
        self._weights, self._finetuned, self._name = weights, finetuned, name
        self._double_norm, self._views = double_norm, views
        if views != "none":
            refuse_sided_choices(choices)
        self._order = _order(finetuned, finetuned_classes or [], self.choices)
        self._backbone = Backbone(architecture, size, family, image_size, pooling, mean, std)
        self._drop_path = drop_path
        self._optimisation, self._label_smoothing = optimisation, label_smoothing
        self.weighted = class_weights == "inverse"
        self._class_weights: Tensor | None = None
        mean, std = self._backbone.normalisation
        self.dialect = WholeImages(self.choices, image_size, augmentation, mean=mean, std=std)
        self.collate = self.dialect
        self.model: nn.Module | None = None
        self.loaded: LoadReport | None = None
        """Report on the loaded weights file; None before the network is built."""

    def setup(self, stage: str) -> None:
        """Check the records before the network is built.

        Raises:
            BadArgument: A record has no image or several, or `views` may change its answer; or, in `fit`, mirroring
                changes the classes.
        """
        if stage == "fit":
            refuse_sided_flips(self.choices, self.dialect.augmentation.flip)
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, TrainingData):
            refuse_other_counts(data.records("all"))
            refuse_sided_questions(data.records("all") if self._views != "none" else ())

    def configure_model(self) -> None:
        """Build the network and load its weights.

        Raises:
            WeightsNotFound: There is no such file.
            WeightsMismatch: Its tensors do not fit.
            BadArgument: `double_norm` for a network without ``fc_norm``.
        """
        if self.model is None:
            model = self._backbone.build(len(self.choices), self._drop_path)
            self.loaded = (
                self._backbone.load_finetuned(model, self._weights, self._order, self._double_norm)
                if self._finetuned
                else self._backbone.load(model, self._weights)
            )
            if self._double_norm is not None:
                norm_twice(model, self._double_norm)
            self.model, self.trained = model, self._finetuned

    @property
    def weights_origin(self) -> str:
        """Description of the loaded weights file."""
        return str(self.loaded)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add whether the norm before the head is applied twice, which the tensors do not show."""
        super().on_save_checkpoint(checkpoint)
        if self.model is not None:
            checkpoint["double_norm"] = isinstance(getattr(self.model, "fc_norm", None), TwiceLayerNorm)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Apply the norm as often as in training.

        Raises:
            WeightsMismatch: Its classes, tensors or input differ from those of this module, or `double_norm` does.
        """
        super().on_load_checkpoint(checkpoint)
        twice: bool = checkpoint["double_norm"]
        if self._double_norm not in (None, twice):
            ours, theirs = [f"double_norm {self._double_norm}"], [f"double_norm {twice}"]
            raise WeightsMismatch("ckpt_path", ours, theirs, "leave model.init_args.double_norm out")
        if self.model is not None:
            norm_twice(self.model, twice)

    def identity(self) -> Identity:
        """Return the weights file and the preprocessing settings."""
        weights = () if self._weights == "random" else (located(self._weights),)
        return replace(super().identity(), weights=weights)

    def _input(self) -> dict[str, Any]:
        own, (mean, std) = self._backbone, self._backbone.normalisation
        network = {"architecture": own.architecture.partition(".")[0], "image_size": own.image_size}
        square = self.dialect.augmentation.square
        return {**network, "mean": list(mean), "std": list(std), "augmentation.square": square}

    def _settings(self) -> dict[str, Any]:
        shown = {"augmentation": asdict(self.dialect.augmentation), "order": self._order}
        network = {**self._backbone.settings(), "drop_path": self._drop_path}
        network |= {} if self._double_norm is None else {"double_norm": self._double_norm}
        network |= {} if self._views == "none" else {"views": self._views}
        return {**super()._settings(), **network, **shown}

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits (B, choices) of normalised images (B, 3, size, size)."""
        # a convolutional network of timm is 1.5 times as fast with channels last, on a CPU
        logits: Tensor = built(self.model)(images.to(self.dtype, memory_format=torch.channels_last))
        return logits

    def on_fit_start(self) -> None:
        """Print the origin of the weights, and check the training split before the first step."""
        super().on_fit_start()
        self.print(f"weights: {self.loaded}")
        data = training_data(self.trainer)
        counts = self._counts(data.records("train"))
        step = data.batch_size * self.trainer.world_size
        if sum(counts) < step:
            rank_zero_warn(
                f"{sum(counts)} training images are fewer than one batch of {step}: each epoch is one smaller step "
                "(the original program would take none). Next: set a smaller data.batch_size, or curate more images"
            )
        self._class_weights = inverse_frequencies(counts) if self.weighted else None

    def _counts(self, records: Sequence[Record]) -> list[int]:
        """Return the number of training images of each class.

        Raises:
            BadArgument: The records ask several questions, or all have the same answer.
        """
        refuse_several_questions(records, self.choices)
        found = Counter(self.dialect.target(r) for r in records)
        absent = [word for i, word in enumerate(self.choices) if not found[i]]
        if len(found) < 2:
            known = ", ".join(self.choices[i] for i in found)
            cure = "curate with more samples"
            raise BadArgument("data.curated", known, "training records of at least two classes", cure)
        if absent:
            rank_zero_warn(f"no training image of {', '.join(absent)}: the model cannot learn it")
        return [found[i] for i in range(len(self.choices))]

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the cross-entropy with label smoothing in nats, the weighted mean over images."""
        own = PictureBatch.of(batch)
        loss = self.loss(self(own.images)[own.image_of], own.targets)
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        return self.weighed(loss, batch_idx)

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of logits (B, choices) for classes (B).

        Weighted losses are divided by the number of images, not by the sum of the weights in the batch, which would
        cancel the weight of a single image. Over the training split both are equal.
        """
        each = functional.cross_entropy(
            logits.float(), targets, reduction="none", label_smoothing=self._label_smoothing
        )
        if self._class_weights is None:
            return each.mean()
        return (self._class_weights.to(each)[targets] * each).mean()

    def respond(self, batch: Batch) -> list[Reply]:
        """Return the most likely choice as a reply to each record, in its format, with all likelihoods."""
        if not len(batch):
            return []
        own = PictureBatch.of(batch)
        views = [functional.log_softmax(self(view).float(), dim=1) for view in views_of(own.images, self._views)]
        scores = mean_over_views(views).cpu()[own.image_of]
        return [self._reply(record, row) for record, row in zip(batch.records, scores, strict=True)]

    def _images(self) -> int:
        """Return the number of images of an optimiser step."""
        trainer = self.trainer
        return training_data(trainer).batch_size * trainer.accumulate_grad_batches * trainer.world_size

    def _peak_rate(self) -> float:
        return scaled_lr(self._optimisation.base_lr, self._images())

    def _set_peak_rate(self, value: float) -> None:
        self._optimisation = replace(self._optimisation, base_lr=value / scaled_lr(1.0, self._images()))

    def validation_loss(self, batch: Batch, replies: Sequence[Reply]) -> tuple[Tensor, int]:
        """Return the mean cross-entropy over records, by the likelihoods of the replies, and their number."""
        targets = PictureBatch.of(batch).targets.tolist() if replies else []
        each = [-reply.likelihoods[self.choices[i]] for reply, i in zip(replies, targets, strict=True)]
        return torch.tensor(each or [0.0], device=self.device).mean(), len(each)

    def _reply(self, record: Record, scores: Tensor) -> Reply:
        return Reply(
            record.id,
            reply_text(wordings(record, self.choices), [int(scores.argmax())], self.choices),
            rendered=f"<{self.dialect.size} px picture{MIRRORED[self._views]}>",
            step=self.step,
            model=self._name,
            likelihoods={c: round(v.item(), 6) for c, v in zip(self.choices, scores, strict=True)},
        )

    def saliency(self, batch: Batch) -> Tensor:
        """Return occlusion maps of each record's answer, (records, size, size) in [0, 1].

        See `lmod_train.models.vision.occlusion`; each image takes 220 forward passes. A map covers the image padded to
        a square; parts outside the centre crop of ``square: crop`` are 0. Each image is evaluated once. With ``crop``
        it needs the run's datamodule.
        """
        if not len(batch):
            return torch.zeros(0, self.dialect.size, self.dialect.size)
        own = PictureBatch.of(batch)
        rows = sorted(set(own.image_of))
        maps = dict(zip(rows, occlusion(self, own.images[rows]), strict=True))
        return torch.stack([self._placed(r, maps[i]) for r, i in zip(own.records, own.image_of, strict=True)])

    def _placed(self, record: Record, map: Tensor) -> Tensor:
        """Return a map of the network's input as a map of the padded square."""
        if self.dialect.augmentation.square == "pad":
            return map
        data = training_data(self.trainer)
        return on_square(map, data.images.size(record.image_plain[0]))

    def configure_optimizers(self) -> Any:
        """Return AdamW with a group per layer, and one schedule for all, updated at every optimiser step.

        Raises:
            BadArgument: The run has no last step, which the cosine needs.
        """
        settings, trainer = self._optimisation, self.trainer
        trainer.fit_loop.setup_data()  # otherwise the number of batches is unknown with max_steps
        steps = trainer.estimated_stepping_batches
        if math.isinf(steps):
            raise BadArgument("trainer.max_epochs", trainer.max_epochs, "a number", "set trainer.max_epochs: 50")
        warmup = round(
            settings.warmup_epochs * math.ceil(trainer.num_training_batches / trainer.accumulate_grad_batches)
        )
        if warmup >= steps:
            rank_zero_warn(
                f"the run ends after {steps} steps, within its warm-up of {warmup}: the learning rate only rises. "
                "Next: set fewer model.init_args.optimisation.warmup_epochs, or more trainer.max_epochs"
            )
        lr = self._peak_rate()
        groups = layer_groups(built(self.model), lr, settings)
        optimiser = torch.optim.AdamW(groups, lr=lr, betas=settings.betas, eps=settings.eps, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, factor(settings, lr, warmup=warmup, steps=int(steps)))
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def _order(finetuned: bool, classes: Sequence[str], choices: Sequence[str]) -> list[int]:
    """Return for each choice its row in the head of a fine-tuned file; empty without such a file.

    Raises:
        BadArgument: `classes` are not the choices, each once; or they are given without a fine-tuned file.
    """
    wanted = sorted(choices) if finetuned else []
    if sorted(classes) != wanted:
        listed = ", ".join(choices)
        raise BadArgument(
            "finetuned_classes",
            list(classes),
            f"each of {listed} once, in the order of the file (the sorted names of the folders it was trained on)"
            if finetuned
            else "none, as finetuned is false",
            f"set model.init_args.finetuned_classes to [{listed}] in the file's order"
            if finetuned
            else "set model.init_args.finetuned: true, or leave finetuned_classes out",
        )
    return [list(classes).index(choice) for choice in choices] if finetuned else []


def inverse_frequencies(counts: Sequence[int]) -> Tensor:
    """Return the weight of an image of each class: the inverse of its frequency, with mean 1 over the images.

    A class without images weighs 0: no image asks for its weight.

    Example:
        >>> [round(weight, 3) for weight in inverse_frequencies([30, 10, 0]).tolist()]
        [0.667, 2.0, 0.0]
    """
    present = sum(n > 0 for n in counts)
    return torch.tensor([sum(counts) / (present * n) if n else 0.0 for n in counts], dtype=torch.float64).float()


# Layer-wise learning rates and their schedule, as in the fine-tuning of RETFound.
IMAGES_OF_BASE_LR = 256
"""Number of images of an optimiser step for which `base_lr` is stated."""


STEM = re.compile(r"cls_token|reg_token|pos_embed|patch_embed\.|norm_pre\.")

BLOCK = re.compile(r"blocks\.(\d+)\.")


def scaled_lr(base_lr: float, images: int) -> float:
    """Return the learning rate for a number of images per optimiser step (batch x accumulation x devices).

    Example:
        >>> scaled_lr(5e-3, 16)
        0.0003125
    """
    return base_lr * images / IMAGES_OF_BASE_LR


def layer_groups(model: nn.Module, lr: float, settings: LayerDecay) -> list[dict[str, Any]]:
    """Return the trained parameters of a vision network in groups, each with its own learning rate.

    Class token, position and patch embedding are layer 0, block i is layer i + 1, everything after the last block is
    layer blocks + 1; layer k learns at ``lr * decay ** (blocks + 1 - k)``. As in the original; timm's own grouping
    puts the final ``norm``, which exists with class token pooling, into the last block. Other networks of timm, such as
    convolutional ones, have timm's layers.

    Args:
        model: From `lmod_train.models.vision.backbone.Backbone.build`.
        lr: Learning rate of the head.
        settings: Settings, of which `decay` and `weight_decay` are used.

    Returns:
        Groups with `params`, `lr`, `lr_scale` and `weight_decay`; two per layer, with and without weight decay:
        52 for the 26 layers of a ViT-L.

    Example:
        >>> from lmod_train.models.vision.retfound import vision_transformer
        >>> groups = layer_groups(vision_transformer("tiny", classes=2, image_size=32), 1.0, LayerDecay(decay=0.5))
        >>> sorted({group["lr"] for group in groups})
        [0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0]
    """
    layers, exempt = layers_of(model), _exempt(model)
    last = max(layers.values())
    groups: dict[tuple[int, bool], dict[str, Any]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        layer, decayed = layers[name], parameter.ndim > 1 and name not in exempt
        scale = settings.decay ** (last - layer)
        fresh = {"params": [], "lr": lr * scale, "lr_scale": scale, "weight_decay": settings.weight_decay * decayed}
        groups.setdefault((layer, decayed), fresh)["params"].append(parameter)
    return list(groups.values())


def layers_of(model: nn.Module) -> dict[str, int]:
    """Return the layer of each parameter by name, from 0 for the stem; the head is in the last one."""
    network: Any = model
    names = [name for name, _ in model.named_parameters()]
    if isinstance(model, VisionTransformer | Eva):
        return {name: layer_of(name, len(network.blocks) + 1) for name in names}
    found: dict[str, int] = group_with_matcher(
        model.named_parameters(), network.group_matcher(coarse=False), reverse=True
    )
    return found


def _exempt(model: nn.Module) -> set[str]:
    """Return the names of the tensors of several dimensions that have no weight decay."""
    network: Any = model
    return set(network.no_weight_decay()) if hasattr(model, "no_weight_decay") else set()


def layer_of(name: str, last: int) -> int:
    """Return the layer of a parameter of a vision transformer.

    Args:
        name: Name of the parameter.
        last: Index of the layer after the blocks.

    Example:
        >>> names = "pos_embed", "blocks.0.norm1.weight", "blocks.23.mlp.fc2.bias", "head.bias"
        >>> [layer_of(name, 25) for name in names]
        [0, 1, 24, 25]
    """
    if STEM.match(name):
        return 0
    block = BLOCK.match(name)
    return int(block[1]) + 1 if block else last


def factor(settings: LayerDecay, lr: float, *, warmup: int, steps: int) -> Callable[[int], float]:
    """Return the function from an optimiser step to the factor of all learning rates, for torch's `LambdaLR`.

    All groups have the same factor: the original multiplies the whole schedule, `min_lr` included, by a group's scale.

    Args:
        settings: Settings, of which `min_lr` is used.
        lr: Learning rate of the head at the end of the warm-up.
        warmup: Number of warm-up steps.
        steps: Number of steps of the run.
    """
    return lambda step: learning_rate(step, lr=lr, min_lr=settings.min_lr, warmup=warmup, steps=steps) / lr
