"""API keys: read from the environment when sent, and removed from every text that a server returns."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from lmod_train.core.errors import BadArgument, LmodError

SHORTEST = 12
"""Minimum length of a secret in characters; shorter values such as ``EMPTY`` are placeholders."""

NO_KEY = "none"
"""Value sent without a key, as the client always sends a header."""


@dataclass(frozen=True, slots=True)
class Key:
    """Name of the environment variable with the API key; its value is never stored in an object.

    Attributes:
        variable: Name of the variable; empty if the server needs no key.

    Example:
        >>> Key("OPENAI_API_KEY")
        Key(variable='OPENAI_API_KEY')
    """

    variable: str

    def __post_init__(self) -> None:
        """Check that it is the name of a variable.

        Raises:
            BadArgument: It is not, for instance as it is the key itself, which the error does not contain.
        """
        if not re.fullmatch(r"(?:[A-Za-z_]\w*)?", self.variable):
            expected = "the name of an environment variable that contains the key, not the key itself"
            cure = "`export OPENAI_API_KEY=...`, and add `--model.backend.key_variable OPENAI_API_KEY`"
            raise BadArgument("key_variable", "(not shown)", expected, cure)

    def value(self) -> str:
        """Return the key; ``none`` if the variable is not set."""
        return os.environ.get(self.variable, "").strip() or NO_KEY

    def required(self, url: str) -> None:
        """Refuse to start without a key.

        Raises:
            LmodError: The variable is not set.
        """
        if self.value() == NO_KEY:
            name = self.variable or "OPENAI_API_KEY"
            raise LmodError(
                f"key_variable={self.variable!r}: expected an environment variable with the key of {url}; it is "
                f"not set.\nNext: `export {name}=...` (never in a configuration or on the command line) and run the "
                f"command again" + ("" if self.variable else f", with `--model.backend.key_variable {name}`")
            )

    def refuse_in(self, argument: str, text: str) -> None:
        """Refuse a text that contains the key, as it would be stored.

        Raises:
            BadArgument: It does.
        """
        if self.hide(text) != text:
            expected = "a value without the API key, as it is stored with the run"
            raise BadArgument(argument, self.hide(text), expected, "remove it; the key is sent in a header")

    def hide(self, value: Any) -> Any:
        """Return a text, or JSON values, with the key replaced by ``[key]``."""
        secret = self.value()
        return _hidden(value, secret) if len(secret) >= SHORTEST else value


def _hidden(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return value.replace(secret, "[key]")
    if isinstance(value, dict):
        return {_hidden(k, secret): _hidden(v, secret) for k, v in value.items()}
    return [_hidden(v, secret) for v in value] if isinstance(value, list) else value
