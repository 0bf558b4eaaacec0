"""The configuration of a run folder: written by its first command, compared by those that continue it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, get_args, get_type_hints

from lightning_utilities.core.rank_zero import rank_zero_only

from lmod_train.core.artifacts.run import Run
from lmod_train.core.artifacts.series import is_member, members
from lmod_train.core.errors import BadArgument, FolderBusy, RunConflict
from lmod_train.core.files import sweep
from lmod_train.core.links import refuse_links
from lmod_train.core.lock import locked, shared
from lmod_train.core.package_data import package_data

VOLATILE: tuple[str, ...] = tuple(package_data(__file__, "texts.yaml")["volatile"])
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
            _refuse_links(run)
            for folder in (run, Run(run).checkpoints, Run(run).replies):
                sweep(folder, older=0)  # of a killed command, as no other holds the folder
            settle(run, resolved, command, defaults)
            yield
        return
    with suppress(FolderBusy), locked(run, "--run"):
        settle(run, resolved, command, defaults)
    with shared(run, "--run", WAIT), locked(Run(run).lock_of(shard), "data.shard"):
        _refuse_links(run)
        compare(run, resolved, command, defaults=defaults)
        yield


def _refuse_links(run: Path) -> None:
    """Refuse a run whose folders are links before a model is loaded; PyTorch Lightning follows those of checkpoints.

    Raises:
        LinkInFolder: One is.
    """
    for folder in (Run(run).replies, Run(run).checkpoints):
        refuse_links(folder)


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
        alone = {"shard": ""} if "shard" in resolved["data"] else {}
        Run(run).write_config({**resolved, "data": {**resolved["data"], **alone}})


@rank_zero_only
def compare(
    run: Path,
    resolved: Mapping[str, Any],
    command: str,
    may_change: tuple[str, ...] = (),
    defaults: Mapping[str, Any] | None = None,
) -> None:
    """Compare a configuration with the ``config.yaml`` of a run.

    An option that an earlier version of the package did not have is no difference where it has its default.

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
    changed = [k for k in sorted(was.keys() | now.keys()) if was.get(k) != now.get(k) and not _is_below(k, free)]
    usual = dict(_flat(defaults or {}))
    left_out = [k for k, value in was.items() if value is None]
    new = {k for k in changed if k not in was and not _is_below(k, left_out)}
    same = {k for k in new if (usual[k] == now.get(k) if k in usual else _is_default(k, now))}
    differing = [k for k in changed if k not in same]
    if differing:
        raise RunConflict(run, [f"{k}: {was.get(k)!r} -> {now.get(k)!r}" for k in differing])


def training_settings(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return dotted key -> value of the settings that change a training; folders of data are not among them."""
    free = (*VOLATILE, "data.curated", "data.replay_from")
    parts = {name: resolved.get(name) for name in ("data", "model", "seed_everything", "trainer")}
    return {key: value for key, value in _flat(parts) if not _is_below(key, free)}


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
    return path is not None and key in values and values[key] in list(_defaults(resolve_name(path), name.split(".")))


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


SHORTEST = 12
"""Minimum length of a secret in characters; shorter values such as ``EMPTY`` are placeholders."""

UNBROKEN = 16
"""Minimum number of letters and digits without a separator in a key by its form; names are rarely as long."""

_SECRET = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
"""Names of environment variables that hold secrets, such as ``OPENAI_API_KEY``, ``HF_TOKEN`` and ``WANDB_API_KEY``."""

_KEY = re.compile(r"(?<![A-Za-z0-9])(?:sk|hf|gsk|xai|pplx|r8|ghp|nvapi)[-_]([A-Za-z0-9_-]{16,})")
"""Forms of the keys of OpenAI, Anthropic, Hugging Face, Groq, xAI, Perplexity, Replicate, GitHub and NVIDIA."""

_CERTAIN = re.compile(r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{30,}|\bBearer\s+(?=\S*\d)[^\s<>{}$]{16,}", re.IGNORECASE)
"""Forms that names of folders and runs do not have: keys of Google, and the header with a key of any service."""

_HOLDS_KEY = re.compile(r"(?:x[-_])?api[-_]?key|authorization|password|(?:access|auth|hf)[-_]token", re.IGNORECASE)
"""Names of options and fields whose value is a key in any form."""


def refuse_secrets(config: Mapping[str, Any]) -> None:
    """Refuse a configuration that contains a key.

    Args:
        config: Resolved configuration of a command, before it is written.

    Raises:
        BadArgument: A value contains a key by its form or by the name of its field, or the value of an environment
            variable that holds a secret. The error does not contain it.
    """
    known = [v.strip() for k, v in os.environ.items() if _SECRET.search(k) and len(v.strip()) >= SHORTEST]
    for option, text in _texts(config, ""):
        if _has_key(text) or _is_key(option, text) or any(secret in text for secret in known):
            expected = "a value without an API key, as the configuration is stored with the run"
            cure = (
                "`export OPENAI_API_KEY=...`, and remove the key here; another variable is named by "
                "`--model.backend.key_variable`"
            )
            raise BadArgument(option.replace("init_args.", ""), "(not shown)", expected, cure)


def _has_key(text: str) -> bool:
    """Return whether a text contains a key by its form.

    Example:
        >>> _has_key("Bearer sk-proj-9aF3kQ0zLm27XyTb41"), _has_key("runs/hf_llava_next_mistral_7b_finetuned")
        (True, False)
    """
    tails = [found[1] for found in _KEY.finditer(text)]
    random = any(_is_random(part) for tail in tails for part in re.split("[-_]", tail))
    return random or bool(_CERTAIN.search(text)) or any(len(tail) >= 48 and _is_mixed(tail, 0.5) for tail in tails)


def _is_key(option: str, text: str) -> bool:
    """Return whether a value is a key by the name of its field."""
    return len(text) >= SHORTEST and bool(_HOLDS_KEY.fullmatch(option.rpartition(".")[2]))


def _is_random(part: str) -> bool:
    """Return whether letters and digits without a separator are those of a key, and not words, versions and dates."""
    kinds, changes = _kinds(part), _changes(part)
    if len(part) < UNBROKEN:
        return False
    if {"a", "A"} <= set(kinds) and (len(part) >= 30 or kinds.count("0") >= 6):
        return True
    return _is_mixed(part) or sum("0" in change for change in changes) >= 6


def _is_mixed(text: str, share: float = 0.4) -> bool:
    """Return whether small letters, capitals and digits alternate more often than in names; separators are left out."""
    return len(_changes(text)) >= share * len(text)


def _kinds(text: str) -> str:
    """Return ``0``, ``A`` or ``a`` for each digit, capital and small letter of a text."""
    return "".join("0" if c.isdigit() else "A" if c.isupper() else "a" for c in text if c.isalnum())


def _changes(text: str) -> list[str]:
    """Return the pairs of different kinds that follow one another."""
    return [a + b for a, b in itertools.pairwise(_kinds(text)) if a != b]


def _texts(value: Any, option: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a configuration, keys of mappings too, with the option that holds it."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield option, str(name)
            yield from _texts(part, f"{option}.{name}" if option else str(name))
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from _texts(part, option)
    elif value is not None and not isinstance(value, bool | int | float):
        yield option, str(value)
