"""Keys that a configuration must not contain, as a run stores it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lmod_train.core.errors import BadArgument

SHORTEST = 12
"""Minimum length of a secret in characters; shorter values such as ``EMPTY`` are placeholders."""

UNBROKEN = 16
"""Minimum number of letters and digits without a separator in a key by its form; names are rarely as long."""

_SECRET = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
"""Names of environment variables that hold secrets, such as ``OPENAI_API_KEY``, ``HF_TOKEN`` and ``WANDB_API_KEY``."""

_KEY = re.compile(r"(?<![A-Za-z0-9])(?:sk|hf|gsk|xai|pplx|r8|ghp|nvapi)[-_]([A-Za-z0-9_-]{16,})")
"""Forms of the keys of OpenAI, Anthropic, Hugging Face, Groq, xAI, Perplexity, Replicate, GitHub and NVIDIA."""

_CERTAIN = re.compile(r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{30,}|\bBearer\s+(?=\S*\d)[^\s<>{}$]{16,}", re.IGNORECASE)
"""Forms that names of folders and runs do not have: keys of Google, and the header with a key of any service."""

_HOLDS_KEY = re.compile(r"(?:x[-_])?api[-_]?key|authorization|password|(?:access|auth|hf)[-_]token", re.IGNORECASE)
"""Names of options and fields whose value is a key in any form."""


def refuse_secrets(config: Mapping[str, Any]) -> None:
    """Refuse a configuration that contains a key.

    Args:
        config: Resolved configuration of a command, before it is written.

    Raises:
        BadArgument: A value contains a key by its form or by the name of its field, or the value of an environment
            variable that holds a secret. The error does not contain it.
    """
    known = [v.strip() for k, v in os.environ.items() if _SECRET.search(k) and len(v.strip()) >= SHORTEST]
    for option, text in _texts(config, ""):
        if _has_key(text) or _is_key(option, text) or any(secret in text for secret in known):
            raise BadArgument(
                option.replace("init_args.", ""),
                "(not shown)",
                "a value without an API key, as the configuration is stored with the run",
                "`export OPENAI_API_KEY=...`, and remove the key here; another variable is named by "
                "`--model.backend.key_variable`",
            )


def _has_key(text: str) -> bool:
    """Return whether a text contains a key by its form.

    Example:
        >>> _has_key("Bearer sk-proj-9aF3kQ0zLm27XyTb41"), _has_key("runs/hf_llava_next_mistral_7b_finetuned")
        (True, False)
    """
    tails = [found[1] for found in _KEY.finditer(text)]
    random = any(_is_random(part) for tail in tails for part in re.split("[-_]", tail))
    return random or bool(_CERTAIN.search(text)) or any(len(tail) >= 48 and _is_mixed(tail, 0.5) for tail in tails)


def _is_key(option: str, text: str) -> bool:
    """Return whether a value is a key by the name of its field."""
    return len(text) >= SHORTEST and bool(_HOLDS_KEY.fullmatch(option.rpartition(".")[2]))


def _is_random(part: str) -> bool:
    """Return whether letters and digits without a separator are those of a key, and not words, versions and dates."""
    kinds, changes = _kinds(part), _changes(part)
    if len(part) < UNBROKEN:
        return False
    if {"a", "A"} <= set(kinds) and (len(part) >= 30 or kinds.count("0") >= 6):
        return True
    return _is_mixed(part) or sum("0" in change for change in changes) >= 6


def _is_mixed(text: str, share: float = 0.4) -> bool:
    """Return whether small letters, capitals and digits alternate more often than in names; separators are left out."""
    return len(_changes(text)) >= share * len(text)


def _kinds(text: str) -> str:
    """Return ``0``, ``A`` or ``a`` for each digit, capital and small letter of a text."""
    return "".join("0" if c.isdigit() else "A" if c.isupper() else "a" for c in text if c.isalnum())


def _changes(text: str) -> list[str]:
    """Return the pairs of different kinds that follow one another."""
    return [a + b for a, b in itertools.pairwise(_kinds(text)) if a != b]


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
