"""What is known of each family of vision-language models: one file for each `model_type` of transformers.

One code path serves all families; where they differ, they differ in what these files state. The file of a family is
found by its name, so a new family is a new file here.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from lmod_train.chat.family.base import Family
from lmod_train.errors import BadArgument

MODEL_TYPES = tuple(sorted(file.name for file in iter_modules(__path__) if file.name != "base"))
"""The `model_type` of every config.json that is understood: the files of this folder."""


def family_class(model_type: str) -> type[Family]:
    """Return the class in the file of a `model_type`.

    Raises:
        BadArgument: The model_type has no file.
    """
    if model_type not in MODEL_TYPES:
        expected = f"one of {', '.join(MODEL_TYPES)}"
        raise BadArgument("model_type", model_type, expected, "name a checkpoint of one of these families")
    stated: type[Family] = import_module(f"{__name__}.{model_type}").FAMILY
    return stated


def family_of(network: Any) -> Family:
    """Return the facts of a network, or of its configuration.

    Args:
        network: A `...ForConditionalGeneration` of transformers, or its `config`.

    Raises:
        BadArgument: Its model_type is not one of `MODEL_TYPES`.
    """
    config = getattr(network, "config", network)
    return family_class(config.model_type)(config)
