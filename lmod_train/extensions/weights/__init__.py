"""Weights of other layouts, merged weights, and weights made whole of a delta."""

from lmod_train.core.extension import Extension

EXTENSION = Extension(
    name="weights",
    about="Convert and merge weights",
    commands={
        "weights convert": "lmod_train.extensions.weights.commands:convert",
        "weights merge": "lmod_train.extensions.weights.commands:merge",
        "weights apply-delta": "lmod_train.extensions.weights.commands:apply_delta",
    },
)
