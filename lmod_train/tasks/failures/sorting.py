"""Sort failures into LMOD's six failure modes and LMOD+'s five error types."""

from __future__ import annotations

from collections.abc import Collection

from lmod_train.core.vocabulary.error_types import LMOD_MODES, LMOD_PLUS_TYPES


def modes_of(rules: Collection[str], misclassified: bool, nothing_to_see: bool) -> tuple[str, ...]:
    """Return the failure modes of LMOD that a reply has, in the paper's order; none for a reply without failure.

    Args:
        rules: Names of the rules that fired.
        misclassified: Whether there is an answer, and it is wrong.
        nothing_to_see: Whether there is an answer to a question that was asked without its image, or with one that
            does not show an eye.

    Example:
        >>> modes_of(["unexplained"], misclassified=True, nothing_to_see=False)
        ('misclassification', 'assertion')
    """
    stated = {"misclassification": misclassified, "failure to abstain": nothing_to_see}
    return tuple(mode.name for mode in LMOD_MODES if stated.get(mode.name) or set(mode.rules) & set(rules))


def type_of(rules: Collection[str], verdict: str = "") -> str | None:
    """Return the error type of LMOD+ of a wrong reply, None where neither rules nor a judge decide.

    Args:
        rules: Names of the rules that fired.
        verdict: Type that a judge or a person gave; it decides where no rule does.

    Example:
        >>> type_of(["loop", "abstention"]), type_of(["unexplained"]), type_of([], "misinterpreted visual features")
        ('text generation failure', None, 'misinterpreted visual features')
    """
    for kind in LMOD_PLUS_TYPES:
        if set(kind.rules) & set(rules):
            return kind.name
    return verdict if verdict in {kind.name for kind in LMOD_PLUS_TYPES} else None
