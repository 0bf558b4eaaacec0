"""Names of tasks and metrics as a person reads them; tables and files keep the identifiers."""

from __future__ import annotations

from lmod_train.core.vocabulary import entry

TASKS: dict[str, str] = entry("display_names.tasks")
"""Task -> its name; another task, such as a question of one's own, is named by its identifier in words."""

METRICS: dict[str, str] = entry("display_names.metrics")
"""Metric -> its name; another one is named by its identifier in words."""


def task_name(task: str) -> str:
    """Return the name of a task.

    Example:
        >>> task_name("four_way"), task_name("image_quality")
        ('Four-way diagnosis', 'Image quality')
    """
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
