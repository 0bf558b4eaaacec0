"""Runs all checks in order; a check that raises is reported as failed, and the others still run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from lmod_train.core.errors import LmodError
from lmod_train.core.package_data import package_data
from lmod_train.training.doctor import data, recipe, strategy, tokens, weights
from lmod_train.training.doctor import reply_checks as replies
from lmod_train.training.doctor.check_result import CheckResult
from lmod_train.training.doctor.subject import Subject

Check = Callable[[Subject], Iterator[CheckResult]]

CHECKS: tuple[tuple[str, Check, str], ...] = (
    ("strategy", strategy.strategy, ""),
    ("recipe", recipe.recipe, ""),
    ("schedule", recipe.schedule, "data records"),
    ("delta", weights.delta, ""),
    ("records", data.records, "data"),
    ("balance", data.balance, "data"),
    ("answers", replies.answers, "data"),
    ("references", weights.references, "data"),
    ("separation", replies.separation, "data"),
    ("splits", data.splits, "data"),
    ("language", replies.language, "data"),
    ("preprocessing", tokens.preprocessing, "module data images"),
    # from here on with the network
    ("load_report", weights.load_report, "module"),
    ("delta", weights.entropy, "network"),
    ("untrained", weights.untrained, "network"),
    ("vocabulary", weights.vocabulary, "network"),
    ("vision", weights.contract, "network data pair"),
    ("template", tokens.template, "module data records"),
    ("labels", tokens.labels, "module data records"),
    ("replies", tokens.replies, "module data records"),
    ("sensitivity", weights.sensitivity, "network data pair"),
    ("census", recipe.census, "network"),
    ("round_trip", recipe.round_trip, "network"),
)
"""Name of each check, the function, and what it needs (see `Subject.lacks`); the cheapest first."""

WHY: Mapping[str, str] = package_data(__file__, "problems.yaml")["stops"]
"""Consequence by name of the check, for a check that stops with an error."""


def examine(subject: Subject) -> list[CheckResult]:
    """Return the results of all checks, in order.

    If the network cannot be built, the checks that need it are skipped. The state of torch's random numbers is restored
    afterwards: only rank 0 runs the checks, and all ranks must start the training from the same seed.
    """
    with torch.random.fork_rng(devices=[]):
        return [result for name, check, needs in CHECKS for result in _tried(name, check, needs, subject)]


def check_training(module: Any, data: Any, **options: Any) -> list[CheckResult]:
    """Return the results of all checks for a training from Python, as `fit` makes them; nothing is trained.

    Args:
        module: A `VisionLanguageModel`; its network is built.
        data: A `RecordsDataModule`; its records are read.
        **options: Options of Lightning's Trainer.
    """
    data.setup("fit")
    own = {"batch_size": data.batch_size, "global_batch": data.global_batch}
    return examine(Subject({"trainer": options, "data": own}, module, data, dict(os.environ)))


def _tried(name: str, check: Check, needs: str, subject: Subject) -> list[CheckResult]:
    try:
        if lacking := subject.lacks(needs):
            return [CheckResult(name, "skip", lacking)]
        return list(check(subject))
    except LmodError as error:
        what, _, cure = str(error).partition("\nNext: ")
    except Exception as error:  # libraries raise errors of many types on broken weights
        what, cure = f"{type(error).__name__}: {error}", "fix what the message names"
        return [CheckResult(name, "fail", what, WHY.get(name, "the run would stop there"), cure)]
    return [CheckResult(name, "fail", what, WHY.get(name, "the run could not begin"), cure or "see the message")]
