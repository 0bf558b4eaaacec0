"""Runs all checks in order; a check that raises is reported as failed, and the others still run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from lmod_train.core.errors import LmodError
from lmod_train.training.doctor import data, recipe, strategy, tokens, weights
from lmod_train.training.doctor import data as splits
from lmod_train.training.doctor import recipe as schedule
from lmod_train.training.doctor import recipe as training
from lmod_train.training.doctor import replies as answers
from lmod_train.training.doctor import replies as language
from lmod_train.training.doctor import replies as separation
from lmod_train.training.doctor import tokens as preprocessing
from lmod_train.training.doctor import weights as references
from lmod_train.training.doctor import weights as vision
from lmod_train.training.doctor.check_result import CheckResult
from lmod_train.training.doctor.subject import Subject

Check = Callable[[Subject], Iterator[CheckResult]]

FROM_FILES: dict[str, Check] = {
    "strategy": strategy.strategy,
    "recipe": recipe.recipe,
    "schedule": schedule.schedule,
    "delta": weights.delta,
    "records": data.records,
    "balance": data.balance,
    "answers": answers.answers,
    "references": references.references,
    "separation": separation.separation,
    "splits": splits.splits,
    "language": language.language,
    "preprocessing": preprocessing.preprocessing,
}
"""Checks by name that need no network, the cheapest first."""

WITH_NETWORK: dict[str, Check] = {
    "load_report": weights.load_report,
    "delta": weights.entropy,
    "untrained": weights.untrained,
    "vocabulary": weights.vocabulary,
    "vision": vision.contract,
    "template": tokens.template,
    "labels": tokens.labels,
    "replies": tokens.replies,
    "sensitivity": vision.sensitivity,
    "census": training.census,
    "round_trip": training.round_trip,
}
"""Checks by name that build the network or need it."""

WHY = {
    "load_report": "weights without a place and places without weights stay random: the model answers nonsense",
    "vision": "image features would be put at the wrong positions of the prompt",
    "template": tokens.WRONG_PROMPT,
    "labels": "the model would be trained on wrong targets, or on none",
    "records": "the run would stop at this record, or be trained on wrong data",
}
"""Consequence by name of the check, for a check that stops with an error."""


def examine(subject: Subject) -> list[CheckResult]:
    """Return the results of all checks, in order.

    If the network cannot be built, the checks that need it are skipped. The state of torch's random numbers is restored
    afterwards: only rank 0 runs the checks, and all ranks must start the training from the same seed.
    """
    with torch.random.fork_rng(devices=[]):
        return [r for checks in (FROM_FILES, WITH_NETWORK) for n, c in checks.items() for r in _tried(n, c, subject)]


def _tried(name: str, check: Check, subject: Subject) -> list[CheckResult]:
    try:
        return list(check(subject))
    except LmodError as error:
        what, _, cure = str(error).partition("\nNext: ")
        return [CheckResult(name, "fail", what, WHY.get(name, "the run could not begin"), cure or "see the message")]
    except Exception as error:  # libraries raise errors of many types on broken weights
        what = f"{type(error).__name__}: {error}"
        return [
            CheckResult(name, "fail", what, WHY.get(name, "the run would stop there"), "fix what the message names")
        ]
