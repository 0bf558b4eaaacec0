"""Which families a quick run tries where the slow tests try all of them.

Replies, losses and gradients of records with several images are compared with transformers' for every family in
`test_several_images`, which is quick. What else is tried on a network needs one family for each way in which they
differ: attention in windows and in both directions (Gemma 3), tiles with a mask of their pixels (Idefics3), another
image beside others than alone and a parameter at the end of lines (LLaVA-OneVision), and positions on three axes with
features of several layers (Qwen3-VL). Two of them are enough where a batch is compared with its records alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.families import MODEL_TYPES

FEW = ("gemma3", "idefics3", "llava_onevision", "qwen3_vl")
TWO = ("gemma3", "qwen3_vl")


def few(quick: Sequence[str] = FEW, every: Sequence[str] = MODEL_TYPES) -> list[Any]:
    """Return all families; those beyond `quick` are marked slow."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in every]


some_kin = pytest.mark.parametrize("kin", few(), indirect=True)
two_kin = pytest.mark.parametrize("kin", few(TWO), indirect=True)
