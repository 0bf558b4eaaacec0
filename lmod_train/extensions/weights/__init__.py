"""Weights of other layouts, merged weights, and weights made whole of a delta."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="weights",
    about="Weights converted to the layout of transformers, or merged",
    commands={
        "weights convert": "lmod_train.extensions.weights.commands:convert",
        "weights merge": "lmod_train.extensions.weights.commands:merge",
        "weights apply-delta": "lmod_train.extensions.weights.commands:apply_delta",
    },
)
