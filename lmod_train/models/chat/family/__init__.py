"""Facts about each family of vision-language models, in one file for each `model_type` of transformers.

All families share one code path and differ only in the facts stated in these files. The file of a family is found by
its name; a new family is a new file here, or a class in a user's own module that the option `family` of a model names.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from lmod_train.core.errors import BadArgument
from lmod_train.models.chat.family.base import Family

MODEL_TYPES = tuple(sorted(file.name for file in iter_modules(__path__) if file.name != "base"))
"""The supported values of `model_type` in config.json: the names of the files in this folder."""


def family_class(model_type: str) -> type[Family]:
    """Return the family of a `model_type`: an imported class of that `model_type`, otherwise that of its file here.

    Raises:
        BadArgument: There is neither of them.
    """
    if own := [kind for kind in _descendants(Family) if kind.model_type == model_type]:  # type: ignore[type-abstract]
        return own[-1]
    if model_type not in MODEL_TYPES:
        expected = f"one of {', '.join(MODEL_TYPES)}"
        raise BadArgument("model_type", model_type, expected, "name a checkpoint of one of these families")
    stated: type[Family] = import_module(f"{__name__}.{model_type}").FAMILY
    return stated


def is_known(model_type: str) -> bool:
    """Return whether there is a family of a `model_type`."""
    return model_type in MODEL_TYPES or any(kind.model_type == model_type for kind in _descendants(Family))  # type: ignore[type-abstract]


def _descendants(kind: type[Family]) -> Iterator[type[Family]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


def family_of(network: Any) -> Family:
    """Return the family of a network or configuration.

    Args:
        network: A `...ForConditionalGeneration` of transformers, or its `config`.

    Raises:
        BadArgument: Its model_type is not supported.
    """
    config = getattr(network, "config", network)
    return family_class(config.model_type)(config)
