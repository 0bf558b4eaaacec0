"""Callback that keeps the weights with the best validation score, and can end a training that does not improve."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning_utilities.core.rank_zero import rank_zero_info, rank_zero_only

from lmod_train.core.artifacts.manifest import write_json
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import ArtifactError, BadArgument, did_you_mean
from lmod_train.core.raw import read_json
from lmod_train.scoring.headline_metrics import HEADLINES, direction
from lmod_train.tasks.base import Task
from lmod_train.training.callbacks.protocols import data_of

LOGGED = "val/"
"""Beginning of the names of all figures of a validation."""

SCORE = "score"
"""Mean of the headline scores of all tasks, logged as ``val/score``."""


class BestCheckpoint(ModelCheckpoint):
    """Keeps ``RUN/checkpoints/best.ckpt``: the weights, without optimiser state, of the best validation so far.

    One number decides: of several figures their mean. ``last.ckpt``, from which a run is continued, is written by
    Lightning's `ModelCheckpoint`, which `lmod_train.cli.defaults` sets, and not changed.

    Args:
        by: What decides: ``score``, the mean of the headline scores of all tasks; ``loss``, the loss of the validation
            answers; the name of a task, by its headline score; a metric, by its mean over the tasks that have it;
            ``task/metric``; or several of these. Null keeps no best weights. RETFound decides by ``auroc_macro``, since
            February 2025 by the mean of ``macro_f1``, ``auroc_macro`` and ``kappa``.
        patience: The training ends after so many validations in a row that are not the best so far; 0 for never.

    Raises:
        BadArgument: What is named is not among the figures of the first validation, some of it is better if it is
            larger and some if it is smaller, or there are no validation records.
    """

    def __init__(self, by: str | list[str] | None = SCORE, patience: int = 0) -> None:
        if patience < 0 or (patience and not by):
            cure = "leave it out for never, or add `--best.patience 3`" if by else "add `--best.by score`"
            raise BadArgument("best.patience", patience, "0 or more validations by a number", cure)
        self._by = [] if by is None else [by] if isinstance(by, str) else list(by)
        if by is not None and len(set(self._by)) < max(len(self._by), 1):
            raise BadArgument(
                "best.by", by, "figures, each once", "leave it out for score, or `--best.by null` for none"
            )
        ways = {"min" if _is_error(name) else "max" for name in self._by} or {"max"}
        if len(ways) > 1:
            expected = "figures that are all better if they are larger, or all if they are smaller"
            raise BadArgument("best.by", "+".join(self._by), expected, "name one of them")
        self._patience, self._waited, self._step = patience, 0, 0
        self._validated, self._earlier = 0, 0
        super().__init__(
            monitor=f"best/{'+'.join(self._by)}" if by else None,  # its own name, as a mean is computed here
            filename="best",
            mode=ways.pop(),
            save_top_k=1 if by else 0,
            save_weights_only=True,
            every_n_epochs=1,
            save_on_train_epoch_end=False,
            enable_version_counter=False,
        )

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Set the folder, and refuse a run without a validation if something is named to choose by."""
        data = data_of(trainer)
        if stage == "fit" and self._by not in ([], [SCORE]) and not data.records("val"):
            expected = "records in the split val, by which the best weights are chosen"
            cure = "curate with a larger share for validation, or leave --best.by out"
            raise BadArgument("data.curated", str(data.images.root), expected, cure)
        if stage == "fit":
            self._refuse_unknown(data.tasks)
        if stage == "fit" and self._patience and not trainer.limit_val_batches:
            cure = "leave one of them out"
            raise BadArgument("best.patience", self._patience, "0 with `trainer.limit_val_batches: 0`", cure)
        self.dirpath = str(Run(Path(trainer.default_root_dir).resolve()).checkpoints)
        super().setup(trainer, pl_module, stage)

    def _refuse_unknown(self, tasks: Mapping[str, Task]) -> None:
        """Refuse a name that no validation of these tasks logs, before the first of them."""
        metrics = {name: [str(one) for one in task.metrics()] for name, task in tasks.items()}
        names = [SCORE, "loss", *tasks, *dict.fromkeys(one for own in metrics.values() for one in own)]
        known = {*names, *(f"{name}/{one}" for name, own in metrics.items() for one in own)}
        for name in self._by:
            task, _, metric = name.rpartition("/")
            # known names but for likelihoods, of which the first validation shows whether there are any
            of_likelihoods = direction(metric) != 0 and task in ("", *tasks)
            if name not in known and not of_likelihoods:
                cure = did_you_mean("--best.by", [name], known, "name one of them")
                raise BadArgument("best.by", name, f"one of {', '.join(names)}, or TASK/METRIC", cure)

    def state_dict(self) -> dict[str, Any]:
        """Return the best score so far, its step, and how many validations have not reached it."""
        return {**super().state_dict(), "waited": self._waited, "step": self._step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the best score so far if the run's folder holds ``best.ckpt``, under whatever path it now has.

        Without it (a new run from another run's checkpoint) the next validation is the best so far. The file beside it
        is newer than the checkpoint, which may have been written before the validation of its step.
        """
        best = Path(str(self.dirpath)) / f"best{self.FILE_EXTENSION}"
        if not best.exists():  # a file, or a folder of shards
            return
        known = _read(best.with_suffix(".json"))
        if known.get("by") != self._by:
            known = {}
        score = torch.tensor(known["score"]) if known else state_dict["best_model_score"]
        if score is None:
            return
        self._waited, self._step = (int((known or state_dict).get(name, 0)) for name in ("waited", "step"))
        self._validated, self._earlier = int(known.get("validated", 0)), int(state_dict.get("waited", 0))
        kept = {"best_model_path": str(best), "kth_best_model_path": str(best), "best_model_score": score}
        kept |= {"dirpath": self.dirpath, "kth_value": score, "best_k_models": {str(best): score}}
        super().load_state_dict({**state_dict, **kept})

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count those validations again that are made again."""
        super().on_train_start(trainer, pl_module)
        if self._validated > trainer.global_step:
            self._waited = self._earlier

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the weights if they are the best so far; end the training if none of the latest validations was."""
        if trainer.state.fn != "fit" or trainer.sanity_checking:
            return
        _refuse_unlogged(trainer)
        if not self._by or (parts := self._figures(trainer)) is None:
            return
        trainer.callback_metrics[str(self.monitor)] = torch.stack([trainer.callback_metrics[p] for p in parts]).mean()
        before = self.best_model_score
        super().on_validation_end(trainer, pl_module)
        if self.best_model_score is not before:
            self._waited, self._step = 0, trainer.global_step
        else:
            self._waited += 1
        self._write(trainer)
        if self._patience and self._waited >= self._patience:
            rank_zero_info(f"{self._waited} validations in a row were not the best: the training ends (best.patience)")
            trainer.should_stop = True

    @rank_zero_only
    def _write(self, trainer: Trainer) -> None:
        """Write what a continued run must know, beside the weights."""
        if self.best_model_score is not None:
            score, step = float(self.best_model_score), trainer.global_step
            told = {"by": self._by, "score": score, "step": self._step, "waited": self._waited, "validated": step}
            write_json(Path(str(self.dirpath)) / "best.json", told)

    def _figures(self, trainer: Trainer) -> list[str] | None:
        """Return the logged names of the figures that decide; None if the mean score could not be computed.

        Raises:
            BadArgument: Something that is named was not logged.
        """
        logged = [name for name in trainer.callback_metrics if name.startswith(LOGGED)]
        found = [list(_named(name, logged, list(data_of(trainer).tasks))) for name in self._by]
        if all(found):
            parts = [one for several in found for one in several]
            if other := [one for one in parts if ("min" if _is_error(one) else "max") != self.mode]:
                cure = f"name it, `--best.by {other[0].removeprefix(LOGGED)}`"
                raise BadArgument("best.by", "+".join(self._by), "figures that are better if larger", cure)
            return parts
        if self._by == [SCORE]:
            return None
        lacking = self._by[found.index([])]
        known = ", ".join(name.removeprefix(LOGGED) for name in logged)
        cure = "name one of them; an AUROC needs at least two classes in the split val"
        raise BadArgument("best.by", lacking, f"a figure of the validation: {known or 'none'}", cure)

    def sentence(self, trainer: Trainer) -> str:
        """Return step and figure of the best weights, beside the last ones; why there are none; empty by wish."""
        if not self._by:
            return ""
        if not self.best_model_path or self.best_model_score is None:
            return "no best.ckpt: no validation was made, or none had a score"
        named = "mean of the headline scores" if self._by == [SCORE] else " and ".join(self._by)
        said = f"best.ckpt: step {self._step} of {trainer.global_step}, {named} {float(self.best_model_score):.3f}"
        if self._step == trainer.global_step:
            return f"{said}, the last one"
        last = trainer.callback_metrics.get(str(self.monitor))  # none if a complete training was started again
        return said if last is None else f"{said}, the last validation {float(last):.3f}"


def _is_error(name: str) -> bool:
    """Return whether a figure, named or logged, is better if it is smaller."""
    metric = name.rpartition("/")[2]
    shares = metric.startswith("share_") and metric != "share_answered"
    return metric == "loss" or shares or direction(metric) == -1


def _read(file: Path) -> dict[str, Any]:
    """Return what `BestCheckpoint` has written beside the weights; empty without a readable file."""
    try:
        found = read_json(file)
    except (OSError, ValueError, ArtifactError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("score"), float) else {}


def _named(name: str, logged: list[str], tasks: list[str]) -> Iterator[str]:
    """Yield the logged figures that a name means."""
    if name in tasks:
        own = [one for one in logged if one.startswith(f"{LOGGED}{name}/") and one.count("/") == 2]
        heads = [f"{LOGGED}{name}/{metric}" for metric in HEADLINES]
        yield from [one for one in heads if one in own][:1] or own[:1]
    elif f"{LOGGED}{name}" in logged:
        yield f"{LOGGED}{name}"
    else:
        yield from (one for task in tasks if (one := f"{LOGGED}{task}/{name}") in logged)


def _refuse_unlogged(trainer: Trainer) -> None:
    """Refuse a callback that monitors a figure of the validation that nobody logged.

    Raises:
        BadArgument: Its name.
    """
    callbacks: list[Any] = trainer.callbacks  # type: ignore[attr-defined]
    for other in callbacks:
        name = getattr(other, "monitor", None)
        if name and name.startswith(LOGGED) and name not in trainer.callback_metrics:
            known = ", ".join(one for one in trainer.callback_metrics if one.startswith(LOGGED))
            expected = f"a logged figure ({known or 'none'})"
            cure = "name one of them, or take the callback out of trainer.callbacks"
            raise BadArgument(f"{type(other).__name__}.monitor", name, expected, cure)
