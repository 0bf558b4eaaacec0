"""Reading of the files of a checkpoint beside its weights, with errors that name the file to fetch again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from transformers import AutoConfig, AutoProcessor

from lmod_train.chat import timm_tower
from lmod_train.chat.family.base import Family
from lmod_train.errors import WeightsMismatch, WeightsNotFound

SETTINGS = (
    "config.json", "generation_config.json", "processor_config.json", "preprocessor_config.json",
    "tokenizer_config.json", "model.safetensors.index.json",
)  # fmt: skip
"""JSON files of a checkpoint that each hold an object; transformers ignores a generation_config.json that is broken."""


def check_settings(checkpoint: str, folder: Path) -> None:
    """Check that the settings of a checkpoint can be read.

    Args:
        checkpoint: Name of the checkpoint in the error.
        folder: Its folder.

    Raises:
        WeightsNotFound: One of its files in `SETTINGS` is not a JSON object.
    """
    for file in (folder / name for name in SETTINGS if (folder / name).is_file()):
        try:
            if not isinstance(json.loads(file.read_text(encoding="utf-8")), dict):
                raise ValueError("it holds no JSON object")
        except ValueError as error:  # UnicodeDecodeError and JSONDecodeError too
            raise _damaged(checkpoint, file, error) from error


def check_weights(checkpoint: str, folder: Path) -> None:
    """Check that every safetensors file of a checkpoint is as long as its header states.

    Args:
        checkpoint: Name of the checkpoint in the error.
        folder: Its folder.

    Raises:
        WeightsNotFound: One is cut off, empty, or a pointer of Git LFS.
    """
    for file in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(file, framework="pt"):  # reads the header only
                pass
        except SafetensorError as error:
            raise _damaged(checkpoint, file, error) from error


def _damaged(checkpoint: str, file: Path, error: Exception) -> WeightsNotFound:
    cure = f"fetch {file.name} again: a download that was cut off, or a pointer of Git LFS, reads like this"
    return WeightsNotFound("checkpoint", checkpoint, f"{file} cannot be read ({short(error)})", cure)


def config_of(folder: Path) -> Any:
    """Return the configuration of a checkpoint.

    Raises:
        WeightsMismatch: transformers cannot read it.
        BadArgument: It names a tower of timm that does not exist or has another size.
    """
    timm_tower.register(folder)
    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers raises errors of many types
        raise _unread(folder, "config.json", error) from error


def processor_of(folder: Path) -> Any:
    """Return the processor of a checkpoint.

    Raises:
        WeightsMismatch: A file of it is missing, or transformers cannot read it.
    """
    try:
        return AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers raises errors of many types, by the file that is missing
        raise _unread(folder, "files of processor and tokenizer", error) from error


def prepare(family: Family, processor: Any, folder: Path) -> None:
    """Let a family prepare the processor of a checkpoint.

    Raises:
        WeightsMismatch: It is a processor of another class.
    """
    try:
        family.prepare(processor)
    except AttributeError as error:
        found, expected = type(processor).__name__, "a processor of the class that config.json states"
        cure = "use the config.json and the processor files that were published with these weights"
        raise WeightsMismatch(str(folder), [expected], [found], cure) from error


def _unread(folder: Path, what: str, error: Exception) -> WeightsMismatch:
    missing = f"{what} that transformers reads ({short(error)})"
    cure = f"copy the files that were published with these weights (*.json, *.jinja, *.model, *.txt) to {folder}"
    return WeightsMismatch(str(folder), [missing], [], cure)


def short(error: Exception) -> str:
    """Return type and text of an error, at most 160 characters of it."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}{'...' if len(text) > 160 else ''}"
