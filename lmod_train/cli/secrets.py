"""Keys that a configuration must not contain, as a run stores it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lmod_train.errors import BadArgument

SHORTEST = 12
"""Minimum length of a secret in characters; shorter values such as ``EMPTY`` are placeholders."""

_SECRET = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
"""Names of environment variables that hold secrets, such as ``OPENAI_API_KEY``, ``HF_TOKEN`` and ``WANDB_API_KEY``."""

_KEY = re.compile(r"\b(?:sk|hf|gsk|AIza|xai|pplx|r8)[-_][A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{30,}")
"""Forms of the keys of OpenAI, Anthropic, Hugging Face, Groq, Google, xAI, Perplexity and Replicate."""


def refuse_secrets(config: Mapping[str, Any]) -> None:
    """Refuse a configuration that contains a key.

    Args:
        config: Resolved configuration of a command, before it is written.

    Raises:
        BadArgument: A value contains a key by its form, or the value of an environment variable that holds a secret.
            The error does not contain it.
    """
    known = [v.strip() for k, v in os.environ.items() if _SECRET.search(k) and len(v.strip()) >= SHORTEST]
    for option, text in _texts(config, ""):
        if _KEY.search(text) or any(secret in text for secret in known):
            raise BadArgument(
                option.replace("init_args.", ""),
                "(not shown)",
                "a value without an API key, as the configuration is stored with the run",
                "`export OPENAI_API_KEY=...`, and remove the key here; another variable is named by "
                "`--model.backend.key_variable`",
            )


def _texts(value: Any, option: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a configuration, keys of mappings too, with the option that holds it."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield option, str(name)
            yield from _texts(part, f"{option}.{name}" if option else str(name))
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from _texts(part, option)
    elif value is not None and not isinstance(value, bool | int | float):
        yield option, str(value)
