"""The secret of an endpoint: read from the environment when it is sent, and removed from every text that comes back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from lmod_train.errors import LmodError

SHORTEST = 12
"""Characters from which a value is taken for a secret; ``EMPTY`` and its like, for servers without keys, are words."""

NO_KEY = "none"
"""What is sent where there is no key: the client sends a header in any case."""


@dataclass(frozen=True, slots=True)
class Key:
    """The name of an environment variable that holds the key; the value is never kept in an object of ours.

    Attributes:
        variable: Its name; empty where the server takes no key.

    Example:
        >>> Key("OPENAI_API_KEY")
        Key(variable='OPENAI_API_KEY')
    """

    variable: str

    def value(self) -> str:
        """Return the key; ``none`` where the variable is not set."""
        return os.environ.get(self.variable, "").strip() or NO_KEY

    def required(self, url: str) -> None:
        """Refuse to begin without a key.

        Raises:
            LmodError: The variable is not set.
        """
        if self.value() == NO_KEY:
            name = self.variable or "OPENAI_API_KEY"
            raise LmodError(
                f"key_variable={self.variable!r}: expected an environment variable that holds the key of {url}; it is "
                f"not set.\nNext: `export {name}=...` (never in a configuration or on the command line) and type the "
                f"same again" + ("" if self.variable else f", with `--model.backend.key_variable {name}`")
            )

    def hide(self, value: Any) -> Any:
        """Return a text, or JSON, in which the key is replaced by ``[key]``, wherever a server repeats it."""
        secret = self.value()
        return _hidden(value, secret) if len(secret) >= SHORTEST else value


def _hidden(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return value.replace(secret, "[key]")
    if isinstance(value, dict):
        return {_hidden(k, secret): _hidden(v, secret) for k, v in value.items()}
    return [_hidden(v, secret) for v in value] if isinstance(value, list) else value
