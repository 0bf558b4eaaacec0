"""Names of tasks, metrics and reasons as a person reads them; tables and files keep the identifiers."""

from __future__ import annotations

import re

from lmod_train.core.vocabulary import entry

TASKS: dict[str, str] = entry("display_names.tasks")
"""Task -> its name; another task, such as a question of one's own, is named by its identifier in words."""

METRICS: dict[str, str] = entry("display_names.metrics")
"""Metric -> its name; another one is named by its identifier in words."""


REASONS: dict[str, str] = entry("display_names.reasons")
"""Reason why a reply has no answer -> in words."""

_HASHED = re.compile("q_[0-9a-f]{6}")
"""Identifier of a question about a column whose name has no Latin letter."""


def task_name(task: str, words: str = "") -> str:
    """Return the name of a task.

    Args:
        task: Its identifier.
        words: The question, if it is one of the user's own; its name where the identifier cannot be read.

    Example:
        >>> task_name("four_way"), task_name("image_quality"), task_name("q_47b4d0", "眼压偏高吗?")
        ('Four-way diagnosis', 'Image quality', '眼压偏高吗')
        >>> task_name("q_dfcbbd", "Based on the image, what is: 分期?")
        '分期'
    """
    if words and _HASHED.fullmatch(task):
        return words.rstrip("?？ ").rpartition(": ")[2]  # "Based on the image, what is: NAME?"
    return TASKS.get(task) or _in_words(task)[:1].upper() + _in_words(task)[1:]


def metric_name(metric: str) -> str:
    """Return the name of a metric.

    Example:
        >>> metric_name("accuracy_strict"), metric_name("macro_f1")
        ('strict accuracy', 'macro F1')
    """
    return METRICS.get(metric) or _in_words(metric).replace("f1", "F1")


def _in_words(identifier: str) -> str:
    return " ".join(identifier.replace("_", " ").split())
