"""All checks in their order; one that cannot be carried out is a failure with its reason, not the end of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from lmod_train.doctor import answers, data, language, recipe, separation, strategy, tokens, training, vision, weights
from lmod_train.doctor.finding import Finding
from lmod_train.doctor.subject import Subject
from lmod_train.errors import LmodError

Check = Callable[[Subject], Iterator[Finding]]

FROM_FILES: dict[str, Check] = {
    "strategy": strategy.strategy,
    "recipe": recipe.recipe,
    "delta": weights.delta,
    "records": data.records,
    "balance": data.balance,
    "answers": answers.answers,
    "separation": separation.separation,
    "language": language.language,
}
"""Checks that need no network, the cheapest first."""

WITH_NETWORK: dict[str, Check] = {
    "load_report": weights.load_report,
    "delta": weights.entropy,
    "vision": vision.contract,
    "template": tokens.template,
    "labels": tokens.labels,
    "replies": tokens.replies,
    "sensitivity": vision.sensitivity,
    "census": training.census,
    "round_trip": training.round_trip,
}

WHY = {
    "load_report": "a model with tensors missing or left over is half random, and answers nonsense without an error",
    "vision": "features would land on the wrong places",
    "template": "a model asked with another prompt than it learnt answers with one word or nothing",
    "labels": "nothing, or something else, would be learnt",
    "records": "the run would stop there, or learn from something else",
}


def examine(subject: Subject) -> list[Finding]:
    """Return what every check found, in order.

    Once the network cannot be built, the checks that need it say so and do not look. Random numbers go on as if nobody
    had looked: only the first rank is examined, and a training begins from the seed it was given.
    """
    with torch.random.fork_rng(devices=[]):
        return [f for checks in (FROM_FILES, WITH_NETWORK) for n, c in checks.items() for f in _tried(n, c, subject)]


def _tried(name: str, check: Check, subject: Subject) -> list[Finding]:
    try:
        return list(check(subject))
    except LmodError as error:
        said, _, cure = str(error).partition("\nNext: ")
        return [Finding(name, "fail", said, WHY.get(name, "the run could not begin"), cure or "see the message")]
    except Exception as error:  # whatever a library raises on broken weights is a finding, too
        said = f"{type(error).__name__}: {error}"
        return [Finding(name, "fail", said, WHY.get(name, "the run would stop there"), "mend what the message names")]
