"""Instruction tuning of a LLaVA-style model: LoRA on the language model, the projector trained, the tower frozen."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from lmod_train.models.adapters import Lora, trainable
from lmod_train.models.base_files import check_base, fingerprint, processor_files
from lmod_train.models.checkpoint import find, load
from lmod_train.models.dialects import dialect_of
from lmod_train.models.encoding import encode
from lmod_train.models.family import family_of
from lmod_train.models.generation import Decoding, respond
from lmod_train.models.sequences import IGNORED, training_sequences
from lmod_train.models.tower_features import TowerFeatures
from lmod_train.modules.base import LmodModule
from lmod_train.modules.optimisation import Optimisation, optimiser
from lmod_train.modules.sharding import whole_tensors
from lmod_train.types import Batch, Reply


class Conversation(LmodModule):
    """A LLaVA-style model that learns to answer records and answers them.

    The loss falls on the answer and its end token, and every question weighs the same however long its answer is. The
    prompt is rendered once, the same for training and inference.

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
        tower_features: Folder for what the frozen tower makes of each image, computed once and read in later epochs and
            runs (`lmod_train.models.tower_features`); null computes it in every epoch. Not with `tune_tower`.

    Raises:
        WeightsNotFound: There is no such checkpoint.
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
        tower_features: Path | None = None,
    ) -> None:
        super().__init__()
        self._folder, self._name = find(checkpoint), checkpoint
        self._lora, self._optimisation = lora, optimisation
        self._decoding = Decoding(max_new_tokens)
        self._weights_dtype: torch.dtype = getattr(torch, dtype)
        self._gradient_checkpointing, self._tune_tower = gradient_checkpointing, tune_tower
        self._tune_language_model, self._dtype = tune_language_model, dtype
        self._dialect = dialect_of(self._folder)
        self.collate = self._dialect
        self._tower_features = tower_features
        self.model: Any = None

    @property
    def network(self) -> Any:
        """The `...ForConditionalGeneration` itself, adapters inside."""
        return self.model if self._lora is None else self.model.get_base_model()

    def configure_model(self) -> None:
        """Load the base whole, freeze it, and put the trained parts on it."""
        if self.model is not None:
            return
        base: Any = load(self._folder, self._weights_dtype)
        self._dialect.verify(base.config)
        if self._gradient_checkpointing:
            base.gradient_checkpointing_enable({"use_reentrant": False})
        self.model = trainable(base, self._lora, self._tune_tower, self._tune_language_model)
        if self._tower_features is not None:
            TowerFeatures(self.network, Path(self._tower_features))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the loss: mean over records of the mean negative log-likelihood of the answer's tokens, in nats."""
        loss = self._loss(batch)
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch))
        return loss

    def _loss(self, batch: Batch) -> Tensor:
        sequences = training_sequences(
            batch.tensors["prompt_ids"],
            batch.tensors["answer_ids"],
            self._dialect.tokenizer.pad_token_id,
            self.device,
        )
        labels = sequences.pop("labels")[:, 1:]
        encoded = encode(self.network, batch.tensors.get("images"))  # each image once, for every record about it
        shown = encoded.inputs(sequences["input_ids"], [i for i in batch.image_of if i >= 0])
        hidden = self.network.model(**sequences, **shown).last_hidden_state[:, :-1]
        learnt = labels != IGNORED
        logits = self.network.lm_head(hidden[learnt])  # logits only where there is something to learn
        losses = functional.cross_entropy(logits.float(), labels[learnt], reduction="none")
        per_answer = learnt.sum(1, keepdim=True).expand_as(labels)[learnt]
        return (losses / per_answer).sum() / len(batch)

    def respond(self, batch: Batch) -> list[Reply]:
        """Answer greedily."""
        with self.whole():
            return respond(self.network, self._dialect, batch, self._decoding, self._name, self.step)

    def configure_optimizers(self) -> Any:
        """AdamW in groups, each with its own learning rate; warm-up and half cosine over all steps of the run."""
        steps = int(self.trainer.estimated_stepping_batches)
        family, offload = family_of(self.network), getattr(self.trainer.strategy, "steps_on_cpu", False)
        parts = ("language_model", "head")
        made, schedule = optimiser(
            self.named_parameters(),
            self._optimisation,
            steps,
            lambda name: "lora_" in name or family.part(name) in parts,
            offload,
        )
        return {"optimizer": made, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what it takes to use the trained tensors: the base's name and fingerprint, settings, template, processor.

        `merge` needs nothing else but the base itself.
        """
        super().on_save_checkpoint(checkpoint)
        checkpoint["conversation"] = {
            "base": self._name,
            "fingerprint": self._fingerprint,
            "lora": asdict(self._lora) if self._lora else None,
            "tune_tower": self._tune_tower,
            "tune_language_model": self._tune_language_model,
            "dtype": self._dtype,
        }
        checkpoint["files"] = processor_files(self._folder)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse the checkpoint of another base too.

        Raises:
            WeightsMismatch: Trained tensors or base are others.
        """
        super().on_load_checkpoint(checkpoint)
        theirs = checkpoint.get("conversation")
        if theirs is not None:
            check_base(self._folder, self._fingerprint, theirs)

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self._folder)

    def on_train_end(self) -> None:
        """Write adapter, projector, template and processor together, in peft's layout, to ``checkpoints/adapter``."""
        if self._lora is None:
            return
        copied = ((n, p) for n, p in self.named_parameters() if p.requires_grad or ".modules_to_save." in n)
        tensors = {name.removeprefix("model."): tensor for name, tensor in whole_tensors(copied).items()}
        if self.trainer.is_global_zero:
            folder = Path(self.trainer.default_root_dir) / "checkpoints" / "adapter"
            self.model.save_pretrained(folder, state_dict=tensors)
            self._dialect.processor.save_pretrained(folder)
