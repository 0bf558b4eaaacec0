"""What a command lacks (data, weights, GPU, key, disk), all in one list before torch is imported."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmod_train.cli.model_weights import check_model_weights, model_of
from lmod_train.cli.typed import CONFIGS, options
from lmod_train.core.artifacts.manifest import read_manifest
from lmod_train.core.errors import BadArgument, LmodError, MissingPieces

GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/nvhost-gpu")
"""Devices of the drivers of GPUs: NVIDIA's, AMD's, Windows' in WSL, and Jetson's."""

SMALLEST = 1 << 30
"""Bytes that must be free where a run is written: replies, logs, and the checkpoints of small models."""

OPENAI = "lmod_train.models.backends.openai.OpenAI"


def check_pieces(command: str, arguments: Sequence[str], given: Mapping[str, Any], weights: bool = True) -> None:
    """Refuse a command that lacks something, with the next command for each of its pieces.

    Args:
        command: The command. `doctor` reports what it finds, and is refused only without data.
        arguments: The arguments after the command.
        given: Option -> its last value, of configs and typed ones.
        weights: Whether the weights of the model are needed.

    Raises:
        BadArgument: Nothing says what to run.
        LmodError: The only piece that is missing, or a list of several (`MissingPieces`).
    """
    heads = {option.key if option.key in CONFIGS else option.key.partition(".")[0] for option in options(arguments)}
    if not heads & {*CONFIGS, "model", "data"}:
        cure = f"`python -m lmod_train {command} --config quickstart`; `python -m lmod_train list configs` lists all"
        raise BadArgument("--config", "", "the name of a config, or a file", cure)
    checks: dict[str, Callable[[], object]] = {
        "data": lambda: _check_data(given),
        "weights": lambda: check_model_weights(arguments) if weights else None,
        "GPU": lambda: check_gpu(str(given.get("trainer.accelerator", "auto"))),
        "key": lambda: _check_key(model_of(arguments)),
        "disk": lambda: _check_disk(Path(str(given.get("run") or "runs"))),
    }
    missing = dict(_missing(checks))
    if command == "doctor" and "data" not in missing:
        return
    if len(missing) == 1:
        raise next(iter(missing.values()))
    if missing:
        raise MissingPieces(missing)


def _missing(checks: Mapping[str, Callable[[], object]]) -> Iterator[tuple[str, LmodError]]:
    for name, check in checks.items():
        try:
            check()
        except LmodError as error:
            yield name, error


def _check_data(given: Mapping[str, Any]) -> None:
    if curated := given.get("data.curated"):
        read_manifest(Path(str(curated)))


def check_gpu(accelerator: str, seen: bool | None = None) -> None:
    """Refuse an accelerator that this machine does not have.

    Args:
        accelerator: As Lightning names it.
        seen: Whether a device is visible; None to look for the driver's.

    Raises:
        BadArgument: It is a GPU, and there is none.
    """
    found = any(Path(device).exists() for device in GPUS) if seen is None else seen
    if accelerator in ("gpu", "cuda") and not found:
        expected = "another accelerator, as no CUDA device is visible on this machine"
        cure = (
            "run it on a machine with a GPU; to try the configuration here add `--trainer.accelerator cpu "
            "--trainer.strategy auto` and a small model, e.g. `--model configs/model/small_base_lora.yaml`"
        )
        raise BadArgument("trainer.accelerator", accelerator, expected, cure)


def _check_key(model: Mapping[str, Any]) -> None:
    """Refuse a service outside the own network without a key."""
    if model.get("model.backend.class_path") != OPENAI:
        return
    from lmod_train.models.backends.endpoint.address import checked, route_to
    from lmod_train.models.backends.endpoint.key import Key

    urls = model.get("model.backend.base_url", "https://api.openai.com/v1")
    key = Key(str(model.get("model.backend.key_variable", "OPENAI_API_KEY")))
    for url in urls if isinstance(urls, list) else [urls]:
        key.refuse_in("base_url", str(url))  # typed in its place, it would be printed
        if route_to(checked(str(url))).leaves():
            key.required(str(url))


def _check_disk(run: Path) -> None:
    """Refuse a disk without room for a run, which would end with an error after hours."""
    place = next(folder for folder in (run.absolute(), *run.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(place).free
    if free < SMALLEST:
        expected = f"a folder on a disk with {SMALLEST >> 20} MiB free, and {free >> 20} MiB are"
        raise BadArgument("--run", str(run), expected, "free some, or name one on another disk: `--run RUN`")
