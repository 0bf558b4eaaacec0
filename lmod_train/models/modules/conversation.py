"""Instruction tuning and evaluation of a LLaVA-style vision-language model."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.pytorch.strategies import ModelParallelStrategy
from lightning_utilities.core.rank_zero import rank_zero_warn
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor

from lmod_train.core.csv_files import read_csv
from lmod_train.core.errors import BadArgument
from lmod_train.core.escaping import for_csv
from lmod_train.core.files import append_to, replace_folder, write_text
from lmod_train.core.raw import read_json
from lmod_train.core.types import Batch, Constrain, Identity, Likelihoods, Reply
from lmod_train.core.weight_values import write_sha256sums
from lmod_train.models.chat.adapters import Lora, check_scale, plain_adapters, trainable
from lmod_train.models.chat.answer_loss import Over, batch_loss, left_out, too_long, weight_of
from lmod_train.models.chat.base_files import check_base, fingerprint, hashes_of, identity_of
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.checkpoint import Attention, Quantise, find, load
from lmod_train.models.chat.decoding import Decoding, respond
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import Images
from lmod_train.models.chat.family import family_of
from lmod_train.models.chat.family.base import Family
from lmod_train.models.chat.image_cache import Kept
from lmod_train.models.chat.masks import attention_used, unshareable
from lmod_train.models.chat.pictures import Pictures
from lmod_train.models.chat.prompting import Prompting
from lmod_train.models.chat.tower_features import TowerFeatures, divided
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.optimisation import Optimisation, optimiser
from lmod_train.models.strategies.sharding import whole_tensors


class VisionLanguageModel(LmodModule):
    """A vision-language model as a LightningModule, with LoRA on the language model and a trained projector by default.

    The loss is on the answer and its end token. Training and inference render the same prompt.

    Args:
        checkpoint: Folder in transformers layout, or the name of a checkpoint that comes with the package.
        lora: Adapters on the language model; null for none.
        optimisation: Learning rates and schedule.
        max_new_tokens: Maximum length of a reply in tokens; 512 in LMOD Table 6.
        dtype: Type of the frozen weights; trained weights are float32.
        gradient_checkpointing: Recompute activations of the language model in the backward pass to save memory.
        tune_tower: Train the vision tower itself too; `lora.tower` puts adapters on it instead.
        tune_language_model: Full tuning: train the language model itself at `lr`, embeddings and head included; needs
            `lora: null`.
        shared_prefix: Train the questions about one image of a batch as one sequence with the image once. Loss and
            gradients are the same and training is several times faster, see `lmod_train.models.chat.shared_prefix`.
        max_tokens: Maximum length of a training record in tokens, image and answer included; 2048 in LLaVA.
            Longer records are left out, counted as `train/too_long` and listed in the run's folder.
        tower_features: Folder in which the frozen tower's features are stored, computed once and read in later epochs
            and runs (`lmod_train.models.chat.tower_features`); null computes them in every epoch. Not with `tune_tower`
            or ZeRO-3.
        loss_over: Unit of equal weight in the mean loss of an optimiser step, over all its batches and ranks:
            ``answer``, independent of its length, or ``token``, as in LLaVA, LLaVA-Med, TRL and transformers, where a
            list of regions outweighs a diagnosis.
        likelihoods: Add the log-likelihood of every choice in the requested format to replies: ``sum`` over its tokens,
            their ``mean``, or ``none``.
        family: Class of the checkpoint's model family if that is defined outside this package.
        prompt: Chat template, system text, stop words and thinking. Template and limits of pictures are stored with
            the trained weights; a merged model needs the other options again.
        images: Shape, pixel limits and number of tiles of pictures.
        attention: Implementation of attention; null for the choice of transformers.
        decoding: ``papers`` is greedy, with the penalties of the checkpoint's generation_config, which are printed;
            ``plain`` is greedy without them.
        constrain: ``choices`` decodes the reply to every question with listed choices over their tokens, see `Frozen`.
        temperature: 0 for greedy decoding; above 0 the tokens of replies are drawn, e.g. for `data.asking.repeats`.
        seed: Seed of drawn replies; a reply depends on it and on the record only.
        quantise: ``nf4`` (QLoRA) or ``int8`` for the frozen matrices of the language model; needs bitsandbytes. Null
            for `dtype`.

    Raises:
        WeightsNotFound: There is no such checkpoint.
        BadArgument: `max_tokens` is below 2, the checkpoint is of another family, or a quantised model is to learn
            itself.
    """

    rate_option = "optimisation.lr"

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
        prompt: Prompting = Prompting(),
        images: Pictures = Pictures(),
        attention: Attention | None = None,
        decoding: Literal["papers", "plain"] = "papers",
        constrain: Constrain | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        quantise: Quantise | None = None,
    ) -> None:
        super().__init__()
        self.quantise = quantise
        if quantise is not None:
            _check_quantised(quantise, lora, tune_language_model)
        if max_tokens < 2:
            raise BadArgument("max_tokens", max_tokens, "at least 2", "use 2048, as LLaVA does")
        self._folder, self._name = find(checkpoint, family), checkpoint
        self.lora, self.optimisation = lora, optimisation
        self._decoding = Decoding(max_new_tokens, likelihoods, decoding, seed, constrain, temperature)
        self._kept = Kept()
        self._weights_dtype: torch.dtype = getattr(torch, dtype)
        self._gradient_checkpointing, self.tune_tower = gradient_checkpointing, tune_tower
        self.tune_language_model, self._kept_as = tune_language_model, dtype
        self._prompt, self._images, self._attention = prompt, images, attention
        self.dialect = Dialect(self._folder, prompt, images)
        self.collate = self.dialect
        self.shared_prefix, self.max_tokens = shared_prefix, max_tokens
        self._too_long, self._refused = list_too_long(max_tokens), list_refused()
        self._tower_features, self.loss_over = tower_features, loss_over
        self._first: dict[str, Tensor] = {}
        self.model: Any = None

    def identity(self) -> Identity:
        """Return the base's files, its template and the decoding settings."""
        decoding, dtype = str(self._decoding), self._kept_as
        options = self._prompt, self._images, self._attention, self.quantise
        own = identity_of(self._folder, *options, decoding=decoding, dtype=dtype)
        return own.constrained(self._decoding.constrain)

    @property
    def max_new_tokens(self) -> int:
        """Maximum length of a reply in tokens."""
        return self._decoding.max_new_tokens

    @property
    def network(self) -> Any:
        """The `...ForConditionalGeneration` itself, with its adapters."""
        return self.model if self.lora is None else self.model.get_base_model()

    def configure_model(self) -> None:
        """Load the base, freeze it, and add the trained parts.

        Raises:
            WeightsMismatch: A tensor is missing or unexpected, or network and processor disagree.
            BadArgument: `tower_features` is set, and the tower is trained or sharded by ZeRO-3; or the weights are
                quantised and sharded.
        """
        if self.model is not None:
            return
        strategy = self._trainer.strategy if self._trainer is not None else None
        if self._tower_features is not None and getattr(strategy, "zero_stage_3", False):
            # the tower is sharded after `TowerFeatures` is built; a rank that has all features would then not run the
            # tower, and the others would wait for its shard
            raise divided(self._tower_features)
        if self.quantise and (getattr(strategy, "zero_stage_3", False) or isinstance(strategy, ModelParallelStrategy)):
            cure = (
                "use `--trainer.strategy ddp` or ZeRO-2, which keep the frozen weights whole, or set quantise to null"
            )
            raise BadArgument("quantise", self.quantise, "null, as this strategy shards the weights", cure)
        base: Any = load(self._folder, self._weights_dtype, self._attention, quantise=self.quantise)
        self.dialect.verify(base.config)
        self._decoding.applied_to(base, self._name)
        if self._gradient_checkpointing:
            base.gradient_checkpointing_enable({"use_reentrant": False})
        self.model = trainable(base, self.lora, self.tune_tower, self.tune_language_model)
        if self.lora is not None and self.lora.moves_base:
            own = ((n, p) for n, p in self.model.named_parameters() if ".lora_A." in n or ".lora_B." in n)
            self._first = whole_tensors(own)
        if self._tower_features is not None:
            TowerFeatures(self.network, Path(self._tower_features))

    def on_fit_start(self) -> None:
        """Print the number of trained parameters, and the implementation of attention."""
        super().on_fit_start()
        self.print(attention_used(self.network, self._attention, self.device))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the batch's part of its step's loss; log the loss and how many records were left out."""
        own = ChatBatch.of(batch)
        self._list_left_out(own)
        loss = self.loss(own)
        kept = len(batch) - len(left_out(own, self.max_tokens))
        self.log("train/loss", loss, prog_bar=True, batch_size=max(kept, 1))
        for name, out in (("too_long", len(too_long(own, self.max_tokens))), ("refused", len(own.refused))):
            self.log(f"train/{name}", out, on_step=False, on_epoch=True, reduce_fx="sum", sync_dist=True, batch_size=1)
        return loss * own.share

    def loss(self, batch: ChatBatch) -> Tensor:
        """Return the mean negative log-likelihood of the answers in nats, over answers or over their tokens.

        Records of more than `max_tokens` tokens are left out; if none is left, the loss is 0 with gradients of 0.
        """
        pad, blank = self.dialect.tokenizer.pad_token_id, self._blank()
        shares, over = self._shares, self.loss_over
        return batch_loss(self.network, batch, pad, self.max_tokens, shares, blank, self.device, over)

    def weigh_step(self, batches: Sequence[Batch]) -> None:
        """Set the weight of each batch of an optimiser step in the step's mean over all batches and ranks.

        Lightning and the strategies average over batches and ranks with equal weights, but batches differ in records
        or answer tokens (the last batch, records left out). With these weights the gradient of a step is that of one
        batch with all its records. All ranks must call it together.
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
        """Whether questions share a sequence; warns once if `shared_prefix` is set and they cannot."""
        reason = unshareable(self.network) if self.shared_prefix else ""
        if reason:
            rank_zero_warn(f"shared_prefix: {reason}; every question is trained on in a sequence of its own")
        return self.shared_prefix and not reason

    def _blank(self) -> Images | None:
        """Return a blank image for batches without one; None on one rank with a frozen tower and projector."""
        family = self.dialect.family
        seeing = (p for n, p in self.named_parameters() if family.part(n) in ("tower", "projector"))
        together = self._trainer is not None and self.trainer.world_size > 1
        return self._blank_image.to(self.device) if together or any(p.requires_grad for p in seeing) else None

    @cached_property
    def _blank_image(self) -> Images:
        return self.dialect.images([Image.new("RGB", (64, 64))])

    def _list_left_out(self, batch: ChatBatch) -> None:
        """List the records that are not trained on in the run's folder, too long and refused ones."""
        if self._trainer is None:
            return
        prompts, answers, ids = batch.prompt_ids, batch.answer_ids, [record.id for record in batch.records]
        place = Path(self.trainer.default_root_dir), self.global_rank
        long = {ids[i]: len(prompts[i]) + len(answers[i]) for i in too_long(batch, self.max_tokens)}
        self._too_long.append({id: (length, self.max_tokens) for id, length in long.items()}, *place)
        self._refused.append({ids[i]: (why,) for i, why in batch.refused.items()}, *place)

    def respond(self, batch: Batch) -> list[Reply]:
        """Return the replies to a batch."""
        with self.whole():
            return respond(self.network, self.dialect, batch, self._decoding, self._name, self.step, self._kept)

    def _peak_rate(self) -> float:
        return self.optimisation.lr

    def _set_peak_rate(self, value: float) -> None:
        self.optimisation = replace(self.optimisation, lr=value)

    def validation_loss(self, batch: Batch, replies: Sequence[Reply]) -> tuple[Tensor, int]:
        """Return the loss of the answers of a batch, and their number or that of their tokens (`loss_over`)."""
        own = ChatBatch.of(batch)
        weight = weight_of(own, self.max_tokens, self.loss_over)
        with self.whole():  # without records too: under FSDP2 all ranks must call the network equally often
            return self.loss(own), weight

    @contextmanager
    def sampling(self, temperature: float, seed: int) -> Iterator[None]:
        """Draw the tokens of replies in a context, without dropout; see the arguments of the class."""
        usual, modes = self._decoding, {part: part.training for part in self.modules()}
        self._decoding = replace(usual, temperature=temperature, seed=seed, likelihoods="none", constrain=None)
        self.eval()
        try:
            yield
        finally:
            self._decoding = usual
            for part, mode in modes.items():
                part.training = mode

    def configure_optimizers(self) -> Any:
        """Return AdamW with a group for each learning rate, and warm-up and half cosine over all steps of the run."""
        steps = self.trainer.estimated_stepping_batches
        if math.isinf(steps):
            raise BadArgument("trainer.max_epochs", self.trainer.max_epochs, "a number", "set trainer.max_epochs: 1")
        made, schedule = self.optimiser(int(steps), getattr(self.trainer.strategy, "steps_on_cpu", False))
        return {"optimizer": made, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def optimiser(self, steps: int, fused: bool = False) -> Any:
        """Return optimiser and schedule for `steps`, with the learning rates of `Optimisation` by part."""
        part, settings = family_of(self.network).part, self.optimisation
        rates = ((p, settings.rate(part(n), "lora_" in n)) for n, p in self.named_parameters())
        return optimiser(rates, settings, steps, fused)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what is needed to use the trained tensors: name and fingerprint of the base, settings, processor files.

        `weights merge` needs only this and the base itself.
        """
        super().on_save_checkpoint(checkpoint)
        checkpoint["conversation"] = {
            "base": self._name,
            "fingerprint": self._fingerprint,
            "hashes": self._hashes,
            "lora": asdict(self.lora) if self.lora else None,
            "tune_tower": self.tune_tower,
            "tune_language_model": self.tune_language_model,
            "dtype": self._kept_as,
            "quantise": self.quantise,
        }
        checkpoint["files"] = self.dialect.files()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Refuse a checkpoint of another base, or of adapters with another scale.

        Raises:
            WeightsMismatch: Trained tensors, base or the adapters' scale differ.
        """
        if (theirs := checkpoint.get("conversation")) is not None:
            check_base(self._folder, self._fingerprint, theirs)
        super().on_load_checkpoint(checkpoint)
        if theirs is not None:
            check_scale(self.lora, theirs["lora"])
            if (was := theirs.get("quantise")) != self.quantise:
                rank_zero_warn(f"the checkpoint was tuned with quantise={was}, this is {self.quantise}: replies differ")

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self._folder)

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return hashes_of(self._folder)

    def on_train_end(self) -> None:
        """Write adapter, projector, template and processor to ``checkpoints/adapter``, in peft's layout.

        LLaVA-NeXT's `image_newline`, for which peft's layout has no place, is written to a file of its own. Adapters
        whose first values are taken out of the base's weights (PiSSA, OLoRA) become plain ones of twice the rank.
        """
        if self.lora is None:
            return
        copied = ((n, p) for n, p in self.named_parameters() if p.requires_grad or ".modules_to_save." in n)
        tensors = {name.removeprefix("model."): tensor for name, tensor in whole_tensors(copied).items()}
        changed: dict[str, Any] = {}
        if self._first:
            tensors, changed = plain_adapters(self.model, tensors, self._first)
        if self.trainer.is_global_zero:
            with replace_folder(Path(self.trainer.default_root_dir) / "checkpoints" / "adapter") as part:
                self.model.save_pretrained(part, state_dict=tensors)
                for file in (part / "adapter_config.json", part / "README.md"):  # peft writes a folder of this machine
                    told = file.read_text(encoding="utf-8")
                    write_text(file, told.replace(str(self._folder), self._folder.name))
                if changed:
                    file = part / "adapter_config.json"
                    write_text(file, json.dumps(read_json(file) | changed, indent=2))
                self.dialect.processor.save_pretrained(part)
                for name, tensor in tensors.items():
                    if self.dialect.family.is_loose(name):  # peft copies modules, and this parameter is in none
                        save_file({name: tensor.contiguous()}, part / f"{name.rpartition('.')[2]}.safetensors")
                write_sha256sums(part)


def _check_quantised(quantise: Quantise, lora: Lora | None, tune_language_model: bool) -> None:
    """Refuse a training that needs the language model's matrices as they are.

    Raises:
        BadArgument: It trains them, or takes values out of them.
    """
    if tune_language_model:
        expected, cure = "null, as tune_language_model trains the matrices themselves", "set lora: {} instead"
        raise BadArgument("quantise", quantise, expected, cure)
    if lora is not None and (lora.moves_base or lora.peft.get("kasa_config") is not None):
        expected = "null, as these adapters are made of the singular values of the base's matrices"
        raise BadArgument("quantise", quantise, expected, "remove lora.peft.init_lora_weights or kasa_config")


class LeftOut:
    """A list of records in ``<name>/rank-<r>.csv`` of the run's folder; each record once, also by a continued run."""

    def __init__(self, name: str, columns: tuple[str, ...], warning: str) -> None:
        self._name, self._columns, self._warning = name, columns, warning
        self._listed: dict[Path, set[str]] = {}

    def append(self, rows: Mapping[str, tuple[object, ...]], folder: Path, rank: int) -> None:
        """Append records that are not in the list yet; warn at the first.

        Args:
            rows: Cells behind the id, by record id; may be empty.
            folder: Folder of the run.
            rank: Rank of this process.
        """
        file = folder / self._name / f"rank-{rank}.csv"
        if rows and file not in self._listed:
            self._listed[file] = _read(file)
        listed = self._listed.get(file, set())
        new = {record: cells for record, cells in rows.items() if record not in listed}
        if not new:
            return
        if not listed:
            rank_zero_warn(self._warning.format(place=file.parent))
        listed.update(new)
        begins = not file.exists()
        with append_to(file, newline="") as text:
            lines = csv.writer(text)
            if begins:
                lines.writerow(["id", *self._columns])
            lines.writerows([for_csv(record), *map(for_csv, cells)] for record, cells in new.items())


def list_too_long(max_tokens: int) -> LeftOut:
    """Return the list ``too_long/rank-<r>.csv`` (id, tokens, max_tokens) of records that are too long.

    Args:
        max_tokens: Maximum length of a training record in tokens.
    """
    warning = (
        f"records of more than max_tokens={max_tokens} tokens are left out of training, not cut; they are listed "
        "in {place}.\nNext: to train on them too, add `--model.init_args.max_tokens` with a larger number"
    )
    return LeftOut("too_long", ("tokens", "max_tokens"), warning)


def list_refused() -> LeftOut:
    """Return the list ``refused/rank-<r>.csv`` (id, reason) of records that cannot be trained on."""
    warning = (
        "records that the model cannot be trained on are left out; they are listed with their reason in {place}.\n"
        "Next: correct or remove them in their source, and curate again"
    )
    return LeftOut("refused", ("reason",), warning)


def _read(file: Path) -> set[str]:
    if not file.exists():
        return set()
    return {row["id"] for row in read_csv(file)}
