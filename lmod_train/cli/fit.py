"""What only `fit` does around a training: what may be trained, where it continues, and what is written at its end."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from lightning import LightningModule
from lightning_utilities.core.rank_zero import rank_zero_only, rank_zero_warn

from lmod_train.cli.provenance import write_trained
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.training_set import training_of
from lmod_train.core.errors import BadArgument
from lmod_train.core.files import move, remove
from lmod_train.models.strategies.keeping import damaged, set_aside
from lmod_train.models.strategies.saved import damage, to_continue
from lmod_train.report.tripwires import draw_probes
from lmod_train.training.callbacks.learning import Learning


class Trained(Exception):
    """The training of a run is complete, and is not repeated."""


def refuse_untrainable(model: str) -> None:
    """Refuse to train a model whose class has no training step, before a run folder is written.

    Args:
        model: Class path of the model.

    Raises:
        BadArgument: It has none, such as `Frozen`.
    """
    if resolve_name(model).training_step is LightningModule.training_step:
        cure = (
            "name a model with parts to train, e.g. `--model small_base_lora`; `python -m lmod_train list models` "
            "lists all with their class. To ask this model without training, type `validate` in the place of `fit`"
        )
        raise BadArgument("--model", model, "a class with a training step", cure)


def continued(last: Path) -> Path | None:
    """Return the checkpoint from which a run continues, None if it has none; warns if it is not the last one.

    An unreadable last checkpoint is renamed, so that the previous one is kept until the next is complete.

    Args:
        last: Path of the run's last checkpoint.

    Raises:
        ArtifactError: There are checkpoints, but none can be read.
    """
    found = to_continue(last)
    if found == set_aside(last) and last.exists():
        rank_zero_warn(f"{last} cannot be read ({damage(last)}): continuing from the previous checkpoint, {found}")
        _put_aside(last)
    return found


def finish(trainer: Any, run: Path) -> None:
    """Save the last step, which may lie between two checkpoints, and write how long the weights were trained.

    Args:
        trainer: Trainer whose training is complete.
        run: Folder of the run.
    """
    trainer.save_checkpoint(Run(run).last)
    if trainer.is_global_zero:
        draw_probes(run)
    write_trained(run, trainer.current_epoch, trainer.global_step, training_of(run) | _warnings(trainer))


@rank_zero_only
def _put_aside(last: Path) -> None:
    remove(damaged(last))
    move(last, damaged(last))


def _warnings(trainer: Any) -> dict[str, dict[str, str]]:
    """Return the entry ``warnings`` of the provenance, phrase -> sentence; empty without any."""
    found = {k: text for c in trainer.callbacks if isinstance(c, Learning) for k, text in c.warnings.items()}
    return {"warnings": found} if found else {}
