"""Check of strategy, devices, launcher and precision, from the configuration alone."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lmod_train.core.raw import read_json
from lmod_train.training.doctor.check_result import CheckResult, problem
from lmod_train.training.doctor.subject import Subject

SINGLE = ("auto", "single_device", "")
"""Names of strategies that train on one device."""


def strategy(subject: Subject) -> Iterator[CheckResult]:
    """Check strategy, devices, precision and the launcher's environment variables; no process is started."""
    trainer: Mapping[str, Any] = subject.config.get("trainer") or {}
    name, options = strategy_of(trainer)
    problems = [
        *_launched(trainer, name, subject.environment),
        *_fsdp(name),
        *(_deepspeed(name, options) if "deepspeed" in name else ()),
        *_precise(trainer, subject.config),
        *_device(trainer),
    ]
    yield from problems
    if not any(r.level == "fail" for r in problems):
        devices, nodes = trainer.get("devices") or "auto", trainer.get("num_nodes") or 1
        what = f"{name or 'auto'}, devices {devices}, nodes {nodes}, precision {trainer.get('precision') or '32-true'}"
        yield CheckResult("strategy", "ok", what)


def strategy_of(trainer: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the strategy's name in lower case and its options; the configuration may name it or its class.

    Example:
        >>> strategy_of({"strategy": {"class_path": "a.b.DeepSpeedStrategy", "init_args": {"stage": 2}}})
        ('deepspeedstrategy', {'stage': 2})
        >>> strategy_of({"strategy": "ddp"}), strategy_of({})
        (('ddp', {}), ('auto', {}))
    """
    given = trainer.get("strategy") or "auto"
    if isinstance(given, Mapping):
        return str(given["class_path"]).rpartition(".")[2].lower(), given.get("init_args") or {}
    return str(given).lower(), {}


def _launched(trainer: Mapping[str, Any], name: str, environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield a failure where a launcher started several processes and the configured strategy would not join them."""
    started = int(environment.get("WORLD_SIZE", "1"))
    by_deepspeed = "CROSS_SIZE" in environment and "LOCAL_SIZE" in environment
    if by_deepspeed and "deepspeed" not in name:
        what = f"started by the `deepspeed` launcher, with the strategy {name}: DeepSpeed would not be used"
        yield problem("strategy.by_deepspeed", "fail", what)
    elif started > 1 and name in SINGLE and devices_of(trainer) == 1 and trainer.get("num_nodes", 1) in (1, None):
        what = f"a launcher started {started} processes, each of which would train its own model on one device"
        yield problem("strategy.launched", "fail", what)


def devices_of(trainer: Mapping[str, Any]) -> int:
    """Return the number of devices of each node that a configuration names, in any notation.

    Example:
        >>> [devices_of({"devices": given, "accelerator": "cpu"}) for given in (1, "4", [0, 1], "0,1", "auto", None)]
        [1, 4, 2, 2, 1, 1]
    """
    given = trainer.get("devices", "auto")
    if given in ("auto", -1, "-1", None):
        return 1 if trainer.get("accelerator") == "cpu" else max(torch.cuda.device_count(), 1)
    if isinstance(given, str) and "," in given:
        given = [device for device in given.split(",") if device.strip()]
    return len(given) if isinstance(given, Sequence) and not isinstance(given, str) else int(given)


def _fsdp(name: str) -> Iterator[CheckResult]:
    if "fsdp" in name and "modelparallel" not in name and "fsdp2" not in name:
        yield problem("strategy.fsdp", "fail", f"{name}: FSDP of version 1")


def _deepspeed(name: str, options: Mapping[str, Any]) -> Iterator[CheckResult]:
    """Check that DeepSpeed is installed, shards something, and does not replace the configured optimiser."""
    if importlib.util.find_spec("deepspeed") is None:
        yield problem("strategy.not_installed", "fail", f"{name}: deepspeed is not installed")
    config = options.get("config")
    if config is not None and not isinstance(config, Mapping):
        config, unread = _file(str(config))
        if unread:
            yield from unread
            return
    if config is not None and ("scheduler" in config or "optimizer" in config):
        what = f"{name}: its own config names {', '.join(k for k in ('optimizer', 'scheduler') if k in config)}"
        yield problem("strategy.own_config", "fail", what)
    stage = options.get("stage", 2) if config is None else (config.get("zero_optimization") or {}).get("stage", 0)
    if not int(stage):
        yield problem("strategy.stage", "fail", f"{name}: ZeRO stage 0")


def _file(path: str) -> tuple[Mapping[str, Any], list[CheckResult]]:
    """Return the settings of DeepSpeed's own JSON file; {} and a failure where it cannot be read."""
    try:
        read = read_json(Path(path))
        if isinstance(read, dict):
            return read, []
        wrong = f"a {type(read).__name__}, expected a JSON object"
    except (OSError, ValueError) as error:
        wrong = f"{type(error).__name__}: {error}"
    return {}, [problem("strategy.unread", "fail", f"trainer.strategy.init_args.config={path}: {wrong}")]


def _precise(trainer: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[CheckResult]:
    precision = str(trainer.get("precision") or "32-true")
    dtype = ((config.get("model") or {}).get("init_args") or {}).get("dtype", "float32")
    if precision.startswith("16") or precision == "fp16":
        yield problem("strategy.float16", "warn", f"precision {precision} with {dtype} weights")
    if not trainer.get("gradient_clip_val"):
        yield problem("strategy.no_clip", "warn", "gradients are not clipped")


def _device(trainer: Mapping[str, Any]) -> Iterator[CheckResult]:
    if trainer.get("accelerator") in ("gpu", "cuda") and not torch.cuda.is_available():
        yield problem("strategy.device", "warn", "no CUDA device is visible here")
