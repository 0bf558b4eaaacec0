"""The callback that stores states beside replies.

A run with it has a folder ``dissection``: the states of each record in a file of its own, so that a killed run loses
nothing, and the outcomes of the interchange.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_warn
from numpy.typing import NDArray
from torch import Tensor, nn

from lmod_train.core.artifacts.records import read_run_column
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import read_training_set, run_of_checkpoint
from lmod_train.core.cache import Cache
from lmod_train.core.curated import Curated
from lmod_train.core.errors import BadArgument
from lmod_train.core.reference_replies import replies_of
from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Record
from lmod_train.data.audit.shortcut_classifiers import coarse_views
from lmod_train.data.curation.copies import DARK
from lmod_train.extensions.dissection.prior import prior_biases
from lmod_train.extensions.dissection.scores import SHORTCUTS
from lmod_train.extensions.dissection.state_files import Dissected
from lmod_train.extensions.dissection.states import (
    TUNED,
    Exchange,
    alone,
    exchanged,
    joined,
    matrices_of,
    nothing_to_read,
    readable,
    states_of,
    unreadable,
    untrained_tower,
)
from lmod_train.models.chat.chat_batch import ChatBatch
from lmod_train.models.chat.dialect import Dialect
from lmod_train.models.chat.encoding import Encoded
from lmod_train.models.chat.family import family_of
from lmod_train.models.modules.base import LmodModule
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.models.modules.frozen import Frozen
from lmod_train.scoring.items import group_of
from lmod_train.scoring.linear_probe import Floats, divided
from lmod_train.training.callbacks.protocols import data_of
from lmod_train.training.callbacks.training_images import Divided, leaks


class Dissection(Callback):
    """Stores the states of each asked record before it is answered, and exchanges images between records at the end.

    Args:
        pairs: Number of records whose image is exchanged, each with one that the model answers otherwise and with one
            that it answers alike; 0 for none.
        seed: Seed of the choice of these records.
        control: Whether a tower of random weights is read too, which takes one more pass of the tower an image.

    Raises:
        BadArgument: `pairs` is negative; the model is not local, or its family is not known; the records ask several
            questions.
    """

    def __init__(self, pairs: int = 60, seed: int = 0, control: bool = False) -> None:
        if pairs < 0:
            raise BadArgument("pairs", pairs, "0 or more", "leave it out for 60")
        self._pairs, self._seed, self._control = pairs, seed, control
        self._named: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._untrained: nn.Module | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse a model whose states cannot be read."""
        opened(pl_module)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Read what the file of each record is called; it depends on weights, words and images."""
        if trainer.sanity_checking:
            return
        self._seen = _seen_in_training(trainer)
        check_question(data_of(trainer).asked("validate"), self._seen)
        if trainer.world_size > 1 and self._pairs:
            rank_zero_warn("images are exchanged in one process only. Next: add `--trainer.devices 1`")
        self._dissected = Dissected(Path(trainer.default_root_dir))
        self._named = read_run_column(Run(Path(trainer.default_root_dir)).records, "asked")
        folder = self._dissected.features
        self._cache = Cache(folder, "--run", str(folder), "name another folder with `--out DIR`", folder)

    def on_validation_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Store the states of each record of a batch; list those that cannot be dissected.

        Images are exchanged in front of the last reply: a run without a question to ask has no batch to do it in.
        """
        if trainer.sanity_checking or not len(batch):
            return
        network, dialect = opened(pl_module)
        own = ChatBatch.of(batch)
        left_out: dict[str, str] = {}
        with cast(LmodModule, pl_module).whole():
            if not self._dissected.tower.exists():
                weights = network.get_submodule(family_of(network).tower).state_dict().values()
                self._dissected.keep(self._dissected.tower, pd.DataFrame({"matrix": sorted(matrices_of(weights))}))
            for row, record in enumerate(own.records):
                if why := self._seen.get(record.id) or readable(own, row):
                    left_out[record.id] = why
                elif self._cache.read(self._named[record.id]) is None:
                    if self._control and self._untrained is None:
                        self._untrained = untrained_tower(network)
                    vectors = states_of(network, dialect, alone(own, row), self._untrained)
                    if not all(vector.isfinite().all() for vector in vectors.values()):
                        left_out[record.id] = "its states are not finite; another dtype may help, e.g. float32"
                        continue
                    vectors = shortcuts_of(record, data_of(trainer).images) | vectors
                    self._dissected.lay_out({place: len(vector) for place, vector in vectors.items()}, record.choices)
                    self._cache.keep(self._named[record.id], joined(vectors))
        self._dissected.list_left_out(left_out, trainer.global_rank)
        if trainer.world_size == 1 and batch_idx + 1 == trainer.num_val_batches[dataloader_idx]:
            self._exchange(trainer, network, dialect, cast(LmodModule, pl_module))

    def _exchange(self, trainer: Trainer, network: Any, dialect: Dialect, module: LmodModule) -> None:
        """Exchange the images of records, unless those of the same records have been exchanged."""
        pairs, biases = self._chosen(data_of(trainer).asked("validate"))
        asked = "prior removed " + " ".join(self._named[record.id] for records in pairs for record in records)
        of = sha256(asked.encode()).hexdigest()
        if not pairs or self._dissected.exchanged() == of:
            return
        images, rows = data_of(trainer).images, []
        encoded: dict[str, Encoded] = {}
        for i, records in enumerate(pairs):
            batch = module.collate(records, images).to(module.device)
            rows += exchanged(network, dialect, ChatBatch.of(batch), biases, encoded)
            later = {record.id for others in pairs[i + 1 :] for record in others}
            encoded = {name: one for name, one in encoded.items() if name in later}
        table = pd.DataFrame(rows, columns=list(Exchange._fields))
        self._dissected.keep(self._dissected.interchange, table.assign(of=of))

    def _chosen(self, records: Sequence[Record]) -> tuple[list[list[Record]], list[float]]:
        """Return records, each followed by one that the model prefers another choice for, and by one with the same.

        Preferences are those without the prior, whose biases are returned too. Partners show the image of another
        patient and are asked in the same words.
        """
        likelihoods = {record.id: self._likelihoods(record) for record in records}
        order = sorted((r for r in records if len(likelihoods[r.id])), key=lambda r: shuffle_key(self._seed, r.id))
        if not order:
            return [], []
        truth = np.array([list(replies_of(record).values()).index(record.answer) for record in order])
        logits = np.stack([likelihoods[record.id] for record in order])
        biases = prior_biases(logits, truth)
        preferred = dict(zip([r.id for r in order], (logits + biases).argmax(1).tolist(), strict=True))
        found: list[list[Record]] = []
        for i, one in enumerate(order):
            others = [r for r in (*order[i + 1 :], *order[:i]) if _comparable(one, r)]
            partners = [
                next((r for r in others if (preferred[r.id] == preferred[one.id]) is same), None)
                for same in (False, True)
            ]
            if partners[0] is not None and len(found) < self._pairs:
                found.append([one, *(partner for partner in partners if partner is not None)])
        return found, biases.tolist()

    def _likelihoods(self, record: Record) -> Floats:
        """Return the log-likelihoods of the choices; none without stored states."""
        vector: NDArray[np.float32] | None = self._cache.read(self._named[record.id])
        return np.array([] if vector is None else vector[-len(record.choices) :], dtype=np.float64)


def shortcuts_of(record: Record, images: Curated) -> dict[str, Tensor]:
    """Return what the image of a record shows without a model: its border mask, (1024), and thumbnail, (1728)."""
    grey, small = coarse_views(images.file(record.image_plain[0]))
    views = (grey <= DARK, small)
    return {
        name: torch.from_numpy(view.astype(np.float32).ravel()) for name, view in zip(SHORTCUTS, views, strict=True)
    }


def _comparable(one: Record, other: Record) -> bool:
    same = one.messages == other.messages and one.choices == other.choices and one.modality == other.modality
    return same and group_of(one) != group_of(other) and one.image_sha256 != other.image_sha256


def check_question(records: Sequence[Record], seen: Mapping[str, str] | None = None) -> None:
    """Refuse records that ask several questions: a probe reads one.

    Images of a source and modality, and questions in a language, may have words of their own.

    Args:
        records: Those that are asked.
        seen: Id of a record that takes no part, as the model was tuned on its image -> the reason.

    Raises:
        BadArgument: There are several tasks, variants, wordings or lists of choices, none that can be dissected, or
            too few patients.
    """
    tasks, variants = ({getattr(r, name) for r in records} for name in ("task", "variant"))
    if len(tasks) > 1:
        found, cure = f"{len(tasks)} tasks: {', '.join(sorted(tasks))}", f"name one: `--data.tasks {min(tasks)}`"
        raise BadArgument("data.tasks", found, "one task, as a probe reads the answers to one question", cure)
    if len(variants) > 1:
        found = f"{len(variants)} variants: {', '.join(sorted(variants))}"
        cure = f"name one: `--data.variant {min(variants - {''})}`"
        raise BadArgument("data.variant", found, "one variant, as a probe reads the answers to one question", cure)
    seen = seen or {}
    why = [seen.get(record.id) or unreadable(record) for record in records]
    usable = [record for record, reason in zip(records, why, strict=True) if not reason]
    if not usable:
        raise nothing_to_read(", ".join(tasks) or "none", (*why, "none")[0])
    asked = {(r.source, r.modality, r.language, r.messages) for r in usable}
    if len(asked) > len({several[:3] for several in asked}) or len({r.choices for r in usable}) > 1:
        expected = "a task that asks the same about each image, as a probe reads the answers to one question"
        cure = "name a task with listed choices and one image a question, e.g. `--task four_way`"
        raise BadArgument("--task", ", ".join(tasks), expected, cure)
    classes = np.unique([record.answer for record in usable], return_inverse=True)[1]
    divided(classes.astype(np.intp), [group_of(record) for record in usable])


def _seen_in_training(trainer: Trainer) -> dict[str, str]:
    """Return record id -> why it takes no part: features of images seen in tuning hold memorised answers."""
    data = getattr(trainer, "datamodule", None)
    if not trainer.ckpt_path or not isinstance(data, Divided):
        return {}
    trained = [i for i in read_training_set(run_of_checkpoint(Path(trainer.ckpt_path))) if i.split == "train"]
    found = leaks(data.asked("validate"), data.families(), trained) if trained else {}
    return {record: f"{TUNED} {why}" for record, why in found.items()}


def opened(module: LightningModule) -> tuple[Any, Dialect]:
    """Return network, None before it is loaded, and dialect of a module whose states can be read.

    Raises:
        BadArgument: The model runs elsewhere, or its family is not known.
    """
    if isinstance(module, VisionLanguageModel):
        return getattr(module, "network", None), module.dialect
    network, dialect = module.backend.opened() if isinstance(module, Frozen) else (None, None)
    if not isinstance(dialect, Dialect):
        name = type(module.backend if isinstance(module, Frozen) else module).__name__
        expected = "local weights of a known family, whose states can be read"
        cure = (
            "what is shown to any model can be changed instead: "
            "`python -m lmod_train curate --config configs/curate/grounding.yaml --raw RAW --out LOOK`"
        )
        raise BadArgument("MODEL", name, expected, cure)
    return network, dialect
