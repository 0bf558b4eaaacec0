"""GPU memory of a model by arithmetic."""

from __future__ import annotations

from lmod_train.core.artifacts.model_facts import ModelFacts

BYTES = 2
"""Bytes of a value in bfloat16."""

QUESTIONS, TEXT = 8, 1024
"""Number of questions that are answered at once, and tokens of each beside its image: 512 of prompt, 512 of reply."""


def gpu_memory(model: ModelFacts) -> float | None:
    """Return the memory of weights and key-value cache in GB (10^9 bytes); None if parameters or cache are unknown.

    The cache holds keys and values of `QUESTIONS` sequences, each with one image of 1024 x 1024 pixels. Activations,
    the vision tower's above all, and the libraries' own memory come on top; sliding windows need less.
    """
    if model.parameters is None or model.cache is None or model.tokens is None:
        return None
    values = 2 * model.cache.layers * model.cache.heads * model.cache.width
    cache = QUESTIONS * (model.tokens + TEXT) * values * BYTES
    return model.parameters * BYTES + cache / 1e9
