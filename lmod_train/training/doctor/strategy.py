"""Check of strategy, devices, launcher and precision, from the configuration alone."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lmod_train.training.doctor.check_result import CheckResult
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
        why = "the launcher only starts processes; the strategy does the sharding (LLaVA issue 394)"
        cure = "use `--trainer deepspeed_zero2`, or start with `python -m lmod_train fit --config CONFIG` or torchrun"
        yield CheckResult("strategy", "fail", what, why, cure)
    elif started > 1 and name in SINGLE and devices_of(trainer) == 1 and trainer.get("num_nodes", 1) in (1, None):
        what = f"a launcher started {started} processes, each of which would train its own model on one device"
        why = "`deepspeed` and `torchrun` only start processes; they train one model only with a distributed strategy"
        cure = "set trainer.devices and trainer.strategy (configs/trainer/ddp.yaml, deepspeed_zero2.yaml, fsdp2.yaml)"
        yield CheckResult("strategy", "fail", what, why, cure)


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
        what = f"{name}: FSDP of version 1"
        why = (
            "it joins frozen and trained tensors into one flat tensor; the published LLaVA-Med command also starts "
            "`deepspeed` with it, and then neither of the two shards as intended"
        )
        yield CheckResult(
            "strategy", "fail", what, why, "use trainer: trainer/fsdp2.yaml or trainer/deepspeed_zero3.yaml"
        )


def _deepspeed(name: str, options: Mapping[str, Any]) -> Iterator[CheckResult]:
    """Check that DeepSpeed is installed, shards something, and does not replace the configured optimiser."""
    if importlib.util.find_spec("deepspeed") is None:
        why = "the strategy would stop the run at its start"
        yield CheckResult(
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
        why = "an optimiser or schedule in DeepSpeed's file overrides the configured learning rates and cosine schedule"
        yield CheckResult("strategy", "fail", what, why, "remove it from trainer.strategy.init_args.config")
    stage = options.get("stage", 2) if config is None else (config.get("zero_optimization") or {}).get("stage", 0)
    if not int(stage):
        what = f"{name}: ZeRO stage 0"
        why = "nothing is sharded: each device holds the whole model and the whole state of the optimiser"
        yield CheckResult(
            "strategy", "fail", what, why, "set zero_optimization.stage, or use trainer/deepspeed_zero2.yaml"
        )


def _file(path: str) -> tuple[Mapping[str, Any], list[CheckResult]]:
    """Return the settings of DeepSpeed's own JSON file; {} and a failure where it cannot be read."""
    try:
        read = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(read, dict):
            return read, []
        problem = f"a {type(read).__name__}, expected a JSON object"
    except (OSError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
    what = f"trainer.strategy.init_args.config={path}: {problem}"
    cure = "name a readable JSON file, or use trainer/deepspeed_zero2.yaml"
    return {}, [CheckResult("strategy", "fail", what, "the strategy would stop the run at its start", cure)]


def _precise(trainer: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[CheckResult]:
    precision = str(trainer.get("precision") or "32-true")
    dtype = ((config.get("model") or {}).get("init_args") or {}).get("dtype", "float32")
    if precision.startswith("16") or precision == "fp16":
        what = f"precision {precision} with {dtype} weights"
        why = "float16 overflows in large language models: logits become NaN without an error"
        yield CheckResult("strategy", "warn", what, why, "use bf16-mixed")
    if not trainer.get("gradient_clip_val"):
        why = "one unusual batch can make a fine-tuning diverge; published recipes clip the gradient norm at 1.0"
        yield CheckResult("strategy", "warn", "gradients are not clipped", why, "add `--trainer.gradient_clip_val 1.0`")


def _device(trainer: Mapping[str, Any]) -> Iterator[CheckResult]:
    if trainer.get("accelerator") in ("gpu", "cuda") and not torch.cuda.is_available():
        why = "the other checks ran on the CPU; `fit` needs the device"
        yield CheckResult("strategy", "warn", "no CUDA device is visible here", why, "run `fit` where there is one")
