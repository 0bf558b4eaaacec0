"""Build tasks from the class paths that records, configurations and curated folders name."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmod_train.core.errors import BadArgument, ExtensionMissing, Untrusted
from lmod_train.core.extension import absent
from lmod_train.core.own_modules import unnamed_import
from lmod_train.core.types import Record
from lmod_train.tasks.base import Task
from lmod_train.tasks.trust import Trust

NOTHING_ELSE = Trust()


def tasks_asked(
    records: Iterable[Record], configured: Sequence[Configured] = (), trust: Trust = NOTHING_ELSE
) -> list[Task]:
    """Build the tasks that records were asked by, in the order of their first record.

    Args:
        records: Each names its task and the task's class path.
        configured: The tasks of the run, by `task_arguments`. A record's task is the one of its name and class; a
            class that is not configured under that name is built with its defaults.
        trust: Whose classes may be imported beside this package's.

    Raises:
        Untrusted: A class is not of these; nothing of it was imported.
        ExtensionMissing: A class is of an extension that is not here; the message counts the records.
        BadArgument: A class path leads nowhere, or to something that is not a task; or no configured task has the name
            that records carry, nor has their class with its defaults.
    """
    tasks, lost = tasks_here(records, configured, trust)
    if lost:
        raise ExtensionMissing("; ".join(lost.values()))
    return tasks


def tasks_here(
    records: Iterable[Record], configured: Sequence[Configured] = (), trust: Trust = NOTHING_ELSE
) -> tuple[list[Task], dict[str, str]]:
    """Return what `tasks_asked` does without the tasks of extensions that are not here, and a sentence on each of them.

    Args:
        records: Each names its task and the task's class path.
        configured: The tasks of the run, by `task_arguments`.
        trust: Whose classes may be imported beside this package's.
    """
    asked = Counter((r.task, r.task_class) for r in records)
    classes = {path for _, path in asked}
    built: dict[tuple[str, str], Task] = {}
    gone: dict[str, ExtensionMissing] = {}
    for path, arguments in configured:
        try:
            task = build(path, arguments, trust) if path in classes else None
        except ExtensionMissing as error:  # of a task in its arguments: the name is unknown
            gone[path] = error
        else:
            built |= {(task.name, path): task} if task else {}
    tasks: list[Task] = []
    lost: dict[str, str] = {}
    for (name, path), n in asked.items():
        try:
            tasks.append(built.get((name, path)) or _by_default(name, path, trust))
        except (BadArgument, ExtensionMissing) as error:
            missing = error if isinstance(error, ExtensionMissing) else gone.get(path)
            if missing is None:
                raise
            lost[name] = needing(name, n, missing)
    return tasks, lost


def needing(task: str, n: int, missing: ExtensionMissing) -> str:
    """Return the sentence on records of a task that needs an extension which is not here.

    Example:
        >>> needing("lens", 12, ExtensionMissing("", "lenses"))
        '12 records of task lens need the extension lenses, which is not here'
    """
    counted = f"1 record of task {task} needs" if n == 1 else f"{n} records of task {task} need"
    return f"{counted} the extension {missing.extension}, which is not here"


Configured = tuple[str, Mapping[str, Any]]
"""Class path and constructor arguments of a task."""


def build(path: str, arguments: Mapping[str, Any], trust: Trust = NOTHING_ELSE) -> Task:
    """Return the task of a class path; an argument that names a class path of its own is built first.

    Raises:
        Untrusted: The class is neither of this package nor trusted.
        BadArgument: The path leads nowhere, or to something that is not a task.

    Example:
        >>> glaucoma = {"class_path": "lmod_train.tasks.glaucoma.Glaucoma"}
        >>> build("lmod_train.tasks.probe.Probe", {"of": glaucoma, "kinds": ["none"]}).name
        'glaucoma_probe'
    """
    kind = task_class(path, trust)
    return kind(**{name: _built(value, trust) for name, value in arguments.items()})


def _built(value: Any, trust: Trust) -> Any:
    if isinstance(value, Mapping) and "class_path" in value:
        return build(value["class_path"], value.get("init_args") or {}, trust)
    return value


def _by_default(name: str, path: str, trust: Trust) -> Task:
    try:
        task: Task | None = build(path, {}, trust)
    except TypeError:  # it has arguments without defaults
        task = None
    if task is None or task.name != name:
        expected = f"a task of that name in the run's config.yaml, which {path} with its defaults is not"
        raise BadArgument("task", name, expected, "name it there under data.tasks, as it was curated")
    return task


def task_class(path: str, trust: Trust) -> type[Task]:
    """Return the class of a class path.

    Raises:
        Untrusted: The class is neither of this package nor trusted.
        ExtensionMissing: It is of an extension that is not here.
        BadArgument: The path leads nowhere, or to something that is not a task.
    """
    module, _, name = path.rpartition(".")
    if extension := absent(path):
        raise ExtensionMissing(f"task_class={path!r} needs the extension {extension}, which is not here", extension)
    trust.check(path)
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        near = unnamed_import(str(error))
        cure = near or "install the package that defines it, or see `python -m lmod_train list tasks`"
        raise BadArgument("task_class", path, f"the class path of a task ({error})", cure) from error
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise BadArgument("task_class", path, "a subclass of Task", "see `python -m lmod_train list tasks`")
    return found


def task_arguments(config: Mapping[str, Any]) -> list[Configured]:
    """Return class path and constructor arguments of every task in a run's resolved configuration; [] for none.

    Example:
        >>> task_arguments({"data": {"tasks": [{"class_path": "a.B", "init_args": {"language": "zh"}}]}})
        [('a.B', {'language': 'zh'})]
    """
    data = config.get("data") or {}
    own: Sequence[Any] = (data.get("init_args") or data).get("tasks") or []
    tasks = own or (config.get("provenance") or {}).get("tasks") or []  # of a user's datamodule
    return [(t["class_path"], t.get("init_args") or {}) for t in tasks if isinstance(t, Mapping)]


# Tasks as a curated folder was asked by them, from the settings in its manifest.


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
    except Untrusted:
        raise
    except (BadArgument, TypeError, KeyError, ValueError):
        return None
    wanted = stated["settings"]
    same = all(_unordered(settings.get(name)) == _unordered(value) for name, value in wanted.items())
    return (str(stated["class"]), arguments) if same else None


def _unordered(value: Any) -> Any:
    """Return a list sorted, also within a task in a task: joined words of a mapping have an order no manifest keeps."""
    if isinstance(value, Mapping):
        return {name: _unordered(one) for name, one in value.items()}
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
