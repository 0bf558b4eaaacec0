"""From a parsed configuration of `fit` to what the doctor finds: module and data are built apart, as each can fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import yaml
from jsonargparse import ArgumentParser, Namespace

from lmod_train.datamodules.records import RecordsDataModule
from lmod_train.doctor.examine import WHY, examine
from lmod_train.doctor.finding import FILE, Finding, Refused, failures, table, write
from lmod_train.doctor.subject import Subject
from lmod_train.errors import LmodError
from lmod_train.modules.conversation import Conversation

Built = TypeVar("Built")


def findings_of(config: Namespace, resolved: dict[str, Any]) -> list[Finding]:
    """Examine the training that a configuration describes; nothing of it is started or changed.

    Args:
        config: As `fit` parsed it, classes not instantiated.
        resolved: The same as plain values.
    """
    found: list[Finding] = []
    data = _tried(partial(_data, config), "records", found)
    environment, images = dict(os.environ), config.doctor.images
    room, _, name = str(config.model.class_path).rpartition(".")
    if not issubclass(getattr(import_module(room), name), Conversation):
        found.append(Finding("module", "skip", f"{name} writes no text: its weights are checked as it loads"))
        return [*examine(Subject(resolved, None, data, environment, None, images)), *found]
    build = partial(_module, config)
    module = _tried(build, "load_report", found)
    return [*examine(Subject(resolved, module, data, environment, build, images)), *found]


def examined(config: Namespace, resolved: dict[str, Any], run: Path, *, refuse: bool) -> None:
    """Examine before a `fit`, print what is not well, and keep the report in the run folder.

    Raises:
        Refused: A check failed, and `refuse` is set.
    """
    found = findings_of(config, resolved)
    write(run / FILE, found)
    shown = [f for f in found if f.level in ("warn", "fail")]
    print(f"doctor: {len(found)} findings, {len(failures(found))} failures; {run / FILE}")
    if shown:
        print(table(shown))
    if failures(found) and refuse:
        raise Refused(failures(found))


def plain(parser: ArgumentParser, config: Namespace) -> dict[str, Any]:
    """Return a configuration as plain values, as it is written to ``config.yaml``."""
    values: dict[str, Any] = yaml.safe_load(parser.dump(config, skip_validation=True))
    return values


def cause_of(error: BaseException) -> BaseException:
    """Return the error of ours that a parser has wrapped, or the error itself."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, LmodError):
        cause = cause.__cause__ or cause.__context__
    return cause or error


def _tried(build: Callable[[], Built], check: str, found: list[Finding]) -> Built | None:
    try:
        return build()
    except Exception as error:
        said, _, cure = str(cause_of(error)).partition("\nNext: ")
        found.append(Finding(check, "fail", said, WHY[check], cure or "mend what the message names"))
        return None


def _module(config: Namespace) -> Conversation:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(Conversation, "model", required=True)
    module: Conversation = parser.instantiate(_part(config, "model")).model
    return module


def _data(config: Namespace) -> RecordsDataModule:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(RecordsDataModule, "data")
    data: RecordsDataModule = parser.instantiate(_part(config, "data")).data
    data.setup("fit")
    return data


def _part(config: Namespace, name: str) -> Namespace:
    return Namespace(**{name: config[name]})  # type: ignore[no-untyped-call]
