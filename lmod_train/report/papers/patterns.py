"""Rules about printed results: rows of a table whose first columns name the cells that they concern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from lmod_train.report.papers.printed import Printed

FIELDS = ("paper", "table", "model", "task", "dataset_or_subset", "modality", "stage_or_class", "metric")
"""Columns by which a rule names cells; a rule need not have all of them."""


def matches(rule: Mapping[str, str], cell: Printed) -> bool:
    """Return whether a rule concerns a cell: every field is empty in the rule or one of its patterns fits.

    Patterns are those of file names (``*``, ``?``), separated by ``|``.

    Example:
        >>> matches({"table": "Table 2|Table 3", "model": "LLaVA*"}, Printed("lmod_v1", "Table 3", "LLaVA-Med"))
        True
    """
    return all(_fits(rule.get(field, ""), str(getattr(cell, field))) for field in FIELDS)


def _fits(patterns: str, value: str) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns.split("|"))


def first_match(rules: Sequence[Mapping[str, str]], cell: Printed) -> Mapping[str, str] | None:
    """Return the first rule that concerns a cell, None if there is none."""
    return next((rule for rule in rules if matches(rule, cell)), None)
