"""Callback that records what a model is trained on, and compares it with what the model is evaluated on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from lightning import Callback, LightningModule, Trainer
from lightning_utilities.core.rank_zero import rank_zero_info, rank_zero_warn

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import (
    TrainedImage,
    read_training_set,
    run_of_checkpoint,
    write_training_set,
)
from lmod_train.core.errors import LmodError
from lmod_train.core.files import write_durably
from lmod_train.core.types import OTHERS_IMAGES, Record
from lmod_train.scoring.ways import question_of


class Leaked(LmodError):
    """A model is to be validated externally on patients or images that it was trained on."""


@runtime_checkable
class Divided(Protocol):
    """A datamodule that knows the families of its records, such as `RecordsDataModule`."""

    external: bool
    """Whether sources were chosen or left out."""
    fold: str
    """Fold that is tested; empty without a division into folds."""

    def families(self) -> Mapping[str, str]:
        """Return record id -> name of its family, which no division separates."""

    def records(self, split: str) -> Sequence[Record]:
        """Return the records of a split."""

    def asked(self, stage: str) -> Sequence[Record]:
        """Return the records that a command evaluates."""


class TrainingSet(Callback):
    """Writes ``RUN/trained_on.csv`` in `fit`, and checks evaluations by a checkpoint against that of its run.

    A record leaks if one of its images was trained on (same file content), or its family was (patient, copies of a
    photograph, chain). If sources were chosen, which makes it an external validation, or if a fold is tested, a leak is
    refused; otherwise it is a warning. The records without a leak are listed in ``RUN/unseen.txt``, for
    ``--data.subset``.
    """

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the images of the training and the validation split, and those of the checkpoint it starts from."""
        data = getattr(trainer, "datamodule", None)
        if isinstance(data, Divided) and trainer.is_global_zero:
            images = [image for split in ("train", "val") for image in _images(data, split)]
            earlier = read_training_set(run_of_checkpoint(Path(trainer.ckpt_path))) if trainer.ckpt_path else []
            write_training_set(Path(trainer.default_root_dir), [*images, *earlier])

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare the records of `validate` with the training of its checkpoint, as `on_test_start`."""
        if trainer.state.fn == "validate":
            self._compare(trainer, "validate")

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare the records with the training of the checkpoint, before the first is asked.

        Raises:
            Leaked: Records of an external validation or of a fold belong to the training.
        """
        self._compare(trainer, "test")

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare the records with the training of the checkpoint, as `on_test_start`."""
        self._compare(trainer, "predict")

    def _compare(self, trainer: Trainer, stage: str) -> None:
        data = getattr(trainer, "datamodule", None)
        if not trainer.ckpt_path:
            return
        if not isinstance(data, Divided):
            rank_zero_info(f"leaks are not checked: {type(data).__name__} knows no families of its records")
            return
        trained = read_training_set(run_of_checkpoint(Path(trainer.ckpt_path)))
        if not trained and data.external:
            rank_zero_info(f"leaks cannot be checked: no trained_on.csv in the run of {trainer.ckpt_path}")
        splits = ("train",) if stage == "validate" else ("train", "val")  # the val split selected the checkpoint
        asked = data.asked(stage)
        leaked = leaks(asked, data.families() if trained else {}, [image for image in trained if image.split in splits])
        if not leaked:
            return
        text = self._listed(trainer, data, asked, leaked)
        if data.external or data.fold:
            raise Leaked(text)
        rank_zero_warn(text)

    def _listed(self, trainer: Trainer, data: Divided, asked: Sequence[Record], leaked: Mapping[str, str]) -> str:
        """Write the ids of the other records, and return what was found with the next command."""
        path = Run(Path(trainer.default_root_dir)).unseen
        if trainer.is_global_zero:
            with write_durably(path) as beside:
                kept = dict.fromkeys(question_of(r.id, r.tags) for r in asked if r.id not in leaked)
                beside.write_text("".join(f"{id}\n" for id in kept), encoding="utf-8")
        first, why = next(iter(leaked.items()))
        left = len(asked) - len(leaked)
        cure = f"evaluate the other {left}: add `--data.subset {path}`" if left else "evaluate other sources or splits"
        if data.fold:
            cure = "divide the records as in the training: the same folder, data.tasks, data.draw_seed and sources"
        return (
            f"{len(leaked)} of {len(asked)} records belong to the training of {trainer.ckpt_path}, e.g. {first} "
            f"({why}).\nNext: {cure}"
        )


def leaks(records: Sequence[Record], families: Mapping[str, str], trained: Sequence[TrainedImage]) -> dict[str, str]:
    """Return record id -> why it belongs to a training, for those that do.

    With the image of a record that was trained on, its whole family was, e.g. what asks about it with a part removed.

    Args:
        records: Records to evaluate.
        families: Record id -> family, by the ids of questions as curated.
        trained: Images of the training.
    """
    families = {r.id: families.get(question_of(r.id, r.tags), "") for r in records}
    files, groups = {image.sha256 for image in trained} - {""}, {image.family for image in trained} - {""}
    same = {r.id: r for r in records if files.intersection(r.image_sha256)}
    groups |= {families[name] for name, r in same.items() if r.variant.rpartition("-")[2] not in OTHERS_IMAGES} - {""}
    found: dict[str, str] = {}
    for record in records:
        if record.id in same:
            found[record.id] = "the same image file"
        elif families[record.id] in groups:
            found[record.id] = "the same patient or photograph"
    return found


def _images(data: Divided, split: str) -> Iterator[TrainedImage]:
    families = data.families()
    for record in data.records(split):
        for digest in record.image_sha256 or ("",):
            yield TrainedImage(split, record.source, families.get(record.id, record.id), digest)
