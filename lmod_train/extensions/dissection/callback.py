"""The callback that stores states beside replies, and the linear probes that read them.

A run with it has a folder ``dissection``: the states of each record in a file of its own, so that a killed run loses
nothing, and the outcomes of the interchange.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


# What can be read at each place: logistic regression, cross-fitted by patient.
Floats = NDArray[np.float64]

Classes = NDArray[np.intp]

FOLDS, INNER = 5, 3
"""Folds of patients in which a probe is read, and in which its strength is chosen."""

STRENGTHS = tuple(10.0**power for power in range(-1, 4))
"""Inverse strengths of the penalty on features divided by the root of their number, scikit-learn's ``C``."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A cross-fitted probe.

    Attributes:
        probabilities: (records, classes), each record's by a probe that was fitted without its patient.
        loss: Cross entropy within the training part of each fold, of the strength that was chosen, (folds).
    """

    probabilities: Floats
    loss: Floats


@dataclass(frozen=True, slots=True)
class DividedRecords:
    """Records divided into folds of patients.

    Attributes:
        truth: Index of the true class of each record.
        groups: Patient of each record.
        folds: Indices of the records that are fitted on and read, a pair a fold.
        inner: For each fold the pairs of indices, among those fitted on, by which a strength is chosen.
    """

    truth: Classes
    groups: NDArray[np.str_]
    folds: tuple[tuple[Classes, Classes], ...]
    inner: tuple[tuple[tuple[Classes, Classes], ...], ...]


def divided(truth: Classes, groups: Sequence[str], seed: int = 0) -> DividedRecords:
    """Return records divided into folds of patients, each with the patients of the classes in proportion.

    Raises:
        BadArgument: There are fewer than two classes, or a class has fewer patients than two folds need.
    """
    patients = np.asarray(groups, dtype=str)
    counts = {c: len(set(patients[truth == c])) for c in sorted(set(truth.tolist()))}
    least = min(counts.values(), default=0)
    if len(counts) < 2 or least < 4:
        raise _too_few(f"{len(counts)} classes, {least} patients in the smallest")
    folds = _folds(truth, patients, min(FOLDS, least // 2), seed)
    inner = tuple(_folds(truth[fit], patients[fit], min(INNER, least // 2), seed) for fit, _ in folds)
    fitted = [truth[fit] for fit, _ in folds] + [
        truth[fit][a] for (fit, _), pairs in zip(folds, inner, strict=True) for a, _ in pairs
    ]
    if any(len(set(some.tolist())) < 2 for some in fitted):
        raise _too_few("patients who hold nearly all records of a class or several classes at once")
    return DividedRecords(truth, patients, folds, inner)


def _too_few(found: str) -> BadArgument:
    expected = "at least two classes with four patients each in the splits that are read"
    cure = (
        "read more records: without `--data.limit` (it takes the first by id) and `--data.subset`, or all splits of a "
        "model that is not tuned on them: `--split all`; or curate more samples"
    )
    return BadArgument("CURATED", found, expected, cure)


def _folds(truth: Classes, groups: NDArray[np.str_], count: int, seed: int) -> tuple[tuple[Classes, Classes], ...]:
    """Return folds of patients; one with records of several classes counts for the rarest of them.

    Patients count alike, however many records they have: of a class of few patients, each fold must have some.
    """
    from sklearn.model_selection import StratifiedKFold

    names, place = np.unique(groups, return_inverse=True)
    order = np.argsort(np.bincount(truth))[::-1]  # the rarest last
    rarity = np.argsort(order)[truth]
    stratum = np.zeros(len(names), dtype=np.intp)
    np.maximum.at(stratum, place, rarity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class whose patients nearly all count for another
        pairs = list(StratifiedKFold(max(2, count), shuffle=True, random_state=seed).split(names, stratum))
    return tuple((np.flatnonzero(np.isin(place, fit)), np.flatnonzero(np.isin(place, read))) for fit, read in pairs)


def probe(features: NDArray[np.floating], own: DividedRecords, classes: int) -> Probe:
    """Return a probe of features, fitted on other patients than those it is read for.

    Features are standardised by the records fitted on and reduced by an exact SVD onto them, which loses nothing under
    an L2 penalty. Classes weigh equally. The strength of the penalty has the least cross entropy over inner folds.

    Args:
        features: (records, features).
        own: The records, divided.
        classes: Number of classes; those that are not fitted on have the probability 0.
    """
    probabilities = np.zeros((len(own.truth), classes))
    losses = []
    for (fit, read), inner in zip(own.folds, own.inner, strict=True):
        fitted, reading = reduced(np.asarray(features[fit], float), np.asarray(features[read], float))
        truth = own.truth[fit]
        tried = [_inner_loss(fitted, truth, inner, c) for c in STRENGTHS]
        best = int(np.argmin(tried))
        model = _fitted(fitted, truth, STRENGTHS[best])
        probabilities[np.ix_(read, model.classes_)] = model.predict_proba(reading)
        losses.append(tried[best])
    return Probe(probabilities, np.array(losses))


def best_of(probes: Sequence[Probe], own: DividedRecords) -> tuple[Probe, list[int]]:
    """Return the probe that has the least loss within the training part of each fold, and which that was.

    The choice sees no record that it is read for.
    """
    losses = np.array([one.loss for one in probes])
    chosen = losses.argmin(axis=0).tolist()
    probabilities = probes[0].probabilities.copy()
    for (_, read), which in zip(own.folds, chosen, strict=True):
        probabilities[read] = probes[which].probabilities[read]
    return Probe(probabilities, losses.min(axis=0)), chosen


def permuted(own: DividedRecords, seed: int) -> DividedRecords:
    """Return the records with the labels of whole patients exchanged, among patients with as many records."""
    noise = np.random.default_rng(seed)
    truth = own.truth.copy()
    names, place = np.unique(own.groups, return_inverse=True)
    members = [np.flatnonzero(place == i) for i in range(len(names))]
    for size in {len(m) for m in members}:
        alike = [m for m in members if len(m) == size]
        for one, other in zip(alike, noise.permutation(len(alike)), strict=True):
            truth[one] = own.truth[alike[other]]
    return divided(truth, own.groups.tolist(), seed)


def reduced(fitted: Floats, read: Floats) -> tuple[Floats, Floats]:
    """Return features standardised by those fitted on, divided by the root of their number, in at most n dimensions.

    Distances and products between records are kept exactly.

    Args:
        fitted: Features of the records fitted on, (n, features).
        read: Features of the others, (m, features).
    """
    mean, spread = fitted.mean(axis=0), fitted.std(axis=0)
    scale = np.where(spread > 1e-9 * np.maximum(1, np.abs(mean)), spread, np.inf) * np.sqrt(fitted.shape[1])
    first, second = (fitted - mean) / scale, (read - mean) / scale
    if first.shape[1] <= len(first):
        return first, second
    values, vectors = np.linalg.eigh(first @ first.T)
    kept = values > max(values[-1], 0) * 1e-12
    if not kept.any():  # every feature is constant
        return np.zeros((len(first), 1)), np.zeros((len(second), 1))
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, (second @ first.T) @ vectors[:, kept] / roots


def _inner_loss(features: Floats, truth: Classes, folds: Sequence[tuple[Classes, Classes]], c: float) -> float:
    """Return the mean cross entropy of the true class over inner folds, classes weighing equally."""
    losses = []
    for fit, read in folds:
        model = _fitted(features[fit], truth[fit], c)
        made = np.full((len(read), truth.max() + 1), 1e-12)
        made[:, model.classes_] = np.maximum(model.predict_proba(features[read]), 1e-12)
        own = -np.log(made[np.arange(len(read)), truth[read]])
        losses.append(np.mean([own[truth[read] == c].mean() for c in set(truth[read].tolist())]))
    return float(np.mean(losses))


def _fitted(features: Floats, truth: Classes, c: float) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # a probe that has not converged reads too little
        return LogisticRegression(C=c, class_weight="balanced", solver="newton-cg", max_iter=1000, tol=1e-8).fit(
            features, truth
        )
