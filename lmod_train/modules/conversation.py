"""Instruction tuning of a LLaVA-style model: LoRA on the language model, the projector trained, the tower frozen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from lightning_utilities.core.rank_zero import rank_zero_warn
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from lmod_train.chat.adapters import Lora, check_scale, trainable
from lmod_train.chat.answer_loss import Over, batch_loss, too_long, weight_of
from lmod_train.chat.base_files import check_base, fingerprint, identity_of, processor_files
from lmod_train.chat.batch import ChatBatch
from lmod_train.chat.checkpoint import find, load
from lmod_train.chat.dialect import Dialect
from lmod_train.chat.encoding import Images
from lmod_train.chat.family import family_of
from lmod_train.chat.family.base import Family
from lmod_train.chat.generation import Decoding, respond
from lmod_train.chat.likelihood import Likelihoods
from lmod_train.chat.masks import unshareable
from lmod_train.chat.tower_features import TowerFeatures, divided
from lmod_train.errors import BadArgument
from lmod_train.modules.base import LmodModule
from lmod_train.modules.optimisation import Optimisation, optimiser
from lmod_train.modules.too_long import TooLong
from lmod_train.strategies.sharding import whole_tensors
from lmod_train.types import Batch, Identity, Reply


class VisionLanguageModel(LmodModule):
    """A LLaVA-style model that learns to answer records and answers them.

    The loss falls on the answer and its end token. The prompt is rendered once, the same for training and inference.

    Args:
        checkpoint: Folder in transformers layout, or the name of a checkpoint that comes with the package.
        lora: Adapters on the language model; null trains the projector alone.
        optimisation: Learning rates and schedule.
        max_new_tokens: Longest reply in tokens (LMOD Table 6: 512).
        dtype: Of the frozen weights; what is trained is kept in float32.
        gradient_checkpointing: Recompute activations of the language model to save memory.
        tune_tower: Train the vision tower too, at the projector's learning rate.
        tune_language_model: Full tuning: the language model itself learns at `lr`, its embeddings and head included;
            needs `lora: null`.
        shared_prefix: Questions about one image that come in one batch share a sequence that holds the image once. Loss
            and gradients are the same; it costs a fraction of the time, see `lmod_train.chat.shared_prefix`.
        max_tokens: Longest record in tokens, image and answer included (LLaVA: 2048). A longer one is left out of
            training, counted as `train/too_long` and listed in the run's folder.
        tower_features: Folder for what the frozen tower makes of each image, computed once and read in later epochs and
            runs (`lmod_train.chat.tower_features`); null computes it in every epoch. Not with `tune_tower`, not with
            ZeRO-3.
        loss_over: What weighs the same in an optimiser step, over all its batches and ranks: every ``answer``, however
            long it is, or every ``token`` of every answer, as in LLaVA, LLaVA-Med, TRL and transformers, where a list
            of regions outweighs a diagnosis.
        likelihoods: Whether replies carry the log-likelihood of every choice in the requested format: ``sum`` over its
            tokens, their ``mean``, or ``none``.
        family: Class of the checkpoint's model family, where that is of a module outside this package.

    Raises:
        WeightsNotFound: There is no such checkpoint.
        BadArgument: `max_tokens` is less than 2, or the checkpoint is of another family.
    """

    def __init__(
        self,
        checkpoint: str,
        lora: Lora | None = Lora(),
        optimisation: Optimisation = Optimisation(),
        max_new_tokens: int = 512,
        dtype: Literal["float32", "bfloat16"] = "float32",
        gradient_checkpointing: bool = False,
        tune_tower: bool = False,
        tune_language_model: bool = False,
        shared_prefix: bool = True,
        max_tokens: int = 2048,
        tower_features: Path | None = None,
        loss_over: Over = "answer",
        likelihoods: Likelihoods = "none",
        family: type[Family] | None = None,
    ) -> None:
        super().__init__()
        if max_tokens < 2:
            raise BadArgument("max_tokens", max_tokens, "at least 2", "use 2048, as LLaVA does")
        self._folder, self._name = find(checkpoint, family), checkpoint
        self.lora, self.optimisation = lora, optimisation
        self._decoding = Decoding(max_new_tokens, likelihoods)
        self._weights_dtype: torch.dtype = getattr(torch, dtype)
        self._gradient_checkpointing, self.tune_tower = gradient_checkpointing, tune_tower
        self.tune_language_model, self._kept_as = tune_language_model, dtype
        self.dialect = Dialect(self._folder)
        self.collate = self.dialect
        self.shared_prefix, self.max_tokens = shared_prefix, max_tokens
        self._too_long = TooLong(max_tokens)
        self._tower_features, self.loss_over = tower_features, loss_over
        self.model: Any = None

    def identity(self) -> Identity:
        """Return the base's files and how it decodes."""
        return identity_of(self._folder, decoding=str(self._decoding), dtype=self._kept_as)

    @property
    def max_new_tokens(self) -> int:
        """Longest reply in tokens."""
        return self._decoding.max_new_tokens

    @property
    def network(self) -> Any:
        """The `...ForConditionalGeneration` itself, adapters inside."""
        return self.model if self.lora is None else self.model.get_base_model()

    def configure_model(self) -> None:
        """Load the base whole, freeze it, and put the trained parts on it.

        Raises:
            WeightsMismatch: A tensor is missing or left over, or network and processor disagree.
            BadArgument: The tower's features are to be kept and ZeRO-3 will cut the tower, or it learns.
        """
        if self.model is not None:
            return
        strategy = self._trainer.strategy if self._trainer is not None else None
        if self._tower_features is not None and getattr(strategy, "zero_stage_3", False):
            # cut once it is built, when `TowerFeatures` has seen it whole; a rank that knows its images would then not
            # run the tower, and the others would wait for its share
            raise divided(self._tower_features)
        base: Any = load(self._folder, self._weights_dtype)
        self.dialect.verify(base.config)
        if self._gradient_checkpointing:
            base.gradient_checkpointing_enable({"use_reentrant": False})
        self.model = trainable(base, self.lora, self.tune_tower, self.tune_language_model)
        if self._tower_features is not None:
            TowerFeatures(self.network, Path(self._tower_features))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the batch's share of its step's loss; log the loss, and how many records were left out as too long."""
        own = ChatBatch.of(batch)
        out = self._left_out(own)
        loss = self.loss(own)
        self.log("train/loss", loss, prog_bar=True, batch_size=max(len(batch) - out, 1))
        self.log("train/too_long", out, on_step=False, on_epoch=True, reduce_fx="sum", sync_dist=True, batch_size=1)
        return loss * own.share

    def loss(self, batch: ChatBatch) -> Tensor:
        """Return the mean negative log-likelihood of the answers in nats, over answers or over their tokens.

        Records of more than `max_tokens` tokens are left out; without any left the loss is 0 and trains nothing.
        """
        pad, blank = self.dialect.tokenizer.pad_token_id, self._blank()
        shares, over = self._shares, self.loss_over
        return batch_loss(self.network, batch, pad, self.max_tokens, shares, blank, self.device, over)

    def weigh_step(self, batches: Sequence[Batch]) -> None:
        """Give each batch of an optimiser step its share in the step's mean over all batches and ranks.

        Lightning and the strategies average over batches and ranks as if all held the same. What a batch holds differs
        (a last batch, records left out, long answers), and the share sets it right: with it the gradient of a step is
        that of one batch that holds everything. All ranks call it together.
        """
        chats = [ChatBatch.of(batch) for batch in batches]
        held = [weight_of(chat, self.max_tokens, self.loss_over) for chat in chats]
        total = torch.tensor(float(sum(held)), device=self.device)
        total = self.trainer.strategy.reduce(total, reduce_op="sum")
        expected = self.trainer.accumulate_grad_batches * self.trainer.world_size
        for chat, weight in zip(chats, held, strict=True):
            chat.share = weight * expected / total.clamp_min(1)

    @cached_property
    def _shares(self) -> bool:
        """Whether questions share a sequence; where they were to and cannot, say so, once."""
        reason = unshareable(self.network) if self.shared_prefix else ""
        if reason:
            rank_zero_warn(f"shared_prefix: {reason}; every question is trained on in a sequence of its own")
        return self.shared_prefix and not reason

    def _blank(self) -> Images | None:
        """Return a blank image for batches without one, where tower or projector learns or other processes wait."""
        family = self.dialect.family
        seeing = (p for n, p in self.named_parameters() if family.part(n) in ("tower", "projector"))
        together = self._trainer is not None and self.trainer.world_size > 1
        return self._blank_image.to(self.device) if together or any(p.requires_grad for p in seeing) else None

    @cached_property
    def _blank_image(self) -> Images:
        return self.dialect.images([Image.new("RGB", (64, 64))])

    def _left_out(self, batch: ChatBatch) -> int:
        """List the records that are too long, in the run's folder, and return how many they are."""
        prompts, answers = batch.prompt_ids, batch.answer_ids
        out = too_long(batch, self.max_tokens)
        if out and self._trainer is not None:
            lengths = {batch.records[i].id: len(prompts[i]) + len(answers[i]) for i in out}
            self._too_long.list(lengths, Path(self.trainer.default_root_dir), self.global_rank)
        return len(out)

    def respond(self, batch: Batch) -> list[Reply]:
        """Answer greedily."""
        with self.whole():
            return respond(self.network, self.dialect, batch, self._decoding, self._name, self.step)

    def configure_optimizers(self) -> Any:
        """AdamW in groups, each with its own learning rate; warm-up and half cosine over all steps of the run."""
        steps = self.trainer.estimated_stepping_batches
        if math.isinf(steps):
            raise BadArgument("trainer.max_epochs", self.trainer.max_epochs, "a number", "set trainer.max_epochs: 1")
        made, schedule = self.optimiser(int(steps), getattr(self.trainer.strategy, "steps_on_cpu", False))
        return {"optimizer": made, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def optimiser(self, steps: int, fused: bool = False) -> Any:
        """Return optimiser and schedule for so many steps: `lr` for the language model, `projector_lr` for the rest."""
        family = family_of(self.network)
        language = ("language_model", "head")
        return optimiser(
            self.named_parameters(),
            self.optimisation,
            steps,
            lambda name: "lora_" in name or family.part(name) in language,
            fused,
        )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what it takes to use the trained tensors: the base's name and fingerprint, settings, template, processor.

        `merge` needs nothing else but the base itself.
        """
        super().on_save_checkpoint(checkpoint)
        checkpoint["conversation"] = {
            "base": self._name,
            "fingerprint": self._fingerprint,
            "lora": asdict(self.lora) if self.lora else None,
            "tune_tower": self.tune_tower,
            "tune_language_model": self.tune_language_model,
            "dtype": self._kept_as,
        }
        checkpoint["files"] = processor_files(self._folder)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse the checkpoint of another base too, and adapters that would weigh otherwise than they were trained.

        Raises:
            WeightsMismatch: Trained tensors, base or the adapters' scale are others.
        """
        super().on_load_checkpoint(checkpoint)
        theirs = checkpoint.get("conversation")
        if theirs is not None:
            check_base(self._folder, self._fingerprint, theirs)
            check_scale(self.lora, theirs["lora"])

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self._folder)

    def on_train_end(self) -> None:
        """Write adapter, projector, template and processor together, in peft's layout, to ``checkpoints/adapter``.

        LLaVA-NeXT's `image_newline`, which peft's layout has no place for, is a file of its own beside them.
        """
        if self.lora is None:
            return
        copied = ((n, p) for n, p in self.named_parameters() if p.requires_grad or ".modules_to_save." in n)
        tensors = {name.removeprefix("model."): tensor for name, tensor in whole_tensors(copied).items()}
        if self.trainer.is_global_zero:
            folder = Path(self.trainer.default_root_dir) / "checkpoints" / "adapter"
            self.model.save_pretrained(folder, state_dict=tensors)
            self.dialect.processor.save_pretrained(folder)
            for name, tensor in tensors.items():
                if self.dialect.family.is_loose(name):  # peft copies modules, and this is part of none
                    save_file({name: tensor.contiguous()}, folder / f"{name.rpartition('.')[2]}.safetensors")


Conversation = VisionLanguageModel
"""The class's former name, which older runs and configurations hold (`lmod_train.artifacts.run.RENAMED`)."""
