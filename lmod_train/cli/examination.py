"""The doctor's checks of a parsed configuration; module and data are built separately, as each can fail."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar

import torch
from jsonargparse import ArgumentParser, Namespace

from lmod_train import __version__
from lmod_train.core.artifacts.run import Run
from lmod_train.core.errors import LmodError
from lmod_train.core.raw import parse_yaml
from lmod_train.core.types import class_path
from lmod_train.data.datamodules.records import RecordsDataModule
from lmod_train.models.modules.conversation import VisionLanguageModel
from lmod_train.training.doctor.check_result import (
    CheckResult,
    Refused,
    failures,
    passed,
    terminal_report,
    write_checks,
)
from lmod_train.training.doctor.examine import WHY, examine
from lmod_train.training.doctor.subject import Subject

Built = TypeVar("Built")

RECORDS = class_path(RecordsDataModule)

UNREAD = ("run", "config", "ckpt_path", "checkpoint", "best", "doctor", "evaluation", "tripwires", "read_back")
"""Keys of a configuration that no check depends on."""


def findings_of(config: Namespace, resolved: dict[str, Any]) -> list[CheckResult]:
    """Return the results of the checks of the training in a configuration; nothing is started or changed.

    Args:
        config: Configuration as parsed by `fit`, classes not instantiated.
        resolved: The same configuration as plain values.
    """
    found: list[CheckResult] = []
    data = _tried(partial(_data, config, str(resolved["data"].get("class_path") or RECORDS)), "records", found)
    environment, images = dict(os.environ), config.doctor.images
    room, _, name = str(config.model.class_path).rpartition(".")
    if not issubclass(getattr(import_module(room), name), VisionLanguageModel):
        found.append(CheckResult("module", "skip", f"{name} generates no text; its weights are checked by `fit`"))
        return [*examine(Subject(resolved, None, data, environment, images)), *found]
    module = _tried(partial(_module, config), "load_report", found)
    with every_core(environment):
        return [*examine(Subject(resolved, module, data, environment, images)), *found]


def examined(config: Namespace, resolved: dict[str, Any], run: Path, *, refuse: bool) -> None:
    """Run the checks before a `fit`, print warnings and failures, and write the report to the run folder.

    A continued run is not checked again if nothing has changed since it passed.

    Raises:
        Refused: A check failed and `refuse` is set.
    """
    of = identity(resolved, dict(os.environ))
    if passed(Run(run).doctor, of):
        kept = Run(run).doctor
        print(f"doctor: unchanged since it passed; {kept} (remove this file to run the checks again)")
        return
    found = findings_of(config, resolved)
    write_checks(Run(run).doctor, found, of)
    shown = [f for f in found if f.level in ("warn", "fail")]
    print(f"doctor: {len(found)} checks, {len(failures(found))} failures; wrote {Run(run).doctor}")
    if shown:
        print(terminal_report(shown))
    if failures(found) and refuse:
        raise Refused(failures(found))


def identity(resolved: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Return a SHA-256 of everything the checks depend on: configuration, weights, records and launcher.

    Keys in `UNREAD`, loggers and the run's path are excluded. Weights and records are represented by the names, sizes
    and times of their files, so that no large file is read.
    """
    read = {k: v for k, v in resolved.items() if k not in UNREAD}
    read["trainer"] = {
        k: v for k, v in (resolved.get("trainer") or {}).items() if k not in ("default_root_dir", "logger")
    }
    read["saved"] = (resolved.get("checkpoint") or {}).get("every_n_train_steps")
    options = (resolved.get("model") or {}).get("init_args") or {}
    curated = str((resolved.get("data") or {}).get("curated") or "")
    named = [str(options.get("checkpoint") or ""), curated, f"{curated}/records"]
    launcher = [environment.get(name, "") for name in ("WORLD_SIZE", "CROSS_SIZE", "LOCAL_SIZE")]
    text = json.dumps([__version__, read, [_files(Path(folder)) for folder in named if folder], launcher], default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _files(folder: Path) -> list[tuple[str, int, int]]:
    found = sorted(file for file in folder.glob("*") if file.is_file()) if folder.is_dir() else []
    return [(file.name, (about := file.stat()).st_size, about.st_mtime_ns) for file in found]


@contextmanager
def every_core(environment: Mapping[str, str]) -> Iterator[None]:
    """Use all cores of this machine in the block, although a launcher has given each process only some of them.

    Only one process runs the checks; the others wait for it.
    """
    before = torch.get_num_threads()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if int(environment.get("WORLD_SIZE") or 1) > 1:
        torch.set_num_threads(max(before, cores))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def plain(parser: ArgumentParser, config: Namespace) -> dict[str, Any]:
    """Return a configuration as the plain values that are written to ``config.yaml``."""
    values: dict[str, Any] = parse_yaml(parser.dump(config, skip_validation=True, skip_unset=False))
    return values


def cause_of(error: BaseException) -> BaseException:
    """Return the `LmodError` among the causes of an error, or the error itself."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, LmodError):
        cause = cause.__cause__ or cause.__context__
    return cause or error


def _tried(build: Callable[[], Built], check: str, found: list[CheckResult]) -> Built | None:
    try:
        return build()
    except Exception as error:
        problem, _, cure = str(cause_of(error)).partition("\nNext: ")
        found.append(CheckResult(check, "fail", problem, WHY[check], cure or "correct what the message names"))
        return None


def _module(config: Namespace) -> VisionLanguageModel:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(VisionLanguageModel, "model", required=True)
    module: VisionLanguageModel = parser.instantiate(_part(config, "model")).model
    return module


def _data(config: Namespace, path: str) -> RecordsDataModule:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(resolve_name(path), "data")
    data: RecordsDataModule = parser.instantiate(_part(config, "data")).data
    data.setup("fit")
    return data


def _part(config: Namespace, name: str) -> Namespace:
    return Namespace(**{name: config[name]})  # type: ignore[no-untyped-call]
