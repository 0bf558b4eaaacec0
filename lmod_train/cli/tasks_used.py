"""Which tasks a command of Lightning uses: those that are typed, those of its config that the folder has, or all."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jsonargparse import ArgumentParser, Namespace
from lightning_utilities.core.rank_zero import rank_zero_info

from lmod_train.cli.catalogue import parameters_of
from lmod_train.cli.short_names import TASKS, by_short_name
from lmod_train.cli.typed import NOTHING, options, taken, yaml_of
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import ArtifactError, BadArgument
from lmod_train.data.datamodules.folder_tasks import names_with_records
from lmod_train.tasks.base import Task
from lmod_train.tasks.variants import Derived

if TYPE_CHECKING:
    from lmod_train.data.datamodules.records import RecordsDataModule

EVALUATING = ("validate", "test", "predict")
"""Commands that ask a model, and do not train it."""


def use_tasks(data: type[RecordsDataModule], config: Namespace, arguments: Sequence[str]) -> list[str]:
    """Set the tasks in a configuration to those that are used; a line is printed if they are not the named ones.

    Args:
        data: Class of the datamodule.
        config: Parsed configuration of one of Lightning's commands, classes not instantiated.
        arguments: The command and its options, as typed.

    Returns:
        Names of tasks that a config names and the curated folder lacks; they are left out.

    Raises:
        BadArgument: No task is left, or there are several for a classifier.
        ArtifactError: The folder is not curated.
        Untrusted: A task of the folder is of a class outside this package that is not trusted.
    """
    curated, absent = Path(config.data.curated), list[str]()
    if not config.data.tasks:
        config.data.tasks = _of_folder(data, curated, tuple(config.trust))
        rank_zero_info(f"tasks of {curated}: {', '.join(_names(config.data.tasks))}")
    elif (configured := len(config.data.tasks) - _typed(arguments)) > 0:
        absent = _leave_out_absent(data, config, arguments, configured)
    _refuse_several(config, arguments)
    return absent


def _leave_out_absent(
    data: type[RecordsDataModule], config: Namespace, arguments: Sequence[str], configured: int
) -> list[str]:
    """Leave out the tasks of a config that have no records, and print which.

    Where none is left, an evaluation asks the folder's tasks that ask one of them about changed images, such as
    ``glaucoma_grounding`` for ``glaucoma``. The tasks after the `configured` ones are typed; an unknown one of these is
    refused when the records are read.
    """
    try:
        manifest = read_manifest(Path(config.data.curated))
    except ArtifactError:  # which is refused when the records are read
        return []
    names = _names(config.data.tasks)
    known = names_with_records(manifest)
    absent = [name for name in names[:configured] if name not in known] if "counts" in manifest else []
    if not absent:
        return []
    curated = config.data.curated
    left = [task for name, task in zip(names, config.data.tasks, strict=True) if name not in absent]
    if not left and known and arguments[0] in EVALUATING:
        left, original = _derived(data, config, absent)
        absent = [name for name in absent if name not in original]
    if not left:
        expected = f"at least one of the tasks in {curated}: {', '.join(known) or 'none has records'}"
        raise BadArgument("data.tasks", ",".join(absent), expected, _again(config, arguments, known))
    config.data.tasks = left
    lost = f"{curated} lacks tasks of the config, which are left out: {', '.join(absent) or 'none'}"
    rank_zero_info(f"{lost}; used: {', '.join(_names(left))}")
    return absent


def _derived(
    data: type[RecordsDataModule], config: Namespace, names: Sequence[str]
) -> tuple[list[Namespace], set[str]]:
    """Return the tasks of the folder that ask one of the named tasks otherwise, and which of these they ask."""
    found = _of_folder(data, Path(config.data.curated), tuple(config.trust))
    pairs = [(own, task.of.name) for own, task in zip(found, _built(found), strict=True) if isinstance(task, Derived)]
    return [own for own, of in pairs if of in names], {of for _, of in pairs}


def _of_folder(data: type[RecordsDataModule], curated: Path, trust: tuple[str, ...]) -> list[Namespace]:
    """Return the tasks of a folder as the parser returns them, all options included."""
    found = data.configured(curated, trust)
    items = [{"class_path": path, "init_args": dict(arguments)} for path, arguments in found]
    tasks: list[Namespace] = _tasks_parser().parse_object({"tasks": items}).tasks
    return tasks


def _tasks_parser() -> ArgumentParser:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--tasks", type=list[Task])
    return parser


def _names(tasks: Sequence[Namespace]) -> list[str]:
    """Return the names of configured tasks, which may depend on their options."""
    return [task.name for task in _built(tasks)]


def _built(tasks: Sequence[Namespace]) -> list[Task]:
    built: list[Task] = _tasks_parser().instantiate(Namespace(tasks=list(tasks))).tasks  # type: ignore[no-untyped-call]
    return built


def _typed(arguments: Sequence[str]) -> int:
    """Return how many of the last tasks are typed; all, as a large number, if the list itself is."""
    count = 0
    for option in options(arguments):
        if option.head == TASKS and option.value != NOTHING["data.tasks"]:
            return 10**6
        if option.head == f"{TASKS}+":
            added = yaml_of(option.value)
            count += len(added) if isinstance(added, list) else 1
    return count


def _refuse_several(config: Namespace, arguments: Sequence[str]) -> None:
    """Refuse several tasks for a classifier, whose classes are the choices of one task."""
    if len(config.data.tasks) == 1 or not is_classifier(config):
        return
    names = _names(config.data.tasks)
    kind = str(config.model.class_path).rpartition(".")[2]
    expected = f"exactly one task, as {kind} is a classifier; these are {len(names)}"
    raise BadArgument("data.tasks", ",".join(names), expected, _again(config, arguments, names))


def is_classifier(config: Namespace) -> bool:
    """Return whether the model's classes are the choices of the data's one task."""
    return "choices" in (parameters_of(str(config.model.class_path)) or ())


def _again(config: Namespace, arguments: Sequence[str], names: Sequence[str]) -> str:
    """Return the complete command with these tasks; for a classifier with the first, and the others beside it."""
    if not names:
        return "curate again: `python -m lmod_train curate --raw RAW --out NEW`"
    chosen = names[:1] if is_classifier(config) else names
    kept = by_short_name(arguments[0], taken(arguments[1:], TASKS, f"{TASKS}+")[1])
    command = shlex.join(["python", "-m", "lmod_train", arguments[0], *kept, TASKS, ",".join(chosen)])
    others = f" (or another one: {', '.join(names[1:])})" if len(chosen) < len(names) else ""
    return f"`{command}`{others}"
