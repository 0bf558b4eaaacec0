"""Tasks as a curated folder was asked by them, from the settings in its manifest."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from lmod_train.core.errors import BadArgument, ExtensionMissing, Untrusted
from lmod_train.tasks.building import Configured, build, task_class
from lmod_train.tasks.trust import Trust


def rebuilt(stated: Mapping[str, Any], trust: Trust) -> Configured | None:
    """Return class path and constructor arguments of the task with the stated class and settings.

    Args:
        stated: ``class`` and ``settings`` of a task, as in a manifest.
        trust: Whose classes may be imported beside this package's.

    Returns:
        None if the task cannot be rebuilt with equal settings, e.g. as its settings are not its arguments.

    Raises:
        Untrusted: The class is neither of this package nor trusted.
        ExtensionMissing: It, or that of a task within it, is of an extension that is not here.

    Example:
        >>> stated = {"class": "lmod_train.tasks.glaucoma.Glaucoma", "settings": {"sources": ["refuge"]}}
        >>> rebuilt(stated, Trust())
        ('lmod_train.tasks.glaucoma.Glaucoma', {'sources': ['refuge']})
    """
    try:
        arguments = _arguments(stated, trust)
        task = build(str(stated["class"]), arguments, trust)
        settings = task.settings()
    except (Untrusted, ExtensionMissing):
        raise
    except (BadArgument, TypeError, KeyError, ValueError):
        return None
    wanted = stated["settings"]
    same = all(_unordered(settings.get(name)) == _unordered(value) for name, value in wanted.items())
    return (str(stated["class"]), arguments) if same else None


def _unordered(value: Any) -> Any:
    """Return a list sorted, as words that were joined from a mapping have its order, which a manifest does not keep."""
    return sorted(map(str, value)) if isinstance(value, list | tuple) else value


def _arguments(stated: Mapping[str, Any], trust: Trust) -> dict[str, Any]:
    """Return the settings that are parameters of the constructor; of a task within a task, its class and arguments."""
    known = inspect.signature(task_class(str(stated["class"]), trust)).parameters
    return {name: _value(value, trust) for name, value in stated["settings"].items() if name in known}


def _value(value: Any, trust: Trust) -> Any:
    if isinstance(value, Mapping) and {"class", "settings"} <= value.keys():
        return {"class_path": str(value["class"]), "init_args": _arguments(value, trust)}
    return value


def all_rebuilt(stated: Sequence[Mapping[str, Any]], trust: Trust) -> tuple[list[Configured], list[str]]:
    """Return the tasks that can be rebuilt, and the class paths of the others, which are used with their defaults."""
    found = [(str(one.get("class")), rebuilt(one, trust)) for one in stated]
    return [task for _, task in found if task is not None], [path for path, task in found if task is None]
