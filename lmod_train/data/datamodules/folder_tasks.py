"""The tasks of a curated folder: those with records, rebuilt with the settings in its manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import BadArgument, ExtensionMissing
from lmod_train.core.extension import say
from lmod_train.core.lock import is_first
from lmod_train.tasks.building import Configured, needing, rebuilt
from lmod_train.tasks.trust import Trust


def names_with_records(manifest: Mapping[str, Any]) -> list[str]:
    """Return the names of the tasks that have records, sorted.

    Example:
        >>> names_with_records({"counts": {"sex": {}, "glaucoma": {"train": {"records": 3}}}})
        ['glaucoma']
    """
    counts = manifest.get("counts") or {}
    return sorted(name for name, splits in counts.items() if any(split.get("records") for split in splits.values()))


def stated_tasks(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return name -> class and settings of the tasks that a folder was curated with, those without records included.

    Of a task in several languages, the first is returned.
    """
    stated: dict[str, Any] = {}
    for key, one in ((manifest.get("settings") or {}).get("tasks") or {}).items():
        stated.setdefault(key.rpartition("/")[0], one)
    return stated


def rebuilt_tasks(curated: Path, names: Iterable[str] = (), trust: tuple[str, ...] = ()) -> dict[str, Configured]:
    """Return name -> class path and arguments of tasks with records in a curated folder.

    Args:
        curated: Folder written by `curate`.
        names: Tasks to rebuild; if empty all but those of extensions that are not here, each with a line.
        trust: Modules outside this package with task classes that the manifest names, which may be imported.

    Raises:
        ArtifactError: The folder is not curated.
        BadArgument: The folder has no records, or the settings of a task cannot be given to its class.
        ExtensionMissing: A named task, or every task, is of an extension that is not here.
        Untrusted: The class of a task is neither of this package nor trusted.
    """
    manifest = read_manifest(curated)
    known = names_with_records(manifest)
    if not known:
        expected = "a folder with records of at least one task; every task of it has none"
        listed = "`python -m lmod_train list tasks` says what each asks"
        cure = f"see what was left out in {curated / 'dropped.csv'}; {listed}"
        raise BadArgument("data.curated", str(curated), expected, cure)
    stated, wanted = stated_tasks(manifest), list(names)
    found: dict[str, Configured | None] = {}
    absent: dict[str, str] = {}
    for name in wanted or known:
        try:
            found[name] = rebuilt(stated[name], Trust(trust, curated)) if name in stated else None
        except ExtensionMissing as error:
            n = sum(split.get("records", 0) for split in manifest["counts"].get(name, {}).values())
            absent[name] = needing(name, n, error)
    if absent and (wanted or not found):
        raise ExtensionMissing("; ".join(absent.values()))
    for sentence in absent.values() if is_first() else ():
        say(f"left out: {sentence}")
    if unknown := [name for name, task in found.items() if task is None]:
        raise _not_rebuilt(curated, unknown, sorted({*known} - {*unknown, *absent}))
    return {name: task for name, task in found.items() if task is not None}


def among(curated: Path, names: Sequence[str]) -> list[str]:
    """Return the tasks with records in a curated folder that are among `names`; the others are printed.

    Raises:
        ArtifactError: The folder is not curated.
        BadArgument: It has none of them.
    """
    known = names_with_records(read_manifest(curated))
    found = [name for name in names if name in known]
    if not found:
        expected = f"a folder with records of {', '.join(names)}; this one has {', '.join(known) or 'none'}"
        raise BadArgument("data.curated", str(curated), expected, "name another folder, or use RecordsDataModule")
    if (absent := [name for name in names if name not in known]) and is_first():
        say(f"{curated} has no records of {', '.join(absent)}; used: {', '.join(found)}")
    return found


def _not_rebuilt(curated: Path, lost: list[str], others: list[str]) -> BadArgument:
    few = f", or use the other tasks: `--data.tasks {','.join(others)}`" if others else ""
    expected = f"tasks with settings that are arguments of their classes; those in {curated / 'manifest.json'} are not"
    cure = f"name the tasks by their files, as they were curated: `--data.tasks FILE`{few}"
    return BadArgument("data.tasks", ",".join(lost), expected, cure)
