"""What is known of each family of vision-language models: one file for each `model_type` of transformers.

One code path serves all families; where they differ, they differ in what these files state. The file of a family is
found by its name, so a new family is a new file here, or a class in a module of the user's own that the option `family`
of a model names.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from lmod_train.chat.family.base import Family
from lmod_train.errors import BadArgument

MODEL_TYPES = tuple(sorted(file.name for file in iter_modules(__path__) if file.name != "base"))
"""The `model_type` of every config.json that is understood: the files of this folder."""


def family_class(model_type: str) -> type[Family]:
    """Return the family of a `model_type`: an imported class outside this package that has it, else that of its file.

    Raises:
        BadArgument: There is neither.
    """
    if own := [kind for kind in _descendants(Family) if kind.model_type == model_type]:  # type: ignore[type-abstract]
        return own[-1]
    if model_type not in MODEL_TYPES:
        expected = f"one of {', '.join(MODEL_TYPES)}"
        raise BadArgument("model_type", model_type, expected, "name a checkpoint of one of these families")
    stated: type[Family] = import_module(f"{__name__}.{model_type}").FAMILY
    return stated


def _descendants(kind: type[Family]) -> Iterator[type[Family]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


def family_of(network: Any) -> Family:
    """Return the facts of a network, or of its configuration.

    Args:
        network: A `...ForConditionalGeneration` of transformers, or its `config`.

    Raises:
        BadArgument: Its model_type is of no known family.
    """
    config = getattr(network, "config", network)
    return family_class(config.model_type)(config)
