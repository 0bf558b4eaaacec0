"""The configuration of a run folder: written by its first command, compared by those that continue it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, get_args, get_type_hints

from lightning_utilities.core.rank_zero import rank_zero_only

from lmod_train.cli.secrets import refuse_secrets
from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import is_member, members
from lmod_train.core.errors import FolderBusy, RunConflict
from lmod_train.core.lock import locked, shared

VOLATILE = (
    "config", "run", "trust", "against", "data.shard", "provenance", "ckpt_path", "trainer.default_root_dir",
    "checkpoint.dirpath", "checkpoint.save_top_k", "checkpoint.enable_version_counter", "trainer.logger", "doctor",
    "read_back",
    *(f"model.init_args.backend.init_args.{name}"
      for name in ("pace", "budget", "replicas", "key_variable", "send_sources")),
    "trainer.enable_model_summary", "trainer.enable_progress_bar", "trainer.log_every_n_steps", "verbose", "data.run",
    "evaluation.encoders", "data.sample",
)  # fmt: skip
"""Keys that may change when a run is continued: where it is stored, what it keeps and logs, and how it is started."""

PLACEMENT = (
    "data.eval_batch_size", "data.max_questions", "data.workers", "trainer.devices", "trainer.num_nodes",
)  # fmt: skip
"""Keys of where and in what batches records are asked, which may change when an evaluation is continued."""

OF_A_MEMBER = ("seed_everything", "data.seed", "data.fold", "weights")
"""Keys in which the runs of one series differ."""

ASKING = "data.asking"
"""Key of the ways in which questions are asked. They may change, as each reply is stored with what was asked, but not
while other processes write to the run."""

WAIT = 600.0
"""Seconds that a shard waits for one that computes the scores of the run."""


@contextmanager
def settled(
    run: Path, resolved: dict[str, Any], command: str, defaults: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Hold a run folder in the block, once its configuration is written or found to be equal.

    A command holds the folder alone. Commands with a shard share it: the first that finds it free writes the
    configuration, the others compare theirs.

    Args:
        run: Folder of the run.
        resolved: Configuration of the command, with all defaults.
        command: `fit`, `validate`, `test` or `predict`.
        defaults: The command's defaults, see `compare`.

    Raises:
        RunConflict: The folder belongs to a run with another configuration, or to a series of such runs.
        FolderBusy: Another process holds the folder, or the shard.
        BadArgument: The configuration contains an API key.
    """
    refuse_secrets(resolved)
    _compare_series(run, resolved, command, defaults)
    shard = str(resolved["data"].get("shard") or "")
    if not shard or command == "fit":  # which the datamodule refuses
        with locked(run, "--run"):
            settle(run, resolved, command, defaults)
            yield
        return
    with suppress(FolderBusy), locked(run, "--run"):
        settle(run, resolved, command, defaults)
    with shared(run, "--run", WAIT), locked(Run(run).lock_of(shard), "data.shard"):
        compare(run, resolved, command, defaults=defaults)
        yield


@rank_zero_only
def settle(run: Path, resolved: Mapping[str, Any], command: str, defaults: Mapping[str, Any] | None = None) -> None:
    """Write ``config.yaml``, or compare it with an existing one, which is overwritten if the run has no results.

    Raises:
        RunConflict: The folder belongs to a run with other values.
    """
    replied = any(file.stat().st_size for file in Run(run).replies.glob("*.jsonl"))
    if Run(run).config.exists() and (replied or Run(run).checkpoints.exists()):
        compare(run, resolved, command, (ASKING,), defaults)
        _write_asking(run, resolved["data"].get("asking"))
    else:
        Run(run).write_config({**resolved, "data": {**resolved["data"], "shard": ""}})


@rank_zero_only
def compare(
    run: Path,
    resolved: Mapping[str, Any],
    command: str,
    may_change: tuple[str, ...] = (),
    defaults: Mapping[str, Any] | None = None,
) -> None:
    """Compare a configuration with the ``config.yaml`` of a run.

    An option that an earlier version did not have is no difference where it has its default.

    Args:
        run: Folder of the run.
        resolved: Configuration of the command, with all defaults.
        command: `fit`, `validate`, `test` or `predict`.
        may_change: Further keys that may differ.
        defaults: Configuration of the command without any options; the defaults of chosen classes are read from these.

    Raises:
        RunConflict: Values differ that may not change when a run is continued.
    """
    was, now = dict(_flat(Run(run).read_config())), dict(_flat(resolved))
    free = (*VOLATILE, *may_change) if command == "fit" else (*VOLATILE, *PLACEMENT, *may_change)
    changed = (k for k in sorted(was.keys() | now.keys()) if was.get(k) != now.get(k) and not _is_below(k, free))
    usual = dict(_flat(defaults or {}))
    differing = [k for k in changed if k in was or not (usual[k] == now[k] if k in usual else _is_default(k, now))]
    if differing:
        raise RunConflict(run, [f"{k}: {was.get(k)!r} -> {now.get(k)!r}" for k in differing])


@rank_zero_only
def _compare_series(run: Path, resolved: Mapping[str, Any], command: str, defaults: Mapping[str, Any] | None) -> None:
    """Compare a configuration with those of the other runs of its series, whose scores become one mean.

    Raises:
        RunConflict: Values differ beside those that a seed or a fold sets.
    """
    others = members(run.parent) if is_member(run) else []
    for other in others:
        if other != run and Run(other).config.exists():
            compare(other, resolved, command, (ASKING, *OF_A_MEMBER), defaults)


def _write_asking(run: Path, asking: Mapping[str, Any] | None) -> None:
    """Write the present ways of asking to ``config.yaml``."""
    config = Run(run).read_config()
    data = config.get("data") or {}
    if data.get("asking") != asking:
        Run(run).write_config({**config, "data": {**data, "asking": asking}})


def _is_default(key: str, values: Mapping[str, Any]) -> bool:
    """Return whether an option of a chosen class has its default, as one that an earlier version did not have."""
    owner, _, name = key.rpartition(".init_args.")
    path = values.get(f"{owner}.class_path")
    return path is not None and values[key] in list(_defaults(resolve_name(path), name.split(".")))


def _defaults(kind: Any, names: list[str]) -> Iterator[Any]:
    """Yield the defaults of an option of a class, or of an option within its options, as plain values.

    For an option of a dataclass these are the value in the default of that dataclass, and the dataclass's own default:
    which of them applies depends on what else is given.
    """
    name, *inner = names
    parents = [c for c in getattr(kind, "__mro__", [kind]) if name in signature(c).parameters]
    if not parents:  # also through **options of a parent
        return
    default = signature(parents[0]).parameters[name].default
    if not inner:
        yield _plain(default)
        return
    given = _plain(default)
    for step in inner:
        given = given.get(step, Parameter.empty) if isinstance(given, Mapping) else Parameter.empty
    yield given
    annotated = get_type_hints(parents[0].__init__).get(name)
    for inside in (annotated, *get_args(annotated)):
        if is_dataclass(inside):
            yield from _defaults(inside, inner)


def _plain(value: Any) -> Any:
    """Return a value as it stands in a configuration: mappings, lists, texts and numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return str(value) if isinstance(value, Path) else value


def _is_below(key: str, paths: Iterable[str]) -> bool:
    """Return whether a key is one of the paths or lies below one."""
    return any(key == path or key.startswith(f"{path}.") for path in paths)


def _flat(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, value) for every leaf of nested mappings and lists of classes."""
    if isinstance(tree, list) and any(isinstance(item, Mapping) and "class_path" in item for item in tree):
        tree = dict(enumerate(tree))
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, tree
