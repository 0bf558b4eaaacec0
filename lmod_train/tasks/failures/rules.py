"""The rules that find failures in a reply, each with its evidence."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from lmod_train.core.types import Prediction
from lmod_train.tasks.failures.boxes import foreign_structure, unknown_region
from lmod_train.tasks.failures.case import Case, Rule
from lmod_train.tasks.failures.contradiction import contradiction
from lmod_train.tasks.failures.declined import abstention
from lmod_train.tasks.failures.empty import empty
from lmod_train.tasks.failures.flip import negation_flip
from lmod_train.tasks.failures.form import template
from lmod_train.tasks.failures.loop import loop
from lmod_train.tasks.failures.reasons import unexplained
from lmod_train.tasks.failures.scale import unknown_stage
from lmod_train.tasks.failures.textbook import generic
from lmod_train.tasks.failures.tokens import special_tokens

_LOG = logging.getLogger(__name__)

RULES: Mapping[str, Rule] = {
    rule.__name__: rule
    for rule in (
        *(empty, loop, special_tokens, template, generic, abstention),
        *(unexplained, contradiction, unknown_region, foreign_structure, unknown_stage, negation_flip),
    )
}
"""Name -> rule, in the order of tables."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure found in a reply.

    Attributes:
        rule: Name of the rule.
        start: First character of the evidence in the reply.
        end: One past its last character.
    """

    rule: str
    start: int
    end: int


def failures_of(prediction: Prediction) -> list[Failure]:
    """Return the failures that the rules find in a reply, at most one a rule, in the order of `RULES`.

    Only the first `LONGEST` characters are read. A reply that failed (no reply at all) has none. Never raises: a rule
    that fails on a reply is logged and finds nothing.

    Example:
        >>> from lmod_train.core.types import Message, Part, Record, Reply
        >>> record = Record(id="a", task="glaucoma", task_class="", task_version=1, source="", key="", modality="CFP",
        ...     image=(), image_plain=(), image_sha256=(), split="test", group="", language="en",
        ...     messages=(Message("user", (Part("text", "Glaucoma? Give justifications."),)),),
        ...     choices=("GLAUCOMA", "NON-GLAUCOMA"), answer="GLAUCOMA")
        >>> failures_of(Prediction(record, Reply("a", "NON-GLAUCOMA"), "NON-GLAUCOMA"))
        [Failure(rule='unexplained', start=0, end=12)]
    """
    case = Case(prediction)
    if case.reason == "failed":
        return []
    found = ((name, _applied(name, rule, case)) for name, rule in RULES.items())
    return [Failure(name, *span) for name, span in found if span is not None]


def finds(rule: str, prediction: Prediction) -> bool:
    """Return whether one rule finds a failure in a reply, without applying the others."""
    return _applied(rule, RULES[rule], Case(prediction)) is not None


def _applied(name: str, rule: Rule, case: Case) -> tuple[int, int] | None:
    try:
        return case.of(rule)
    except Exception:
        _LOG.exception("The rule %s failed on the reply to %s; it finds nothing there.", name, case.record.id)
        return None
