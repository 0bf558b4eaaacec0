"""Test of a server's features with a few requests before the first record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lmod_train.backends.endpoint.asking import Asking
from lmod_train.backends.endpoint.client import Client
from lmod_train.backends.endpoint.key import Key
from lmod_train.backends.endpoint.outcome import Completion, Trouble
from lmod_train.backends.endpoint.request import Decoding
from lmod_train.errors import LmodError

QUESTION = "Reply with the one word OK."


def _of_reply(body: Any) -> bool:
    return bool(((body["choices"][0].get("logprobs") or {}).get("content")) or ())


def _of_prompt(body: Any) -> bool:
    return bool(body.get("prompt_logprobs") or body["choices"][0].get("prompt_logprobs"))


FEATURES: Mapping[str, tuple[Mapping[str, Any], Callable[[Any], bool]]] = {
    "logprobs": ({"logprobs": True, "top_logprobs": 5}, _of_reply),
    "prompt_logprobs": ({"prompt_logprobs": 1}, _of_prompt),
}
"""Feature -> request fields, and test whether the reply contains it, as some servers ignore unknown fields."""


@dataclass(frozen=True, slots=True)
class Support:
    """Model and features of a server.

    Attributes:
        model: Name of the model, as returned by the server.
        fingerprint: ``system_fingerprint`` of the server; empty if it returns none.
        features: Names of the `FEATURES` it supports.
    """

    model: str
    fingerprint: str
    features: frozenset[str]

    def summary(self, url: str) -> str:
        """Return a summary on one line."""
        known = ", ".join(f"{name}: {'yes' if name in self.features else 'no'}" for name in FEATURES)
        version = f" ({self.fingerprint})" if self.fingerprint else ""
        return f"{url} serves {self.model}{version}; {known}"


async def probe(asking: Asking, client: Client, decoding: Decoding, key: Key) -> Support:
    """Send a test question with the settings of the run, and one for each feature.

    Raises:
        LmodError: The server cannot be reached, or refuses every request. No record was sent.
    """
    body = {**decoding.fields(), "messages": [{"role": "user", "content": QUESTION}]}
    ended, _, _ = await asking.completed(body)
    if isinstance(ended, Trouble):
        raise LmodError(
            f"base_url={client.url!r}, model={decoding.model!r}: the test question failed: "
            f"{ended.text}. No record was sent.\nNext: {await _cure(ended, client, decoding, key)}"
        )
    found = [name for name in FEATURES if await _supports(asking, {**body, **FEATURES[name][0]}, FEATURES[name][1])]
    return Support(ended.model or decoding.model, ended.fingerprint, frozenset(found))


async def _supports(asking: Asking, body: Mapping[str, Any], holds: Callable[[Any], bool]) -> bool:
    ended, _, received = await asking.completed(body, attempts=1)
    return isinstance(ended, Completion) and holds(received)


async def _cure(trouble: Trouble, client: Client, decoding: Decoding, key: Key) -> str:
    if trouble.unreachable:
        return "start the server (launch lines: configs/server), or correct `--model.backend.base_url`"
    if trouble.text.startswith(("HTTP 401", "HTTP 403")):
        return f"set a valid key in the environment: `export {key.variable or 'OPENAI_API_KEY'}=...`"
    if "max_completion_tokens" in trouble.text and not decoding.reasoning:
        return "add `--model.backend.rules reasoning`"
    if "max_tokens" in trouble.text and decoding.reasoning:
        return "add `--model.backend.rules classic`"
    if "temperature" in trouble.text:
        return "add `--model.backend.temperature null`"
    listed = await client.models()
    known = f" (the server lists: {', '.join(listed[:8])})" if listed else ""
    return f"correct `--model.backend.base_url` or `--model.backend.model`{known}"
