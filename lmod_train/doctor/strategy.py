"""Does the configuration shard what it says, once, and in a precision that fits?"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lmod_train.doctor.finding import Finding
from lmod_train.doctor.subject import Subject

ALONE = ("auto", "single_device", "")


def strategy(subject: Subject) -> Iterator[Finding]:
    """Read strategy, devices, precision and the launcher's variables; nothing is started."""
    trainer: Mapping[str, Any] = subject.config.get("trainer") or {}
    name, options = strategy_of(trainer)
    found = [
        *_launched(trainer, name, subject.environment),
        *_fsdp(name),
        *(_deepspeed(name, options) if "deepspeed" in name else ()),
        *_precise(trainer, subject.config),
        *_device(trainer),
    ]
    yield from found
    if not any(f.level == "fail" for f in found):
        devices, nodes = trainer.get("devices", "auto"), trainer.get("num_nodes", 1)
        said = f"{name or 'auto'}, devices {devices}, nodes {nodes}, precision {trainer.get('precision') or '32-true'}"
        yield Finding("strategy", "ok", said)


def strategy_of(trainer: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the strategy's name in small letters and its options, however it is written.

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


def _launched(trainer: Mapping[str, Any], name: str, environment: Mapping[str, str]) -> Iterator[Finding]:
    """A launcher started several processes and the Trainer would let each train alone, or DeepSpeed without it."""
    started = int(environment.get("WORLD_SIZE", "1"))
    by_deepspeed = "CROSS_SIZE" in environment and "LOCAL_SIZE" in environment
    if by_deepspeed and "deepspeed" not in name:
        what = f"started by the `deepspeed` launcher, with the strategy {name}: no engine of DeepSpeed would run"
        why = "the launcher only starts processes; what shards is the strategy (LLaVA issue 394)"
        cure = "use trainer/deepspeed_zero2.yaml, or start with `python -m lmod_train fit` or torchrun"
        yield Finding("strategy", "fail", what, why, cure)
    elif started > 1 and name in ALONE and _one_device(trainer) and trainer.get("num_nodes", 1) in (1, None):
        what = f"a launcher started {started} processes, each of which would train a model of its own on one device"
        why = "`deepspeed` and `torchrun` start processes; sharding begins where a strategy is configured"
        cure = "set trainer.devices and trainer.strategy (configs/trainer/ddp.yaml, deepspeed_zero2.yaml, fsdp2.yaml)"
        yield Finding("strategy", "fail", what, why, cure)


def _one_device(trainer: Mapping[str, Any]) -> bool:
    """Return whether the Trainer takes one device, in any of the ways to write it."""
    devices = trainer.get("devices", "auto")
    if devices in ("auto", -1, "-1", None):
        gpus = 0 if trainer.get("accelerator") == "cpu" else torch.cuda.device_count()
        return gpus < 2
    if isinstance(devices, str) and "," in devices:
        devices = [device for device in devices.split(",") if device.strip()]
    return (len(devices) if isinstance(devices, Sequence) and not isinstance(devices, str) else int(devices)) == 1


def _fsdp(name: str) -> Iterator[Finding]:
    if "fsdp" in name and "modelparallel" not in name and "fsdp2" not in name:
        what = f"{name}: fully sharded data parallel of the first kind"
        why = (
            "it joins frozen and trained tensors into flat ones; together with a second sharding system (the published "
            "command starts `deepspeed` and asks for FSDP) neither engine does what was meant"
        )
        yield Finding("strategy", "fail", what, why, "use trainer: trainer/fsdp2.yaml or trainer/deepspeed_zero3.yaml")


def _deepspeed(name: str, options: Mapping[str, Any]) -> Iterator[Finding]:
    """Read its options, or its own file: the engine is there, shards something, and takes our schedule."""
    if importlib.util.find_spec("deepspeed") is None:
        why = "the strategy would stop the run at its start"
        yield Finding(
            "strategy", "fail", f"{name}: deepspeed is not installed", why, "pip install 'lmod-train[deepspeed]'"
        )
    config = options.get("config")
    if config is not None and not isinstance(config, Mapping):
        config, unread = _file(str(config))
        if unread:
            yield from unread
            return
    if config is not None and ("scheduler" in config or "optimizer" in config):
        what = f"{name}: its own config names {', '.join(k for k in ('optimizer', 'scheduler') if k in config)}"
        why = "an optimiser or schedule in DeepSpeed's file wins over the learning rates and the cosine configured here"
        yield Finding("strategy", "fail", what, why, "take it out of trainer.strategy.init_args.config")
    stage = options.get("stage", 2) if config is None else (config.get("zero_optimization") or {}).get("stage", 0)
    if not int(stage):
        what = f"{name}: ZeRO stage 0"
        why = "nothing is spread over the devices: each holds the whole model and the whole state of its optimiser"
        yield Finding("strategy", "fail", what, why, "set zero_optimization.stage, or use trainer/deepspeed_zero2.yaml")


def _file(path: str) -> tuple[Mapping[str, Any], list[Finding]]:
    """Return what DeepSpeed's own file says; nothing, and a finding, where it cannot be read."""
    try:
        read = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(read, dict):
            return read, []
        problem = f"a {type(read).__name__}, not a table of settings"
    except (OSError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
    what = f"trainer.strategy.init_args.config={path}: {problem}"
    cure = "name a readable JSON file, or use trainer/deepspeed_zero2.yaml"
    return {}, [Finding("strategy", "fail", what, "the strategy would stop the run at its start", cure)]


def _precise(trainer: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[Finding]:
    precision = str(trainer.get("precision") or "32-true")
    dtype = ((config.get("model") or {}).get("init_args") or {}).get("dtype", "float32")
    if precision.startswith("16") or precision == "fp16":
        what = f"precision {precision} with {dtype} weights"
        why = "half precision overflows in large language models; scores become NaN without an error"
        yield Finding("strategy", "warn", what, why, "use bf16-mixed")
    if not trainer.get("gradient_clip_val"):
        why = "one strange batch can throw a fine-tuning off; every published recipe that clips, clips at 1.0"
        yield Finding("strategy", "warn", "gradients are not clipped", why, "add `--trainer.gradient_clip_val 1.0`")


def _device(trainer: Mapping[str, Any]) -> Iterator[Finding]:
    if trainer.get("accelerator") in ("gpu", "cuda") and not torch.cuda.is_available():
        why = "the rest was looked at on the CPU; `fit` needs the device"
        yield Finding("strategy", "warn", "no CUDA device is visible here", why, "run `fit` where there is one")
