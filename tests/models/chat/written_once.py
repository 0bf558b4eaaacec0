"""Tiny checkpoints as `tests.families` and `tests.other_classes` write them, made once a process and then copied."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from tests import families, other_classes


def write_tiny(folder: Path, model_type: str, seed: int = 0, **text: Any) -> Path:
    """Save a random checkpoint of a family in an existing folder, and return the folder; see `families.write_tiny`."""
    return _copied(folder, families.write_tiny, model_type, seed, text)


def write_other(folder: Path, model_type: str, seed: int = 0, **text: Any) -> Path:
    """Save a random checkpoint of a class that is no family, and return its folder."""
    if model_type == "llama4" and transformers.__version__ == "5.24.0":
        pytest.skip("Llama4ForConditionalGeneration of transformers 5.24.0 raises AttributeError: image_outputs")
    return _copied(folder, other_classes.write_other, model_type, seed, text)


def _copied(folder: Path, write: Callable[..., Path], model_type: str, seed: int, text: dict[str, Any]) -> Path:
    made, state = _made(write, model_type, seed, tuple(sorted(text.items())))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    torch.set_rng_state(state)  # what a test draws next is what it would draw after making it
    return folder


@functools.cache
def _made(write: Callable[..., Path], model_type: str, seed: int, text: tuple[Any, ...]) -> tuple[Path, torch.Tensor]:
    made = write(Path(tempfile.mkdtemp(dir=_place().name)), model_type, seed, **dict(text))
    return made, torch.get_rng_state()


@functools.cache
def _place() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tiny-checkpoints-")
