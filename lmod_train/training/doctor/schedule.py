"""Check of the length of a training: optimiser steps, epochs, and the validations and checkpoints between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lmod_train.training.doctor.check_result import CheckResult
from lmod_train.training.doctor.strategy import devices_of
from lmod_train.training.doctor.subject import Subject

Values = Mapping[str, Any]

BATCH_SIZE, EPOCHS = 16, 1000
"""Defaults of `data.batch_size`, and of Lightning's `max_epochs` where `max_steps` is not set either."""
LEAST_STEPS = 20
"""Optimiser steps below which a run is a test of the program: warm-up and cosine need some to have a shape."""
MOST_EPOCHS = 50
"""Epochs above which a language model knows its answers by heart; published tunings have 1 to 3, small bases up to 12.
"""


class Length(NamedTuple):
    """Length of a training.

    Attributes:
        in_epoch: Optimiser steps of an epoch.
        epochs: Number of epochs; infinite where only `max_steps` ends the run.
        total: Optimiser steps of the run.
    """

    in_epoch: int
    epochs: float
    total: int


def schedule(subject: Subject) -> Iterator[CheckResult]:
    """Check that the run has steps enough to learn, an end, and validations on its way."""
    trainer: Values = subject.config.get("trainer") or {}
    if subject.data is None or not subject.records():
        yield CheckResult("schedule", "skip", "no training records to count")
        return
    length = length_of(subject)
    tunes = subject.module is not None
    problems = [*_left_in(trainer), *_steps(length, tunes, trainer), *_validated(subject, trainer, length)]
    problems += _kept(subject.config.get("checkpoint") or {}, length)
    yield from problems
    if not any(r.level == "fail" for r in problems):
        epochs = "without end" if math.isinf(length.epochs) else f"{length.epochs:g}"
        what = f"{length.total} optimiser steps, {length.in_epoch} an epoch, epochs {epochs}"
        yield CheckResult("schedule", "ok", what)


def length_of(subject: Subject) -> Length:
    """Return the length of a run; where the number of GPUs is not known here, that of one."""
    trainer: Values = subject.config.get("trainer") or {}
    data: Values = subject.config.get("data") or {}
    ranks = int(subject.environment.get("WORLD_SIZE") or 1)
    ranks = max(ranks, devices_of(trainer) * int(trainer.get("num_nodes") or 1))
    batches = _limited(
        math.ceil(len(subject.records()) / (int(data.get("batch_size") or BATCH_SIZE) * ranks)),
        trainer.get("overfit_batches") or trainer.get("limit_train_batches"),
    )
    in_epoch = math.ceil(batches / int(trainer.get("accumulate_grad_batches") or 1))
    most, epochs = trainer.get("max_steps"), trainer.get("max_epochs")
    most = math.inf if most in (None, -1) else most
    if trainer.get("fast_dev_run"):
        return Length(in_epoch, 1, min(in_epoch, int(trainer["fast_dev_run"])))
    if epochs in (None, -1):
        epochs = EPOCHS if epochs is None and math.isinf(most) else math.inf
    total = min(epochs * in_epoch if in_epoch else 0, most)
    return Length(in_epoch, epochs, 0 if math.isinf(total) else int(total))


def _limited(batches: int, limit: float | None) -> int:
    """Return the number of batches under a limit of Lightning: a number of batches, or a share as a float.

    Example:
        >>> _limited(100, 1), _limited(100, 1.0), _limited(100, 0.25), _limited(100, None)
        (1, 100, 25, 100)
    """
    if limit is None:
        return batches
    return int(batches * limit) if isinstance(limit, float) and limit <= 1 else min(batches, int(limit))


def _left_in(trainer: Values) -> Iterator[CheckResult]:
    """Yield a warning for options that are for tests of a program."""
    tests = [name for name in ("fast_dev_run", "overfit_batches") if trainer.get(name)]
    if tests:
        what = ", ".join(f"trainer.{name}={trainer[name]}" for name in tests)
        why = "with fast_dev_run no checkpoint is written; with overfit_batches only these batches are trained on"
        yield CheckResult("schedule", "warn", what, why, f"leave out {', '.join(f'trainer.{name}' for name in tests)}")


def _steps(length: Length, tunes: bool, trainer: Values) -> Iterator[CheckResult]:
    cure = "set trainer.max_epochs, trainer.max_steps and trainer.limit_train_batches"
    if not length.total and not math.isinf(length.epochs):
        what = f"no optimiser step: {length.in_epoch} in an epoch, {length.epochs:g} epochs"
        yield CheckResult("schedule", "fail", what, "nothing would be trained", f"{cure}, e.g. to 3, -1 and 1.0")
    elif 0 < length.total < LEAST_STEPS or length.in_epoch == 1:
        what = f"{length.total} optimiser steps, {length.in_epoch} an epoch"
        why = "AdamW moves a weight by at most its rate a step: so few hardly change the model"
        smaller = "lower data.batch_size or trainer.accumulate_grad_batches, train on more records, or raise max_epochs"
        limit = trainer.get("limit_train_batches")
        batches = f"; limit_train_batches={limit} is {limit} batches, and 1.0 all" if isinstance(limit, int) else ""
        yield CheckResult("schedule", "warn", what, why, smaller + batches)
    if trainer.get("max_epochs") is None and length.epochs == EPOCHS:
        why = f"Lightning's default is {EPOCHS} epochs, and the rate falls over all of them"
        yield CheckResult("schedule", "warn", "neither max_epochs nor max_steps is set", why, f"{cure}, the first to 3")
    elif tunes and MOST_EPOCHS < length.epochs < math.inf:
        why = "published tunings have 1 to 3; a model that sees its answers so often knows them by heart"
        yield CheckResult("schedule", "warn", f"{length.epochs:g} epochs", why, "set trainer.max_epochs to 3")


def _kept(checkpoint: Values, length: Length) -> Iterator[CheckResult]:
    """Yield a warning where the first checkpoint would be written at the end only."""
    every = checkpoint.get("every_n_train_steps")
    if every and LEAST_STEPS <= length.total < every:
        what = f"a checkpoint every {every} steps, of {length.total}"
        why = "a run that is interrupted begins again"
        cure = f"set checkpoint.every_n_train_steps to {max(length.total // 5, 1)}"
        yield CheckResult("schedule", "warn", what, why, cure)


def _validated(subject: Subject, trainer: Values, length: Length) -> Iterator[CheckResult]:
    """Yield a warning where no validation would take place."""
    every, limit = trainer.get("check_val_every_n_epoch") or 1, trainer.get("limit_val_batches")
    why = "nothing shows during training whether the model learns what it is asked later"
    if not subject.data.records("val"):  # type: ignore[union-attr]
        what, cure = "no record in the split val", "curate with a share for val (ratios: [0.8, 0.15, 0.05])"
    elif limit == 0:
        what, cure = "limit_val_batches=0", "leave out trainer.limit_val_batches"
    elif every > length.epochs and not trainer.get("val_check_interval"):
        what = f"a validation every {every} epochs, of {length.epochs:g}"
        cure = f"set trainer.check_val_every_n_epoch to {max(int(length.epochs), 1)}"
    else:
        return
    yield CheckResult("schedule", "warn", f"no validation: {what}", why, cure)
