"""What a server supports, found out by a few requests before the first record is asked."""

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
"""What may be supported -> fields that ask for it, and whether a reply holds it: some servers take them in silence."""


@dataclass(frozen=True, slots=True)
class Support:
    """What a server gives.

    Attributes:
        model: The name of the model, as the server returns it.
        fingerprint: Of the system behind it; empty for none.
        features: Names of `FEATURES` that it supports.
    """

    model: str
    fingerprint: str
    features: frozenset[str]

    def summary(self, url: str) -> str:
        """Return all in one line."""
        known = ", ".join(f"{name}: {'yes' if name in self.features else 'no'}" for name in FEATURES)
        version = f" ({self.fingerprint})" if self.fingerprint else ""
        return f"{url} answers as {self.model}{version}; {known}"


async def probe(asking: Asking, client: Client, decoding: Decoding, key: Key) -> Support:
    """Ask one question as the run will ask, and once for each feature.

    Raises:
        LmodError: The server cannot be reached, or refuses every request; nothing of the run was asked.
    """
    body = {**decoding.fields(), "messages": [{"role": "user", "content": QUESTION}]}
    ended, _, _ = await asking.completed(body)
    if isinstance(ended, Trouble):
        raise LmodError(
            f"base_url={client.url!r}, model={decoding.model!r}: the server did not answer a first, short question: "
            f"{ended.text}. No record was asked.\nNext: {await _cure(ended, client, decoding, key)}"
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
        return f"put a valid key into the environment: `export {key.variable or 'OPENAI_API_KEY'}=...`"
    if "max_completion_tokens" in trouble.text and not decoding.reasoning:
        return "add `--model.backend.rules reasoning`"
    if "max_tokens" in trouble.text and decoding.reasoning:
        return "add `--model.backend.rules classic`"
    if "temperature" in trouble.text:
        return "add `--model.backend.temperature null`"
    listed = await client.models()
    known = f" (the server lists: {', '.join(listed[:8])})" if listed else ""
    return f"correct `--model.backend.base_url` or `--model.backend.model`{known}"
